//! The small process that outlives the agent and owns a running playbook.
