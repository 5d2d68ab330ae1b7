//! What it costs to know who calls: the processor time of a request with a token beside one without,
//! and the time of a sign-in.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;

use super::{
    connection::Connection,
    process::{self, Served},
    report::{Goal, Report, Times},
};
use crate::{
    app::accounts::{Actor, NewUser},
    config::EmbedProvider,
    domain::{Error, Progress, Result, user::Role},
};

/// Requests of each kind: rounds take turns, so that a change of the machine's load meets all.
const ROUNDS: u64 = 20;
const ROUND: u64 = 1000;
const SIGN_INS: u64 = 20;
const PASSWORD: &str = "correct horse battery";

pub fn run(bar: &dyn Progress, folder: &TempDir) -> Result<Report> {
    let data = folder.path().join("tokens");
    let config = "[limits]\ncalls_per_minute = 4000000000\n[embed]\nprovider = \"none\"\n";
    process::configure(&data, config)?;
    let token = |arguments: &[&str]| -> Result<String> {
        let out = process::output(&data, arguments)?;
        let last = out.split_whitespace().last();
        last.map(str::to_owned).ok_or_else(|| Error::internal("no token was printed"))
    };
    let owner = token(&["token", "create", "--scope", "owner"])?;
    process::output(&data, &["user", "add", "bench"])?;
    for kind in ["cards", "bookmarks", "prompts"] {
        process::output(&data, &["grant", "add", "bench", "--kind", kind])?;
    }
    let user = token(&["token", "create", "--user", "bench"])?;
    let server = Served::start(&data)?;
    let mut callers = [
        ("without a token", None, Duration::ZERO),
        ("with an owner's token", Some(owner), Duration::ZERO),
        ("with the token of a user with three grants", Some(user), Duration::ZERO),
    ];
    for round in 0..=ROUNDS {
        bar.report(round, Some(ROUNDS), "asking with and without tokens");
        for (_, token, used) in &mut callers {
            let mut connection = Connection::open(&server.address, token.as_deref())?;
            let before = process::processor(server.id());
            for _ in 0..ROUND {
                let answer = connection.ask("ping", json!({}))?;
                if answer.get("result").is_none() {
                    return Err(Error::internal(format!("a ping was refused: {answer}")));
                }
            }
            let after = process::processor(server.id());
            // The first round only warms up.
            if let (Some(before), Some(after), 1..) = (before, after, round) {
                *used += after.saturating_sub(before);
            }
        }
    }
    server.end()?;
    let mut report = Report::new("The cost of knowing who calls");
    let each = |used: Duration| used.as_secs_f64() * 1_000.0 / (ROUNDS * ROUND) as f64;
    let base = each(callers[0].2);
    for (who, _, used) in &callers {
        report.add(format!("ping {who}, processor time each"), each(*used), "ms", Goal::None);
    }
    for (who, _, used) in &callers[1..] {
        report.add(format!("{who}, more than without"), each(*used) - base, "ms", Goal::Below(0.1));
    }
    let times = Times::new(sign_ins(&folder.path().join("passwords"))?);
    report.times("sign-in with a password", &times, Goal::None, Goal::None);
    Ok(report)
}

fn sign_ins(data: &Path) -> Result<Vec<Duration>> {
    let app = super::open(super::config(data, EmbedProvider::None))?;
    let new =
        NewUser { name: "bench", display_name: "", role: Role::Reader, password: Some(PASSWORD) };
    app.add_user(&Actor::shell(), &new)?;
    let sign_in = |_| {
        let started = Instant::now();
        app.sign_in("bench", PASSWORD, IpAddr::V4(Ipv4Addr::LOCALHOST))?;
        Ok(started.elapsed())
    };
    (0..SIGN_INS).map(sign_in).collect()
}
