//! Crashes at will: the process dies before or after the n-th effect.

use std::sync::Mutex;

/// Where the process dies: at this effect, counted from now, before or after it is done.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    pub effect: usize,
    pub after: bool,
}

/// Counts effects and dies at one of them.
#[derive(Debug, Default)]
pub struct Fuse {
    count: Mutex<(usize, Option<Crash>)>,
}

impl Fuse {
    /// Passes an effect through; at the chosen one the caller never gets on.
    pub async fn pass<T>(&self, effect: impl FnOnce() -> T) -> T {
        let (number, crash) = {
            let mut count = self.count.lock().unwrap();
            count.0 += 1;
            *count
        };
        match crash.filter(|crash| number == crash.effect) {
            Some(Crash { after: false, .. }) => std::future::pending().await,
            Some(_) => {
                effect();
                std::future::pending().await
            }
            None => effect(),
        }
    }

    /// True once the chosen effect was reached.
    pub fn is_blown(&self) -> bool {
        let count = self.count.lock().unwrap();
        count.1.is_some_and(|crash| count.0 >= crash.effect)
    }

    /// Dies at this effect from now on, or never.
    pub fn set(&self, crash: Option<Crash>) {
        *self.count.lock().unwrap() = (0, crash);
    }
}
