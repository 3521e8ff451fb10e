//! The agent's clock. Times in the journal are for people; nothing is decided by them.

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
