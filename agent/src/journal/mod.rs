//! The durable record: orders, run steps, events. SQLite, WAL, FULL, one writer.
