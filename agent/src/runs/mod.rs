//! Drives the steps of a run, and survives restarts.
