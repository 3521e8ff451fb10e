//! Every message that may cross the link: its number, its name and its largest size.
//!
//! A number is given once and never used again, not even when its message is retired. The high
//! byte says which stream the message belongs to.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::v1;

/// A message of the wire.
pub trait Message: Serialize + DeserializeOwned {
    /// The number in the frame's header.
    const KIND: u16;
    /// The largest encoded body, bytes.
    const MAX: u32;
    /// For logs and errors.
    const NAME: &'static str;
}

/// What is known of a kind without its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub number: u16,
    pub name: &'static str,
    /// The largest encoded body, bytes.
    pub max: u32,
}

macro_rules! messages {
    ($($number:literal $name:ident $max:expr;)*) => {
        $(impl Message for v1::$name {
            const KIND: u16 = $number;
            const MAX: u32 = $max;
            const NAME: &'static str = stringify!($name);
        })*

        /// All kinds, by number.
        pub const KINDS: &[Kind] = &[
            $(Kind { number: $number, name: stringify!($name), max: $max },)*
        ];
    };
}

const KIB: u32 = 1024;

messages! {
    0x0101 Hello 256 * KIB;
    0x0102 Welcome KIB;
    0x0103 ConnectRefused 4 * KIB;
    0x0104 Heartbeat 4 * KIB;
    0x0201 JoinRequest 8 * KIB;
    0x0202 JoinGranted 32 * KIB;
    0x0203 JoinRefused 4 * KIB;
    // Never sent: the content of a join line.
    0x0204 JoinLineBody 4 * KIB;
    0x0301 LeaseSnapshot 4096 * KIB;
    0x0302 LeaseDelta 4096 * KIB;
    0x0303 LeaseQuery 16 * KIB;
    0x0304 LeaseReply 4096 * KIB;
    0x0401 Order 4096 * KIB;
    0x0402 OrderReply 16 * KIB;
    0x0403 CancelOrder KIB;
    0x0404 CancelReply KIB;
    0x0501 EventBatch 2048 * KIB;
    0x0502 EventAck KIB;
    // Never sent alone: the journal keeps events in this form.
    0x0503 Event 1024 * KIB;
    0x0601 LogOpen KIB;
    0x0602 LogChunk 128 * KIB;
    0x0603 LogAck KIB;
}

impl Kind {
    /// What is known of this number; none for a kind of a newer version.
    pub fn of(number: u16) -> Option<Self> {
        KINDS.iter().find(|kind| kind.number == number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_used_once_and_grows() {
        for pair in KINDS.windows(2) {
            assert!(pair[0].number < pair[1].number, "{} and {}", pair[0].name, pair[1].name);
        }
    }

    #[test]
    fn a_number_leads_to_its_name_and_a_strange_one_to_nothing() {
        assert_eq!(Kind::of(v1::Hello::KIND).map(|k| k.name), Some("Hello"));
        assert_eq!(Kind::of(0xffff), None);
    }
}
