use serde_json::json;

use super::*;

fn create(value: Value) -> Result<Prompt> {
    Draft::parse(value)?.into_prompt(Timestamp(0))
}

fn message(text: &str) -> Value {
    json!([{"role": "user", "content": {"type": "text", "text": text}}])
}

#[test]
fn bad_input_is_refused_with_invalid_params() {
    let big = "x".repeat(5 << 20);
    for (bad, says) in [
        (json!({}), "Prompt name is required"),
        (json!({"name": ""}), "Prompt name is required"),
        (json!({"name": "a"}), "Prompt title is required"),
        (json!({"name": "a", "title": "A"}), "At least one message is required"),
        (json!({"name": "a", "title": "A", "messages": []}), "At least one message"),
        (json!({"name": "a b", "title": "A", "messages": message("x")}), "contains ` `"),
        (json!({"name": "a/b", "title": "A", "messages": message("x")}), "contains `/`"),
        (json!({"name": "../b", "title": "A", "messages": message("x")}), "contains `.`"),
        (json!({"name": "a", "title": "A", "messages": message(&big)}), "at most 1048576"),
        (json!({"name": "a", "title": "A", "messages": message("")}), "needs a `text`"),
        (json!({"name": "a", "title": "A", "messages": message("x"), "colour": 1}), "colour"),
        (
            json!({"name": "a", "title": "A", "messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]}),
            "system",
        ),
        (
            json!({"name": "a", "title": "A", "messages": [{"role": "user", "content": {"type": "video"}}]}),
            "video",
        ),
        (
            json!({"name": "a", "title": "A", "messages": [{"role": "user", "content": {"type": "image", "data": "%%", "mimeType": "image/png"}}]}),
            "base64",
        ),
        (
            json!({"name": "a", "title": "A", "messages": message("x"), "arguments": [{"name": "v", "colour": 1}]}),
            "unknown field `colour`",
        ),
        (
            json!({"name": "a", "title": "A", "messages": message("x"), "arguments": [{"name": "v"}, {"name": "v"}]}),
            "declared twice",
        ),
    ] {
        let error = create(bad).unwrap_err();
        assert_eq!(error.code, Code::InvalidParams, "{error}");
        assert!(error.message.contains(says), "{error} should say {says}");
    }
}

#[test]
fn names_may_be_in_any_script() {
    for name in ["code_review", "обзор_кода", "コードレビュー", "代码_2", "मुद्दा", "A"]
    {
        let prompt = create(json!({"name": name, "title": "T", "messages": message("x")}));
        assert_eq!(prompt.unwrap().name, name);
    }
    // The same letters composed differently are one name.
    let decomposed = create(json!({"name": "и\u{306}", "title": "T", "messages": message("x")}));
    assert_eq!(decomposed.unwrap().name, "й");
}

#[test]
fn a_library_of_another_program_reads() {
    let line = json!({"name": "a-b", "title": "", "description": "", "arguments": null,
        "messages": [{"role": "user", "content": {"type": "text"}}], "tags": null,
        "created": "2026-02-10T19:28:27.123456789+02:00", "updated": "0001-01-01T00:00:00Z",
        "rating": 5});
    let Value::Object(map) = line else { unreachable!() };
    let prompt = Prompt::read(map).unwrap();
    assert_eq!((prompt.title.as_str(), prompt.description.as_deref()), ("a-b", None));
    assert_eq!(prompt.created.unwrap().to_string(), "2026-02-10T17:28:27.123Z");
    assert_eq!(prompt.extra["rating"], 5);
}

#[test]
fn a_patch_changes_only_what_it_names_and_an_empty_text_clears() {
    let Value::Object(map) = json!({"name": "a", "title": "A", "description": "d", "tags": ["t"],
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}, "note": "mine"}]})
    else {
        unreachable!()
    };
    let mut prompt = Prompt::read(map).unwrap();
    let patch =
        Patch::parse(json!({"name": "a", "title": "B", "description": "", "tags": null})).unwrap();
    let changes = patch.apply(&mut prompt, Timestamp(0)).unwrap();
    let stamp = json!("1970-01-01T00:00:00.000Z");
    assert_eq!(
        changes,
        [("title", Some(json!("B"))), ("description", None), ("updated", Some(stamp))]
    );
    assert_eq!((prompt.title.as_str(), prompt.description), ("B", None));
    assert_eq!(prompt.tags, ["t"]);
    assert!(Patch::parse(json!({"name": "a", "colour": 1})).is_err());
    let nulls = json!({"name": "a", "newName": null, "title": null, "description": null,
        "arguments": null, "messages": null, "tags": null});
    assert!(Patch::parse(nulls).unwrap().is_empty());
}
