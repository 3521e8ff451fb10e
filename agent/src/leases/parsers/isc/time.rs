//! Times as dhcpd writes them: `W YYYY/MM/DD HH:MM:SS` in UTC, `epoch SECONDS`, `never`.

use super::token::Token;
use crate::leases::record::Ends;

const WRONG: &str =
    "a time is not of the form `1 2026/11/30 22:32:37`, `epoch 1796078056` or `never`";

/// Reads the words after the keyword.
pub fn read(words: &[Token<'_>]) -> Result<Ends, &'static str> {
    match words {
        [Token::Word(b"never")] => Ok(Ends::Never),
        // The comment that may follow is local time; the number is the truth.
        [Token::Word(b"epoch"), Token::Word(seconds)] => {
            let seconds = std::str::from_utf8(seconds).ok().and_then(|s| s.parse().ok());
            Ok(Ends::at(seconds.ok_or(WRONG)?))
        }
        [Token::Word(_weekday), Token::Word(date), Token::Word(time)]
        | [Token::Word(_weekday), Token::Word(date), Token::Word(time), Token::Word(b"UTC")] => {
            seconds(date, time).map(Ends::at).ok_or(WRONG)
        }
        _ => Err(WRONG),
    }
}

fn seconds(date: &[u8], time: &[u8]) -> Option<i64> {
    let [year, month, day] = three(date, b'/')?;
    let [hour, minute, second] = three(time, b':')?;
    let fits = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    fits.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Exactly three numbers of at most four digits.
fn three(text: &[u8], separator: u8) -> Option<[i64; 3]> {
    let mut parts = text.split(|b| *b == separator);
    let mut number = || {
        let digits = parts.next().filter(|p| !p.is_empty() && p.len() <= 4)?;
        digits.iter().try_fold(0i64, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
        })
    };
    let found = [number()?, number()?, number()?];
    parts.next().is_none().then_some(found)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar. The year is counted from March, so
/// that the day that is sometimes there is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    // 719468 days lie between 0000-03-01 and 1970-01-01.
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Result<Ends, &'static str> {
        let words: Vec<Token<'_>> =
            text.split_whitespace().map(|w| Token::Word(w.as_bytes())).collect();
        read(&words)
    }

    #[test]
    fn every_form_is_read() {
        assert_eq!(of("1 2026/11/30 22:33:30"), Ok(Ends::At(1_796_078_010)));
        assert_eq!(of("2 2019/01/01 22:00:00 UTC"), Ok(Ends::At(1_546_380_000)));
        assert_eq!(of("epoch 1796078656"), Ok(Ends::At(1_796_078_656)));
        assert_eq!(of("never"), Ok(Ends::Never));
        assert_eq!(of("4 1970/01/01 00:10:00"), Ok(Ends::Unknown), "the clock was not set");
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in ["", "1 2026/13/30 22:33:30", "1 2026/11/30", "epoch x", "1 2026-11-30 1:2:3"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn dates_agree_with_a_calendar(second in 1_000_000_000i64..100_000_000_000) {
            let at = jiff::Timestamp::from_second(second).unwrap();
            prop_assert_eq!(of(&at.strftime("%w %Y/%m/%d %H:%M:%S").to_string()), Ok(Ends::At(second)));
        }
    }
}
