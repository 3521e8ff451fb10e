//! PURE: need, offer, eligibility, assignment, explanation (design, section 5).
