//! The plots of a view, drawn as the web pages draw them.

use serde_json::{Map, Value};

use crate::serve::web::plot::Bars;

/// The plots of an answer of `trends`, by their titles.
pub fn of_trends(answer: &Value) -> Option<Value> {
    let lists = [("Topics", "topTopics"), ("Authors", "topAuthors"), ("Sites", "topDomains")];
    let mut plots = Map::new();
    for (title, list) in lists {
        let rows = answer.get(list)?.as_array()?.iter().map(row).collect::<Option<Vec<_>>>()?;
        if let Some(bars) = Bars::new(title, rows) {
            plots.insert(title.to_owned(), bars.svg().into());
        }
    }
    (!plots.is_empty()).then_some(Value::Object(plots))
}

fn row(value: &Value) -> Option<(String, u64, u64, &'static str, String)> {
    let name = value.get("topic").or_else(|| value.get("name"))?.as_str()?;
    let (now, before) = (value.get("count")?.as_u64()?, value.get("previous")?.as_u64()?);
    let trend = match (now, before) {
        (_, 0) => "new",
        (now, before) if now > before => "up",
        (now, before) if now < before => "down",
        _ => "stable",
    };
    Some((name.to_owned(), now, before, trend, String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn trends_have_a_plot_for_each_list() {
        let answer = json!({
            "topTopics": [{ "topic": "<b>сад", "count": 3, "previous": 1, "trend": "up" }],
            "topAuthors": [], "topDomains": [{ "name": "例.jp", "count": 1, "previous": 0 }],
        });
        let plots = of_trends(&answer).unwrap();
        let topics = plots["Topics"].as_str().unwrap();
        assert!(topics.contains("▲ 3 / 1") && topics.contains("&lt;b&gt;сад"), "{topics}");
        assert!(plots["Sites"].as_str().unwrap().contains("● 1 / 0"));
        assert!(plots.get("Authors").is_none());
        assert_eq!(of_trends(&json!({})), None);
    }
}
