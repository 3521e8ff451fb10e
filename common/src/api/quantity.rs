//! Kubernetes resource quantities (`resource.Quantity`), exact and in bytes.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// An amount of memory or disk: the text that the user wrote and its value in bytes.
///
/// Decimal (`4G` = 4·10⁹), binary (`4Gi` = 4·2³⁰), exponent (`4e9`), fraction (`1.5Gi`) and milli
/// (`1500m`) forms are read as Kubernetes reads them; a fraction of a byte is rounded up.
#[derive(Clone, Debug)]
pub struct Quantity {
    text: String,
    bytes: u64,
}

/// Text that is not a quantity, or not one that a machine can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is not a quantity: {problem}; wanted a number with an optional unit such as 8Gi, 512Mi or 100G"
)]
pub struct ParseQuantityError {
    found: String,
    problem: &'static str,
}

/// Digits beyond this can't matter for a size and only cost time.
const MAX_LEN: usize = 64;

impl Quantity {
    /// An exact number of bytes, written in the largest binary unit that fits it exactly.
    pub fn from_bytes(bytes: u64) -> Self {
        const UNITS: [(&str, u32); 4] = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
        let text = UNITS
            .iter()
            .find(|(_, shift)| bytes != 0 && bytes.trailing_zeros() >= *shift)
            .map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift));
        Self { text, bytes }
    }

    /// The value in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The unit of the text (`Gi`, `G`, `` …), so that an answer can use the user's own.
    pub fn unit(&self) -> &str {
        let digits =
            self.text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+'));
        if unit_factor(digits).is_some() { digits } else { "" }
    }

    /// `bytes` written in the unit of this quantity, with at most one decimal, rounded down; in a
    /// smaller unit of the same family where it is less than one of it.
    pub fn in_same_unit(&self, bytes: u64) -> String {
        const FAMILIES: [&[&str]; 2] =
            [&["Ei", "Pi", "Ti", "Gi", "Mi", "Ki", ""], &["E", "P", "T", "G", "M", "k", ""]];
        let own = self.unit();
        let smaller = FAMILIES
            .iter()
            .find_map(|family| family.iter().position(|u| *u == own).map(|at| &family[at..]))
            .unwrap_or(&[""]);
        let tenths = |unit: &str| {
            let (num, den) = unit_factor(unit).unwrap_or((1, 1));
            u128::from(bytes) * 10 * den / num
        };
        let unit = smaller.iter().find(|unit| tenths(unit) >= 10).unwrap_or(&"");
        let (whole, tenth) = (tenths(unit) / 10, tenths(unit) % 10);
        if tenth == 0 { format!("{whole}{unit}") } else { format!("{whole}.{tenth}{unit}") }
    }
}

/// The factor of a unit as a fraction (numerator, denominator).
fn unit_factor(unit: &str) -> Option<(u128, u128)> {
    Some(match unit {
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "" => (1, 1),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000, 1),
        "E" => (1_000_000_000_000_000_000, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        _ => return None,
    })
}

fn value_of(text: &str) -> Result<u64, &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > MAX_LEN || !text.is_ascii() {
        return Err("it is too long or not ASCII");
    }
    if text.starts_with('-') {
        return Err("a size can't be negative");
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let split = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, unit) = unsigned.split_at(split);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err("it has no digits");
    }
    if fraction.contains('.') || fraction.len() > 18 || whole.len() > 30 {
        return Err("its number can't be read");
    }
    let (num, den) = match unit.strip_prefix(['e', 'E']).filter(|e| !e.is_empty() && *e != "i") {
        Some(exponent) => {
            let power: i32 = exponent.parse().map_err(|_| "its exponent can't be read")?;
            let factor =
                10u128.checked_pow(power.unsigned_abs()).ok_or("its exponent is too large")?;
            if power >= 0 { (factor, 1) } else { (1, factor) }
        }
        None => unit_factor(unit).ok_or("its unit is not known")?,
    };
    let scale = 10u128.pow(fraction.len() as u32);
    let digits: u128 =
        format!("{whole}{fraction}").parse().map_err(|_| "its number can't be read")?;
    let numerator = digits.checked_mul(num).ok_or("it is larger than any machine")?;
    let denominator = scale.checked_mul(den).ok_or("its exponent is too small")?;
    u64::try_from(numerator.div_ceil(denominator)).map_err(|_| "it is larger than any machine")
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match value_of(text) {
            Ok(bytes) => Ok(Self { text: text.to_owned(), bytes }),
            Err(problem) => {
                Err(ParseQuantityError { found: text.chars().take(40).collect(), problem })
            }
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Quantity {}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity such as 8Gi")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Quantity, E> {
        Ok(Quantity { text: bytes.to_string(), bytes })
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Quantity, E> {
        bytes.to_string().parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, bytes: f64) -> Result<Quantity, E> {
        bytes.to_string().parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> u64 {
        text.parse::<Quantity>().unwrap().bytes()
    }

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        assert_eq!(bytes("4Gi"), 4 << 30);
        assert_eq!(bytes("4G"), 4_000_000_000);
        assert_eq!(bytes("1.5Gi"), 3 << 29);
        assert_eq!(bytes("4e9"), 4_000_000_000);
        assert_eq!(bytes("4E3"), 4_000);
        assert_eq!(bytes("2E"), 2_000_000_000_000_000_000);
        assert_eq!(bytes("1Ei"), 1 << 60);
        assert_eq!(bytes("1500m"), 2);
        assert_eq!(bytes("25e-1"), 3);
        assert_eq!(bytes(".5Ki"), 512);
        assert_eq!(bytes("+1Ki"), 1024);
    }

    #[test]
    fn what_no_machine_can_have_is_refused_with_the_reason() {
        for (text, reason) in [
            ("-1Gi", "negative"),
            ("ten", "no digits"),
            ("1Gb", "unit"),
            ("1e400", "exponent"),
            ("99999999999Ei", "larger"),
            ("1..5", "number"),
            ("", "empty"),
            ("1e", "unit"),
        ] {
            let error = text.parse::<Quantity>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn an_answer_uses_the_unit_of_the_question() {
        let wanted: Quantity = "64Gi".parse().unwrap();
        assert_eq!(wanted.in_same_unit(62 << 30), "62Gi");
        assert_eq!(wanted.in_same_unit((62 << 30) + (1 << 29)), "62.5Gi");
        let large: Quantity = "1Ti".parse().unwrap();
        assert_eq!(
            (large.in_same_unit(8 << 30), large.in_same_unit(0)),
            ("8Gi".into(), "0".into())
        );
        assert_eq!("100G".parse::<Quantity>().unwrap().in_same_unit(50_000_000_000), "50G");
        assert_eq!(Quantity::from_bytes(3 << 30).to_string(), "3Gi");
        assert_eq!(Quantity::from_bytes(1000).to_string(), "1000");
    }

    #[test]
    fn a_plain_number_in_a_manifest_is_bytes() {
        assert_eq!(serde_json::from_str::<Quantity>("4096").unwrap().bytes(), 4096);
        assert!(serde_json::from_str::<Quantity>("-1").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = text.parse::<Quantity>();
        }

        #[test]
        fn whole_bytes_come_back(bytes: u64) {
            prop_assert_eq!(Quantity::from_bytes(bytes).to_string().parse::<Quantity>().unwrap().bytes(), bytes);
        }
    }
}
