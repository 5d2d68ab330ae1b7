//! One JSON object whose fields keep their order and, unless they are set, every byte: `1.10` of
//! another program does not become `1.1`.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

pub struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// Sets a field where it stands, or at the end; `None` takes it out.
    pub fn set(&mut self, name: &str, value: Option<Value>) {
        let Some(value) = value else {
            self.0.retain(|(known, _)| known != name);
            return;
        };
        let raw = to_raw_value(&value).expect("a JSON value is JSON");
        // Of a field that stands twice, the last is the one that counts.
        match self.0.iter_mut().rev().find(|(known, _)| known == name) {
            Some((_, old)) => *old = raw,
            None => self.0.push((name.to_owned(), raw)),
        }
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (number, (name, value)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", Value::from(name.as_str()), value.get())?;
        }
        f.write_str("}")
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_fields_keep_every_byte() {
        let mut fields =
            Fields::read(br#"{"z": 1.10, "a":"\u00e9", "b":[1,  2], "a":"x"}"#).unwrap();
        fields.set("c", Some("new".into()));
        fields.set("a", Some("y".into()));
        fields.set("missing", None);
        assert_eq!(fields.to_string(), r#"{"z":1.10,"a":"\u00e9","b":[1,  2],"a":"y","c":"new"}"#);
        fields.set("a", None);
        assert_eq!(fields.to_string(), r#"{"z":1.10,"b":[1,  2],"c":"new"}"#);
        assert!(Fields::read(b"[1]").is_err());
    }
}
