//! Pages of a list, addressed by an opaque cursor that names the last entry seen, so that a list
//! that changes between two pages neither repeats nor skips an entry that stayed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

use crate::domain::{Error, Result};

/// Where a page starts: after the entry of this name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor(pub Option<String>);

impl Cursor {
    /// Reads a caller's cursor.
    pub fn read(text: Option<String>) -> Result<Self> {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(Self(None)) };
        let name = BASE64.decode(&text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match name.as_deref().and_then(|name| name.strip_prefix("v1:")) {
            Some(name) => Ok(Self(Some(name.to_owned()))),
            None => Err(Error::invalid_params(
                "cursor is not one that this server gave; start again without it",
            )),
        }
    }

    /// The cursor after this name.
    pub fn write(name: &str) -> String {
        BASE64.encode(format!("v1:{name}"))
    }

    /// The page of `all` that starts here, and the cursor of the next one.
    pub fn page<T>(
        &self,
        mut all: Vec<T>,
        most: usize,
        name: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>)> {
        let start = match &self.0 {
            None => 0,
            Some(last) => match all.iter().position(|entry| name(entry) == last) {
                Some(at) => at + 1,
                None => {
                    return Err(Error::invalid_params(
                        "the list changed under this cursor; start again without it",
                    ));
                }
            },
        };
        let mut rest = all.split_off(start);
        let more = rest.len() > most;
        rest.truncate(most);
        let next = rest.last().filter(|_| more).map(|entry| Self::write(name(entry)));
        Ok((rest, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_the_list_once() {
        let all: Vec<String> = (0..25).map(|n| format!("имя {n}")).collect();
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let from = Cursor::read(cursor).unwrap();
            let (page, next) = from.page(all.clone(), 10, |name| name).unwrap();
            seen.extend(page);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
        assert!(Cursor::read(Some("garbage!".into())).is_err());
    }
}
