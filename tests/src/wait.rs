//! Waiting for a state (never for an edge), with a bound and a story when it does not come.

use std::time::{Duration, Instant};

/// Asks until `probe` gives something, at most `seconds`; panics with `what` and the last answer.
pub fn until<T>(what: &str, seconds: u64, mut probe: impl FnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let asked = Instant::now();
        match probe() {
            Ok(found) => return found,
            Err(last) if Instant::now() > end => {
                panic!("waited {seconds} s for {what}; last seen: {last}")
            }
            // Asking costs time that those who are asked about may need themselves.
            Err(_) => std::thread::sleep(Duration::from_millis(100).max(2 * asked.elapsed())),
        }
    }
}
