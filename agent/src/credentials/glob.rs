//! Patterns on host names: `*` stands for any text, `?` for one character.

/// A pattern. Matching takes time in proportion to pattern × name, whatever they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// The pattern of this text; every text is one.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the whole name fits.
    pub fn fits(&self, name: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.chars().collect();
        let (mut p, mut n) = (0, 0);
        // Where to go on when the text after the last star does not fit here.
        let mut retry: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some('*') => {
                    retry = Some((p + 1, n));
                    p += 1;
                }
                Some(c) if *c == '?' || *c == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => match retry {
                    Some((after_star, from)) => {
                        retry = Some((after_star, from + 1));
                        p = after_star;
                        n = from + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|c| *c == '*')
    }
}

impl std::fmt::Display for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_text() {
        for (pattern, name, wanted) in [
            ("*", "", true),
            ("*", "host1", true),
            ("rack1-*", "rack1-node7", true),
            ("rack1-*", "rack10-node7", false),
            ("*-node?", "rack1-node7", true),
            ("*-node?", "rack1-node77", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("host1", "host1", true),
            ("host1", "host10", false),
            ("", "", true),
            ("", "x", false),
            ("host.", "host1", false),
        ] {
            assert_eq!(Glob::new(pattern).fits(name), wanted, "{pattern} on {name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_fits_itself_and_every_star_around_its_parts(head in "[a-z0-9-]{0,8}", tail in "[a-z0-9-]{0,8}") {
            let name = format!("{head}{tail}");
            for pattern in [name.clone(), format!("{head}*"), format!("*{tail}"), format!("{head}*{tail}")] {
                prop_assert!(Glob::new(&pattern).fits(&name));
            }
        }

        #[test]
        fn many_stars_end_soon(name in "a{0,200}") {
            prop_assert!(!Glob::new(&"*a".repeat(60)).fits(&(name + "b")));
        }
    }
}
