//! Which piece of a log goes out next. Pure.

/// Bytes of a piece before compression.
pub(super) const PIECE: usize = 64 * 1024;
/// Bytes that may be on their way without an acknowledgement.
const WINDOW: u64 = 4 * PIECE as u64;

/// The coordinator's acknowledgement does not fit what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{offset} bytes of a log were acknowledged, wanted {kept} to {sent}")]
pub(super) struct WrongOffset {
    offset: u64,
    kept: u64,
    sent: u64,
}

/// One log on its way to the coordinator.
#[derive(Clone, Debug)]
pub(super) struct LogWindow {
    /// The coordinator has so much.
    kept: u64,
    sent: u64,
    /// The last piece is on its way.
    ending: bool,
    /// Answers that are still to come.
    waiting: u32,
}

impl LogWindow {
    /// A log of which the coordinator has `kept` bytes.
    pub fn new(kept: u64) -> Self {
        Self { kept, sent: kept, ending: false, waiting: 0 }
    }

    /// Where the next piece begins; none while enough is on its way or nothing follows.
    pub fn wants(&self) -> Option<u64> {
        (!self.ending && self.sent - self.kept < WINDOW).then_some(self.sent)
    }

    /// A piece was sent.
    pub fn sent(&mut self, bytes: usize, last: bool) {
        self.sent += bytes as u64;
        self.ending = last;
        self.waiting += 1;
    }

    /// True when an answer is due.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The coordinator has so much; gives true when it has the whole log.
    pub fn acknowledge(&mut self, offset: u64) -> Result<bool, WrongOffset> {
        if offset < self.kept || offset > self.sent || self.waiting == 0 {
            return Err(WrongOffset { offset, kept: self.kept, sent: self.sent });
        }
        self.kept = offset;
        self.waiting -= 1;
        Ok(self.ending && self.waiting == 0 && offset == self.sent)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_window_fills_and_empties() {
        let mut window = LogWindow::new(100);
        for n in 0..4 {
            assert_eq!(window.wants(), Some(100 + n * PIECE as u64));
            window.sent(PIECE, false);
        }
        assert_eq!(window.wants(), None);
        assert_eq!(window.acknowledge(100 + PIECE as u64), Ok(false));
        assert!(window.wants().is_some());
    }

    #[test]
    fn the_end_is_reached_when_all_is_kept_even_if_the_log_is_empty() {
        let mut window = LogWindow::new(0);
        window.sent(0, true);
        assert_eq!(window.wants(), None);
        assert_eq!(window.acknowledge(0), Ok(true));
        let mut window = LogWindow::new(0);
        window.sent(5, false);
        window.sent(5, true);
        assert_eq!(window.acknowledge(10), Ok(false), "one answer is still to come");
        assert_eq!(window.acknowledge(10), Ok(true));
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused() {
        let mut window = LogWindow::new(10);
        assert!(window.acknowledge(10).is_err(), "nothing was sent");
        window.sent(5, false);
        assert!(window.acknowledge(16).is_err());
        assert!(window.acknowledge(9).is_err());
    }

    proptest! {
        #[test]
        fn a_whole_log_arrives(total in 0..1_000_000u64, kept in 0..1000u64, piece in 1..PIECE) {
            let kept = kept.min(total);
            let mut window = LogWindow::new(kept);
            let mut arrived = std::collections::VecDeque::new();
            for _ in 0..100_000 {
                if let Some(offset) = window.wants() {
                    let bytes = (total - offset).min(piece as u64);
                    window.sent(bytes as usize, offset + bytes == total);
                    arrived.push_back(offset + bytes);
                    continue;
                }
                if window.acknowledge(arrived.pop_front().unwrap()).unwrap() {
                    prop_assert_eq!(window.kept, total);
                    return Ok(());
                }
            }
            prop_assert!(false, "never done");
        }
    }
}
