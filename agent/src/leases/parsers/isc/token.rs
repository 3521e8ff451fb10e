//! Tokens and statements inside a complete block.

/// One piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    Word(&'a [u8]),
    /// What stands between quotes, with its escapes.
    Quoted(&'a [u8]),
    Open,
    Close,
    End,
}

/// Statements have few words that matter; the rest of a longer one is not read.
const MOST_WORDS: usize = 8;

/// Takes bytes apart. Never fails: what is broken was found by the scan.
struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = &self.bytes[self.at..];
            let blank = rest.iter().position(|b| !is_blank(*b))?;
            self.at += blank;
            let rest = &rest[blank..];
            let (token, used) = match rest[0] {
                b'#' => {
                    self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                    continue;
                }
                b'{' => (Token::Open, 1),
                b'}' => (Token::Close, 1),
                b';' => (Token::End, 1),
                b'"' => {
                    let length = quoted_length(&rest[1..]);
                    (Token::Quoted(&rest[1..1 + length]), (length + 2).min(rest.len()))
                }
                _ => {
                    let ends =
                        |b: &u8| is_blank(*b) || matches!(b, b'{' | b'}' | b';' | b'"' | b'#');
                    let length = rest.iter().position(ends).unwrap_or(rest.len());
                    (Token::Word(&rest[..length]), length)
                }
            };
            self.at += used;
            return Some(token);
        }
    }
}

/// Commas part the addresses of a `fixed-address`; nothing else needs them.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b','
}

fn quoted_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The words before a block's brace.
pub fn head(bytes: &[u8]) -> Vec<Token<'_>> {
    Tokens { bytes, at: 0 }.take(MOST_WORDS).collect()
}

/// Calls `each` with the words of every statement of a block. Blocks inside go to `each` as well,
/// with their head and what is between their braces; for plain statements that is empty.
pub fn statements<'a>(
    block: &'a [u8],
    mut each: impl FnMut(&[Token<'a>], &'a [u8]) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    let mut tokens = Tokens { bytes: block, at: 0 };
    let mut words: Vec<Token<'a>> = Vec::with_capacity(MOST_WORDS);
    while let Some(token) = tokens.next() {
        match token {
            Token::End => {
                each(&words, &[])?;
                words.clear();
            }
            Token::Open => {
                let from = tokens.at;
                let mut depth = 1;
                let mut end = from;
                while depth > 0 {
                    end = tokens.at;
                    match tokens.next() {
                        Some(Token::Open) => depth += 1,
                        Some(Token::Close) => depth -= 1,
                        Some(_) => {}
                        None => break,
                    }
                }
                each(&words, &block[from..end])?;
                words.clear();
            }
            Token::Close => words.clear(),
            word if words.len() < MOST_WORDS => words.push(word),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(block: &str) -> Vec<String> {
        let mut found = Vec::new();
        statements(block.as_bytes(), |words, inside| {
            let word = |t: &Token<'_>| match t {
                Token::Word(w) => String::from_utf8_lossy(w).into_owned(),
                Token::Quoted(q) => format!("\"{}\"", String::from_utf8_lossy(q)),
                other => format!("{other:?}"),
            };
            let words: Vec<String> = words.iter().map(word).collect();
            found.push(format!("{}[{}]", words.join(" "), String::from_utf8_lossy(inside)));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn statements_end_with_a_semicolon_whatever_their_strings_hold() {
        assert_eq!(
            read(
                r#" set x = "a;{}\""; # c } ;
                hardware infiniband ; uid "";"#
            ),
            [r#"set x = "a;{}\""[]"#, "hardware infiniband[]", r#"uid ""[]"#]
        );
    }

    #[test]
    fn a_block_inside_is_one_statement() {
        assert_eq!(
            read("on expiry { set a = 1; if b { c; } } ends never;"),
            ["on expiry[ set a = 1; if b { c; }]", "ends never[]"]
        );
    }

    #[test]
    fn a_statement_of_many_words_is_cut() {
        let found = read(&format!("{};", "w ".repeat(50)));
        assert_eq!(found, ["w w w w w w w w[]"]);
    }
}
