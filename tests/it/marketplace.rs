//! `search_marketplace`: methods of all authors, found by what buyers may read of them.

use serde_json::{Value, json};

use crate::{
    paying::Books,
    sold::{Shop, ask, call, tool},
    support::{Home, Server},
};

const COMMON: &str = "/_system/mcp";

/// A shop with a method in each language, by Mira, and a free one of Anna's.
fn shop(more: &str) -> Shop {
    let shop = Shop::with(more);
    let sell = |path: &str, front: &str, text: &str| {
        shop.of_mira(path, &format!("---\n{front}\n---\n{text}\n"));
    };
    sell(
        "review.md",
        "title: Code review\nmcp_method: code-review\nmarket_description: A strict review of Rust code\nmarket_example: Finds unwrap and panic\ntags: [programming]\nprice: 0.10\nprice_free: 1\narguments: { code: The code to review }",
        "zyzzyva checklist {{code}} #zyzzyva",
    );
    sell(
        "договор.md",
        "title: Разбор договора\nlang: ru\nmcp_method: contract\nmarket_description: Находит в договоре аренды риски\nprice: 2.50",
        "Секретный утконос",
    );
    sell(
        "旅.md",
        "title: 旅行計画\nlang: ja\nmcp_method: trip\nmarket_description: 京都の三日間の旅程を作ります\nprice: 0.05",
        "秘密のカモノハシ",
    );
    shop.home.note("anna.md", "---\ntitle: Soup\nauthor: anna\nfree: true\nmcp_method: soup\nmcp_description: Suggests a soup from what is in the fridge\n---\nSoup.\n");
    shop.home.note(
        "own.md",
        "---\nfree: true\nmcp_method: own\nmcp_description: The owner's own soup tool\n---\nx\n",
    );
    shop.say(&["index"]);
    shop
}

fn find(server: &Server, token: Option<&str>, arguments: Value) -> Value {
    let answer = call(server, token, "search_marketplace", arguments);
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"]["structuredContent"].clone()
}

fn names(found: &Value) -> Vec<&str> {
    let results = found["results"].as_array().unwrap();
    results.iter().map(|result| result["name"].as_str().unwrap()).collect()
}

#[test]
fn other_forms_of_the_words_find_a_method_in_three_languages() {
    let shop = shop("");
    let server = shop.serve();
    for (query, expected) in [
        ("reviewing programs", "code-review"),
        ("unwraps", "code-review"),
        ("договоры", "contract"),
        ("京都の旅行", "trip"),
        ("soups", "soup"),
    ] {
        let found = find(&server, None, json!({ "query": query }));
        assert_eq!(names(&found), [expected], "{query}: {found}");
    }
    // The text that is sold, its tags included, is not searched.
    for query in ["zyzzyva", "утконос", "カモノハシ"] {
        let found = find(&server, None, json!({ "query": query }));
        assert_eq!(found["totalMatches"], 0, "{query}: {found}");
    }
}

