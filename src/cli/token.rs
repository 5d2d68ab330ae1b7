use clap::{Args, Subcommand};
use serde_json::json;

use super::{Common, out};
use crate::{
    app::{App, accounts::Actor},
    domain::{Error, Result, Scopes, Timestamp},
    store::tokens::{Power, UNNAMED},
};

#[derive(Args)]
pub struct Token {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a token; the secret is the last word printed, once
    #[command(after_help = "\
Examples:
  notewell token create --scope owner --expires 90d --name laptop
  notewell token create --scope reader --name guest
  notewell token create --user ann --scope read,write --name phone")]
    Create {
        /// Whose it is; it opens what this user may
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// What it opens: owner or reader; with --user, any of read, write and market [default:
        /// read,write]
        #[arg(long, required_unless_present = "user")]
        scope: Option<String>,
        /// When it ends, such as 90d, 12h or 2027-01-31 [default: never]
        #[arg(long)]
        expires: Option<String>,
        /// What to call it, such as the device that has it
        #[arg(long, default_value = UNNAMED)]
        name: String,
    },
    /// List tokens, without their secrets
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// End a token at once
    Revoke {
        /// Its number in the list
        id: i64,
    },
}

impl Token {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.command {
            Command::Create { user, scope, expires, name } => {
                let power = power(&app, user.as_deref(), scope.as_deref())?;
                let expires = expires.as_deref().map(parse_expiry).transpose()?;
                let (token, secret) = app.issue_token(&Actor::shell(), &name, power, expires)?;
                out::say(format_args!(
                    "Token {} `{}` ({}){}. Keep it now, it is not shown again: {secret}",
                    token.id,
                    token.name,
                    described(&app, power)?,
                    token.expires.map(|at| format!(", until {at}")).unwrap_or_default(),
                ));
            }
            Command::List { json } => list(&app, json)?,
            Command::Revoke { id } => {
                if !app.revoke_token(&Actor::shell(), id)? {
                    return Err(Error::invalid_params(format!(
                        "there is no valid token {id}; `notewell token list` names them"
                    )));
                }
                out::say(format_args!("Token {id} is revoked."));
            }
        }
        Ok(())
    }
}

fn list(app: &App, json: bool) -> Result<()> {
    let now = Timestamp::now();
    let mut listed = Vec::new();
    for token in app.store.tokens.all()? {
        let (scope, user) = match token.power {
            Power::Scope(scope) => (scope.to_string(), None),
            Power::User(user, scopes) => (scopes.to_string(), Some(app.user_name(user)?)),
        };
        let state = match (token.revoked, token.is_valid(now)) {
            (Some(_), _) => "revoked",
            (None, true) => "valid",
            (None, false) => "expired",
        };
        if json {
            listed.push(json!({
                "id": token.id, "scope": scope, "user": user, "name": token.name,
                "state": state, "expires": token.expires, "revoked": token.revoked,
            }));
            continue;
        }
        let revoked = token.revoked.map(|at| format!(" {at}")).unwrap_or_default();
        let expires = token.expires.map_or("never".to_owned(), |at| at.to_string());
        out::say(format_args!(
            "{}\t{}\t{}\t{state}{revoked}\texpires {expires}",
            token.id,
            described(app, token.power)?,
            token.name
        ));
    }
    if json { out::json(&listed) } else { Ok(()) }
}

/// What a new token opens.
fn power(app: &App, user: Option<&str>, scope: Option<&str>) -> Result<Power> {
    let Some(user) = user else {
        let scope = scope.unwrap_or_default();
        return scope.parse().map(Power::Scope).map_err(|error: Error| match Scopes::parse(scope) {
            Ok(_) => Error::invalid_params(format!(
                "scope `{scope}` needs `--user NAME`; without a user a token is for the owner or a reader"
            )),
            Err(_) => error,
        });
    };
    let scopes = Scopes::parse(scope.unwrap_or("read,write"))?;
    if scopes == Scopes::NONE {
        return Err(Error::invalid_params(
            "the token has no scope; name one of read, write, market",
        ));
    }
    Ok(Power::User(app.user(user)?.id, scopes))
}

/// `owner`, or `ann: read write`.
fn described(app: &App, power: Power) -> Result<String> {
    Ok(match power {
        Power::Scope(scope) => scope.to_string(),
        Power::User(user, scopes) => format!("{}: {scopes}", app.user_name(user)?),
    })
}

fn parse_expiry(text: &str) -> Result<Timestamp> {
    let wrong = || {
        Error::invalid_params(format!(
            "`{text}` is not a time; write `90d`, `12h`, `30m` or a date such as `2027-01-31`"
        ))
    };
    let now = Timestamp::now();
    let at = match text.split_at_checked(text.len().saturating_sub(1)) {
        Some((number, unit @ ("d" | "h" | "m"))) => {
            let number: i64 = number.parse().map_err(|_| wrong())?;
            let unit = match unit {
                "d" => 86_400_000,
                "h" => 3_600_000,
                _ => 60_000,
            };
            number.checked_mul(unit).and_then(|ms| now.0.checked_add(ms)).map(Timestamp)
        }
        _ => Timestamp::parse(text),
    };
    match at {
        Some(at) if at > now => Ok(at),
        Some(_) => Err(Error::invalid_params(format!("`{text}` is in the past"))),
        None => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_reads_spans_and_dates() {
        let now = Timestamp::now();
        assert!((parse_expiry("90d").unwrap().0 - now.plus_days(90).0).abs() < 60_000);
        assert!(parse_expiry("2999-01-31").is_ok());
        for bad in ["", "d", "90", "-1d", "2001-01-01", "9999999999999d", "soon"] {
            assert!(parse_expiry(bad).is_err(), "{bad}");
        }
    }
}
