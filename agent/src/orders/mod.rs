//! PURE: may this order run? Which step comes next?