#[test]
fn a_result_says_what_a_buyer_needs() {
    let shop = shop("[market]\ndaily_cap = \"9\"\ndaily_cap_per_token = \"9\"\n");
    let ann = shop.user("ann", "reader", "read,market");
    let books = Books::of(&shop);
    books.credit("ann", "1.00");
    let owner = shop.home.token("owner");
    let server = shop.serve();
    let of = |token: Option<&str>, query: &str| {
        find(&server, token, json!({ "query": query }))["results"][0].clone()
    };
    let review = of(None, "review");
    assert_eq!(review["price"], "0.10", "{review}");
    assert_eq!(review["author"], "mira", "{review}");
    assert_eq!(review["freeCalls"], 1, "{review}");
    assert_eq!(review["example"], "Finds unwrap and panic", "{review}");
    assert_eq!((&review["cost"], &review["affordable"]), (&json!("0.10"), &json!(false)));
    assert_eq!(
        review["arguments"],
        json!([{ "name": "code", "description": "The code to review", "required": true }])
    );
    assert!(review["address"].as_str().unwrap().ends_with("/_system/mcp/mira"), "{review}");
    assert_eq!(review["calls30Days"], 0, "{review}");
    // A trial call, then the price, then too much.
    let review = of(Some(&ann), "review");
    assert_eq!((&review["cost"], &review["affordable"]), (&json!("0.00"), &json!(true)));
    call(&server, Some(&ann), "code-review", json!({ "code": "a" }));
    call(&server, Some(&ann), "code-review", json!({ "code": "b" }));
    call(&server, Some(&ann), "code-review", json!({}));
    let review = of(Some(&ann), "review");
    assert_eq!((&review["cost"], &review["affordable"]), (&json!("0.10"), &json!(true)));
    assert_eq!((&review["calls30Days"], &review["bought"]), (&json!(2), &json!(true)), "{review}");
    assert_eq!(review["successShare"], 1.0, "{review}");
    let contract = of(Some(&ann), "договор");
    assert_eq!((&contract["cost"], &contract["affordable"]), (&json!("2.50"), &json!(false)));
    let own = of(Some(&owner), "договор");
    assert_eq!((&own["cost"], &own["affordable"]), (&json!("0.00"), &json!(true)), "{own}");
    let free = of(None, "soup");
    assert_eq!((&free["price"], &free["affordable"]), (&json!("0.00"), &json!(true)), "{free}");
    let text = call(&server, Some(&ann), "search_marketplace", json!({ "query": "review" }));
    let text = text["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("`code-review`: Code review · 0.10 USD a call"), "{text}");
    assert!(text.contains("Your credit: 0.90 USD."), "{text}");
}

#[test]
fn a_search_is_narrowed_by_price_author_and_page() {
    let shop = shop("");
    let server = shop.serve();
    let all = "a soup or a review";
    let found = |more: Value| {
        let mut arguments = json!({ "query": all });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        find(&server, None, arguments)
    };
    assert_eq!(names(&found(json!({ "max_price": 0.1 }))).len(), 2);
    assert_eq!(names(&found(json!({ "max_price": 0.099999 }))), ["soup"]);
    assert_eq!(names(&found(json!({ "max_price": 0 }))), ["soup"]);
    assert_eq!(names(&found(json!({ "author": "@Anna" }))), ["soup"]);
    assert_eq!(found(json!({ "author": "nobody" }))["totalMatches"], 0);
    let total = found(json!({}))["totalMatches"].as_u64().unwrap();
    let (mut cursor, mut seen) = (Value::Null, Vec::new());
    loop {
        let page = found(json!({ "limit": 1, "cursor": cursor }));
        seen.extend(names(&page).iter().map(ToString::to_string));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!((seen.len() as u64, total), (2, 2));
    for (arguments, why) in [
        (json!({}), "query"),
        (json!({ "query": " " }), "query"),
        (json!({ "query": "x", "max_price": -1 }), "max_price"),
        (json!({ "query": "x", "max_price": "cheap" }), "max_price"),
        (json!({ "query": "x", "limit": 0 }), "limit"),
        (json!({ "query": "x", "cursor": "x" }), "cursor"),
        (json!({ "query": "x", "price": 1 }), "price"),
    ] {
        let refused = call(&server, None, "search_marketplace", arguments);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(why), "{refused}");
    }
}

#[test]
fn a_price_that_was_found_is_a_price_that_was_shown() {
    let shop = shop("");
    let ann = shop.user("ann", "reader", "read,market");
    Books::of(&shop).credit("ann", "1.00");
    let server = shop.serve();
    find(&server, Some(&ann), json!({ "query": "旅行" }));
    shop.of_mira("旅.md", "---\nmcp_method: trip\nprice: 0.06\n---\n秘密\n");
    let risen = call(&server, Some(&ann), "trip", json!({}));
    assert!(risen.to_string().contains("0.06 USD a call now, and 0.05 USD"), "{risen}");
}

/// The tool is there where something is offered, and nowhere else.
#[test]
fn a_library_without_offers_has_no_market() {
    let shop = shop("");
    let server = shop.serve();
    let tool_of = |path: &str| tool(&server, path, None, "search_marketplace");
    assert!(tool_of("/_system/mcp/mira").is_none(), "an author's address is no market");
    assert!(tool_of("/_system/mcp?toolsets=vault").is_none());
    let listed = tool_of(COMMON).unwrap();
    let bpe = tiktoken_rs::o200k_base().unwrap();
    let paid = json!({
        "name": listed["name"], "description": listed["description"], "inputSchema": listed["inputSchema"],
    });
    let cost = bpe.encode_with_special_tokens(&paid.to_string()).len();
    assert!(cost <= 110, "{cost} tokens");
    insta::assert_json_snapshot!(
        "search_marketplace",
        json!({
            "name": listed["name"], "description": listed["description"],
            "inputSchema": listed["inputSchema"], "annotations": listed["annotations"],
        })
    );
    let home = Home::new();
    home.note("own.md", "---\nfree: true\nmcp_method: own\n---\nx\n");
    let server = home.serve();
    assert!(tool(&server, COMMON, None, "search_marketplace").is_none());
    let refused = ask(
        &server,
        COMMON,
        None,
        "tools/call",
        json!({ "name": "search_marketplace", "arguments": { "query": "x" } }),
    );
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}
