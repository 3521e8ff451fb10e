//! Why a connection or a stream was ended. Numbers are given once and never used again.

use quinn::{Connection, ConnectionError, VarInt};

/// Why a side closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// All was said.
    Done,
    /// The peer broke the protocol.
    Protocol,
    /// A newer session of the same site took this one's place.
    Replaced,
    /// `bpa/1` needs a client certificate.
    NoCertificate,
    /// The certificate's key is not the enrolled one of its site, or the site is not known.
    NotEnrolled,
    /// The certificate has ended.
    Expired,
    /// The site was revoked.
    Revoked,
    /// This side stops; come back later.
    Shutdown,
    /// Nothing was heard on the control stream for too long.
    Silent,
    /// Too many at once; come back later.
    Busy,
}

impl CloseCode {
    const ALL: [(Self, u32); 10] = [
        (Self::Done, 0),
        (Self::Protocol, 1),
        (Self::Replaced, 2),
        (Self::NoCertificate, 3),
        (Self::NotEnrolled, 4),
        (Self::Expired, 5),
        (Self::Revoked, 6),
        (Self::Shutdown, 7),
        (Self::Silent, 8),
        (Self::Busy, 9),
    ];

    /// The number on the wire.
    pub fn number(self) -> VarInt {
        let found = Self::ALL.iter().find(|(code, _)| *code == self);
        VarInt::from_u32(found.map_or(1, |(_, number)| *number))
    }

    /// The code of a number; none for one of a newer version.
    pub fn of(number: u64) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| u64::from(*n) == number).map(|(code, _)| *code)
    }

    /// True when trying again soon gains nothing: a person has to act first.
    pub fn needs_a_person(self) -> bool {
        matches!(self, Self::NoCertificate | Self::NotEnrolled | Self::Expired | Self::Revoked)
    }
}

/// Why a side reset or stopped one stream; the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamCode {
    /// A delta is missing: begin again with a snapshot.
    Gap,
    /// What came could not be read, or does not belong on this stream.
    Protocol,
    /// What came could not be kept; send it again later.
    NotKept,
    /// There are too many streams of this kind.
    TooMany,
}

impl StreamCode {
    /// The number on the wire.
    pub fn number(self) -> VarInt {
        VarInt::from_u32(match self {
            Self::Gap => 1,
            Self::Protocol => 2,
            Self::NotKept => 3,
            Self::TooMany => 4,
        })
    }
}

/// Closes a connection and tells the peer why. The reason is for people; no secret goes in.
pub fn close(connection: &Connection, code: CloseCode, reason: &str) {
    connection.close(code.number(), reason.as_bytes());
}

/// The code and the reason when it was the peer's program that closed the connection.
pub fn closed_by_peer(error: &ConnectionError) -> Option<(Option<CloseCode>, String)> {
    let ConnectionError::ApplicationClosed(close) = error else { return None };
    let reason: String = String::from_utf8_lossy(&close.reason).chars().take(300).collect();
    let reason = reason.chars().filter(|c| !c.is_control()).collect();
    Some((CloseCode::of(close.error_code.into_inner()), reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_number_of_its_own() {
        for (i, (code, number)) in CloseCode::ALL.into_iter().enumerate() {
            assert_eq!(i as u32, number);
            assert_eq!(CloseCode::of(code.number().into_inner()), Some(code));
        }
        assert_eq!(CloseCode::of(999), None);
    }
}
