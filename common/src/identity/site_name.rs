//! Names of sites.

use std::fmt;
use std::str::FromStr;

/// Name of a site: a DNS-1123 label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteName(String);

/// Text that can't name a site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` can't name a site: wanted 1 to 63 lower-case letters, digits and `-`, beginning and ending with a letter or digit"
)]
pub struct SiteNameError {
    /// The start of the text that was found.
    pub found: String,
}

impl SiteName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SiteName {
    type Err = SiteNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = text.as_bytes();
        let good = (1..=63).contains(&bytes.len())
            && bytes.iter().all(|&b| plain(b) || b == b'-')
            && bytes.first().is_some_and(|&b| plain(b))
            && bytes.last().is_some_and(|&b| plain(b));
        if good {
            return Ok(Self(text.to_owned()));
        }
        let found = text.chars().take(70).flat_map(char::escape_debug).collect();
        Err(SiteNameError { found })
    }
}

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_names_and_everything_else_is_refused() {
        for good in ["a", "north", "site-1", "0", &"x".repeat(63)] {
            assert_eq!(good.parse::<SiteName>().unwrap().as_str(), good);
        }
        for bad in ["", "-a", "a-", "North", "a.b", "a/b", "ü", "a b", "..", &"x".repeat(64)] {
            let error = bad.parse::<SiteName>().unwrap_err();
            assert!(error.to_string().contains("can't name a site"), "{bad}");
        }
    }
}
