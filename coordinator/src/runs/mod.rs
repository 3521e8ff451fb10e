//! Runs as the coordinator knows them: events folded into a record, logs, kept on disk.
