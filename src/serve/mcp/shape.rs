//! How much there is in a piece of JSON, counted without building any of it.

/// The most values in one request. A value takes some 70 bytes once it is built; no request of a
/// client has more than a few hundred.
pub const MAX_VALUES: usize = 100_000;

/// What a scan over the bytes finds. For text that is not JSON the counts mean nothing; parsing it
/// fails.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    /// An upper bound of the values, keys included, at any depth.
    pub values: usize,
    /// How many elements the outermost array has; `None` where that is no array.
    pub elements: Option<usize>,
}

impl Shape {
    pub fn of(bytes: &[u8]) -> Self {
        let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
        let start = start.unwrap_or(bytes.len());
        let is_array = bytes.get(start) == Some(&b'[');
        let (mut values, mut depth, mut commas, mut filled) = (1_usize, 0_usize, 0, false);
        let mut at = start;
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => at = end_of_string(bytes, at),
                b'[' | b'{' => {
                    values += 1;
                    depth += 1;
                    filled |= depth > 1;
                    continue;
                }
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    continue;
                }
                b',' => {
                    values += 1;
                    commas += usize::from(depth == 1);
                }
                b':' => values += 1,
                byte if byte.is_ascii_whitespace() => continue,
                _ => {}
            }
            filled = true;
        }
        let elements = if filled { commas + 1 } else { 0 };
        Self { values, elements: is_array.then_some(elements) }
    }
}

/// The position behind the closing quote of a string whose content starts at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        match bytes[at] {
            b'"' => return at + 1,
            _ => at += 2,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_the_outermost_array_are_counted() {
        for (text, elements) in [
            ("[]", Some(0)),
            (" [ ] ", Some(0)),
            ("[0]", Some(1)),
            ("[[]]", Some(1)),
            ("[{}, {}]", Some(2)),
            (r#"[{"a": [1, 2, 3]}, "x,y", 3]"#, Some(3)),
            (r#"["\\\",", "]"]"#, Some(2)),
            (r#"{"a": [1, 2]}"#, None),
            ("", None),
        ] {
            assert_eq!(Shape::of(text.as_bytes()).elements, elements, "{text}");
        }
    }

    #[test]
    fn values_are_never_undercounted() {
        fn count(value: &serde_json::Value) -> usize {
            match value {
                serde_json::Value::Array(all) => 1 + all.iter().map(count).sum::<usize>(),
                serde_json::Value::Object(all) => {
                    1 + all.values().map(|value| 1 + count(value)).sum::<usize>()
                }
                _ => 1,
            }
        }
        for text in ["1", "[[[[]]]]", r#"{"a": {"b": [1, "[,:", null]}, "c": {}}"#, "[1,2,3]"] {
            let value = serde_json::from_str(text).unwrap();
            assert!(Shape::of(text.as_bytes()).values >= count(&value), "{text}");
        }
        let flood = format!("[{}0]", "0,".repeat(1000));
        let shape = Shape::of(flood.as_bytes());
        assert_eq!(shape.elements, Some(1001));
        assert!(shape.values >= 1001);
    }
}
