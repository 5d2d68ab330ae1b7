use super::*;
use crate::app::doctor::public::{login::parameter, reach};

#[test]
fn an_address_is_what_a_person_types() {
    for (typed, taken) in [
        ("https://notes.example.org", "https://notes.example.org/mcp"),
        (" https://notes.example.org/ ", "https://notes.example.org/mcp"),
        ("https://notes.example.org/mcp/mira", "https://notes.example.org/mcp/mira"),
        ("http://localhost:7717/mcp", "http://localhost:7717/mcp"),
    ] {
        assert_eq!(reach::address(typed).unwrap().0.as_str(), taken);
    }
    for (typed, why) in [
        ("notes.example.org", "not an address"),
        ("ftp://notes.example.org", "begin with `https://`"),
        ("https://notes.example.org/mcp?x=1", "not part of it"),
        ("https://me@notes.example.org/mcp", "not part of it"),
        ("http://notes.example.org/mcp", "not encrypted"),
    ] {
        let finding = reach::address(typed).unwrap_err();
        assert!(finding.what.contains(why), "{typed}: {}", finding.what);
    }
}

#[test]
fn a_name_that_hosted_clients_cannot_use_is_named() {
    let doubt = |url: &str, addresses: &[&str]| {
        let addresses: Vec<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        reach::doubt(&Url::parse(url).unwrap(), &addresses)
    };
    let name = "https://notes.example.org/mcp";
    assert_eq!(doubt(name, &["93.184.216.34", "2606:2800::1"]), None);
    let only_six = doubt(name, &["2606:2800::1"]).unwrap();
    assert!(only_six.level == Level::Wrong && only_six.what.contains("only IPv6"));
    let private = doubt(name, &["192.168.1.7"]).unwrap();
    assert!(private.level == Level::Note && private.what.contains("192.168.1.7"));
    assert!(doubt("http://[::1]:7717/mcp", &["::1"]).unwrap().what.contains("this machine"));
}

#[test]
fn parameters_of_a_challenge_are_read() {
    let challenge =
        r#"Bearer error="invalid_token", resource_metadata="https://a/b" , scope="read write""#;
    assert_eq!(parameter(challenge, "error").as_deref(), Some("invalid_token"));
    assert_eq!(parameter(challenge, "resource_metadata").as_deref(), Some("https://a/b"));
    assert_eq!(parameter("Bearer", "error"), None);
}

#[test]
fn an_unknown_name_ends_the_walk() {
    let mut shown = 0;
    let steps = walk("https://notes.invalid/mcp", &mut |_| shown += 1);
    assert_eq!(shown, steps.len());
    let last = steps.last().unwrap();
    assert!(last.name == "name" && last.is_wrong(), "{last:?}");
    assert!(last.result.as_ref().unwrap_err().what.contains("`notes.invalid` leads nowhere"));
}
