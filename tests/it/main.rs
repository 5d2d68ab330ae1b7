//! One integration binary: everything here drives the built program or a public function, as a user
//! would.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test, and what it is made of, may stop at the first surprise"
)]

mod accounts;
mod accounts_shell;
mod answers;
mod architecture;
mod ask;
mod ask_forms;
mod attacks;
mod authors;
mod backup;
mod bad_input;
mod book;
mod bookmark_model;
mod bookmarks;
mod browser;
mod canonical;
mod cards;
mod cli;
mod client;
#[cfg(target_os = "linux")]
mod cluster;
mod cost;
mod crash;
mod dav;
mod dav_conditions;
mod dav_limits;
mod dav_locks;
mod dav_moves;
mod dav_rights;
mod deadlines;
mod doctor_public;
mod edit;
mod edit_crash;
mod edit_shell;
mod edit_vault;
mod elicit;
mod error_texts;
mod fake_stripe;
mod first_walk;
mod following;
mod forms;
mod full_disk;
mod fuzz_corpus;
mod grants;
mod health;
mod help;
mod history;
mod hosted;
mod http;
mod imports;
mod init;
mod install;
mod interrupt;
mod leaks;
mod llm;
mod man;
mod market_books;
#[cfg(unix)]
mod market_kills;
mod market_race;
mod market_story;
mod market_stripe;
mod market_x402;
mod marketplace;
mod moves;
mod navigation;
mod oauth;
mod oauth_attacks;
mod opening;
mod oss;
#[cfg(unix)]
mod packages;
mod pasted;
mod paying;
mod places;
#[cfg(target_os = "linux")]
mod postgres_faults;
mod privacy;
mod probing;
mod prompt_rules;
mod prompts;
mod properties;
mod proxies;
mod push;
mod query;
mod reading;
mod readme;
mod recommend;
mod registered;
mod remotes;
mod replicas;
mod search;
mod security;
mod self_check;
mod service;
#[cfg(target_os = "linux")]
mod service_start;
mod shared_cards;
mod shell;
mod skills;
mod skills_shell;
mod sold;
mod sse;
mod stdio;
mod store;
mod store_accounts;
mod store_copy;
mod store_market;
mod store_oauth;
mod store_tasks;
mod support;
mod tasks;
mod tools;
mod undo;
mod undo_crash;
mod undo_pages;
mod upgrade;
mod vault_counts;
#[cfg(unix)]
mod vault_trouble;
mod views;
mod web;
mod web_bookmarks;
mod web_cards;
mod web_cards_search;
mod web_market;
mod web_prompts;
mod web_reports;
