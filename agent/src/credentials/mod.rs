//! Where the secrets of the hosts come from: a file that only the agent may read.
