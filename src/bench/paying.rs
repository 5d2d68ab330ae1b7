//! What a price adds to a call: the same method, sold and not sold, through the tool door. The
//! charge is on the disk before the answer leaves.

use std::time::Instant;

use serde_json::json;
use tempfile::TempDir;

use super::{
    config, open,
    report::{Goal, Report, Times},
};
use crate::{
    app::{
        App,
        accounts::{Actor, NewUser},
        rights::Rights,
    },
    config::{EmbedProvider, Vault},
    domain::{
        Caller, Error, Money, Progress, Result, Scopes, Silent,
        error::Doing,
        user::{Role, User},
    },
    store::{ledger::Outside, users::Account},
    tools,
};

const CALLS: u64 = 500;
const WARM: u64 = 20;
const CREDIT: Money = Money(1_000_000_000);
const TEXT: &str = "A checklist for {{code}}.";

pub fn run(bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let mut report = Report::new("A paid call beside the same call unpaid");
    let vault = folder.path().join("vault");
    std::fs::create_dir_all(&vault).doing("make a vault for the bench")?;
    let mut settings = config(&folder.path().join("data"), EmbedProvider::None);
    settings.market.daily_cap = CREDIT;
    settings.market.daily_cap_per_token = CREDIT;
    let author = Some("mira".to_owned());
    settings.vault.push(Vault { name: "sold".into(), path: vault.clone(), poll: false, author });
    for (name, fields) in [("free", "free: true"), ("sold", "price: 0.01")] {
        let text = format!("---\nmcp_method: {name}\n{fields}\n---\n{TEXT}\n");
        crate::vault::replace(&vault.join(format!("{name}.md")), text.as_bytes())?;
    }
    let app = open(settings)?;
    app.refresh(&Silent)?;
    add(&app, "mira", Role::Author)?;
    let buyer = add(&app, "ann", Role::Reader)?;
    app.market().top_up(buyer.id, CREDIT, Outside::Manual, "bench", "")?;
    let rights = app.rights(Caller::User(User {
        id: Some(buyer.id),
        name: buyer.name.to_string(),
        role: buyer.role,
        grants: [].into(),
        scopes: Scopes::ALL,
    }));
    bar.report(0, Some(2), "calling without a price");
    let free = time(&app, &rights, "free")?;
    bar.report(1, Some(2), "calling with a price");
    let sold = time(&app, &rights, "sold")?;
    report.times("unpaid", &free, Goal::None, Goal::None);
    report.times("paid, durable", &sold, Goal::None, Goal::None);
    let overhead = sold.at(0.5) - free.at(0.5);
    report.add("what the price adds, p50", overhead, "ms", Goal::Below(3.0));
    let spent = CREDIT.minus(app.market().balance(buyer.id)?)?;
    if spent != Money(10_000 * (CALLS + WARM) as i64) {
        return Err(Error::internal("the calls were not charged once each"));
    }
    Ok(report)
}

fn add(app: &App, name: &str, role: Role) -> Result<Account> {
    app.add_user(&Actor::shell(), &NewUser { name, display_name: "", role, password: None })
}

fn time(app: &App, rights: &Rights, method: &str) -> Result<Times> {
    Times::of(std::process::id(), WARM, CALLS, |number| {
        let arguments = json!({ "code": number.to_string() });
        let started = Instant::now();
        tools::call(app, rights, method, arguments, &tools::Call::default())?;
        Ok(started.elapsed())
    })
}
