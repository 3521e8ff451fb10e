//! Text that is safe for a terminal, and times as people say them.

use std::fmt::Write as _;

use jiff::Timestamp;

/// Longest text that a table cell shows, characters.
const CELL: usize = 100;

/// Text without anything that steers a terminal: control characters and marks that turn the
/// direction of writing are shown as what they are.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            c if c.is_control() || turns_direction(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of a text, shortened, for a table.
pub fn cell(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let more = line.len() < text.trim().len();
    let mut short: String = clean(line).chars().take(CELL).collect();
    if more || short.chars().count() < clean(line).chars().count() {
        short.push('…');
    }
    short
}

/// As [`cell`], of at most so many characters.
pub fn clip(text: &str, most: usize) -> String {
    let whole = cell(text);
    if whole.chars().count() <= most {
        return whole;
    }
    let short: String = whole.chars().take(most).collect();
    format!("{}…", short.trim_end_matches(['…', ' ']))
}

/// Lines of a text behind a first column: `Message:  first line` and the rest below it.
pub fn field(out: &mut String, name: &str, text: &str) {
    const WIDTH: usize = 14;
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let head = if name.is_empty() { String::new() } else { format!("{name}:") };
    let _ = writeln!(out, "{}", format!("{head:WIDTH$} {}", clean(first)).trim_end());
    for line in lines {
        let _ = writeln!(out, "{}", format!("{:WIDTH$} {}", "", clean(line)).trim_end());
    }
}

/// A moment, to the second.
pub fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// How long ago, in the largest unit that says enough: `12s`, `5m`, `3h`, `9d`.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(since.as_second()).max(0);
    match seconds {
        s if s < 120 => format!("{s}s"),
        s if s < 2 * 3600 => format!("{}m", s / 60),
        s if s < 48 * 3600 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

/// The age of something that may never have been.
pub fn age_or_dash(since: Option<Timestamp>, now: Timestamp) -> String {
    since.map_or_else(|| "-".to_owned(), |since| age(since, now))
}

/// How long something took: `3.4s`, `2m05s`, `1h02m`.
pub fn took(begin: Timestamp, end: Timestamp) -> String {
    let millis = end.as_millisecond().saturating_sub(begin.as_millisecond()).max(0);
    match millis / 1000 {
        s if s < 60 => format!("{}.{}s", s, millis % 1000 / 100),
        s if s < 3600 => format!("{}m{:02}s", s / 60, s % 60),
        s => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
    }
}

/// Bytes as `15.5Gi`, exact to one decimal, rounded down.
pub fn bytes(amount: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let Some((unit, shift)) = UNITS.iter().find(|(_, shift)| amount >> shift > 0) else {
        return format!("{amount}");
    };
    let tenths = (u128::from(amount) * 10) >> shift;
    match tenths % 10 {
        0 => format!("{}{unit}", tenths / 10),
        tenth => format!("{}.{tenth}{unit}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}"), "a\\u{1b}[31mred\\u{7}");
        assert_eq!(clean("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(clean("Zürich\tnord"), "Zürich nord");
    }

    #[test]
    fn a_cell_is_one_short_line() {
        assert_eq!(cell("one\ntwo"), "one…");
        assert_eq!(cell("\n one \n"), "one");
        assert_eq!(cell(&"x".repeat(300)).chars().count(), CELL + 1);
        assert_eq!(cell(""), "");
        assert_eq!(clip("one two\nthree", 4), "one…");
        assert_eq!(clip("one", 4), "one");
    }

    #[test]
    fn times_are_said_in_one_unit() {
        let since = |seconds| age(at(0), at(seconds));
        assert_eq!([since(5), since(119), since(120)], ["5s", "119s", "2m"]);
        assert_eq!([since(7200), since(200_000)], ["2h", "2d"]);
        let exact = Timestamp::from_millisecond(1_800_000_000_123).unwrap();
        assert_eq!(moment(exact), "2027-01-15T08:00:00Z");
        assert_eq!(age(at(10), at(0)), "0s", "a clock that went back");
        let lasted = |ms| took(at(0), Timestamp::from_millisecond(ms).unwrap());
        assert_eq!([lasted(3450), lasted(125_000), lasted(3_725_000)], ["3.4s", "2m05s", "1h02m"]);
    }

    #[test]
    fn bytes_are_said_in_binary_units() {
        assert_eq!([bytes(0), bytes(1023), bytes(16 << 30)], ["0", "1023", "16Gi"]);
        assert_eq!(bytes((15 << 30) + (1 << 29)), "15.5Gi");
        assert_eq!(bytes(u64::MAX), "16777215.9Ti");
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_control_character(text in "(?s).{0,80}") {
            prop_assert!(!clean(&text).chars().any(char::is_control));
            prop_assert!(!cell(&text).chars().any(char::is_control));
        }
    }
}
