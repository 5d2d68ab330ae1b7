//! How the protocol shows prices, receipts and what is to be paid.

use rmcp::model::MetaObject;
use serde_json::{Value, json};

use crate::tools::ListedPrice;

/// `_meta` of a tool that costs something.
pub fn price_meta(listed: &ListedPrice) -> MetaObject {
    let mut price = json!({ "amount": listed.price.to_string(), "currency": listed.currency });
    if let (Value::Object(price), true) = (&mut price, listed.free_calls > 0) {
        price.insert("freeCalls".into(), listed.free_calls.into());
    }
    let mut meta = MetaObject::new();
    meta.0.insert("notewell/price".into(), price);
    meta
}
