//! The place where a page of cards ended, as text that callers hand back unread.

use std::cmp::Reverse;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::snapshot::{Key, Rank};
use crate::domain::{Error, Result};

pub fn write(key: &Key) -> String {
    let place = (key.unpinned, key.order.0.to_bits(), key.updated.0, &*key.id);
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&place).expect("a tuple of plain values is JSON"))
}

pub fn read(text: &str) -> Result<Key> {
    let place = URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<(bool, u64, i64, String)>(&bytes).ok());
    let Some((unpinned, order, updated, id)) = place else {
        return Err(Error::invalid_params(format!(
            "cursor `{text}` is not one that a list gave; leave it out to start again"
        )));
    };
    Ok(Key {
        unpinned,
        order: Rank(f64::from_bits(order)),
        updated: Reverse(updated),
        id: id.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let key = Key {
            unpinned: true,
            order: Rank(-1.5),
            updated: Reverse(i64::MIN),
            id: "заметка".into(),
        };
        assert_eq!(read(&write(&key)).unwrap(), key);
        for bad in ["", "x", "!!", "bnVsbA"] {
            assert_eq!(read(bad).unwrap_err().code.json_rpc(), -32602, "{bad}");
        }
    }
}
