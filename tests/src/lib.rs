//! The harness of the end-to-end scenarios: a lab, a coordinator, an agent, as processes.
