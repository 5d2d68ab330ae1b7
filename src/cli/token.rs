use clap::{Args, Subcommand, ValueEnum};

use super::{Common, out};
use crate::domain::{Error, Result, Scope, Timestamp};

#[derive(Args)]
pub struct Token {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a token; the secret is the last word printed, once
    Create {
        /// What it opens
        #[arg(long)]
        scope: ScopeFlag,
        /// When it ends, such as 90d, 12h or 2027-01-31 [default: never]
        #[arg(long)]
        expires: Option<String>,
        /// What to call it; for a reader, whose it is
        #[arg(long, default_value = "unnamed")]
        name: String,
    },
    /// List tokens, without their secrets
    List,
    /// End a token at once
    Revoke {
        /// Its number in the list
        id: i64,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum ScopeFlag {
    Owner,
    Reader,
}

impl Token {
    pub fn run(self, common: &Common) -> Result<()> {
        let app = common.open()?;
        match self.command {
            Command::Create { scope, expires, name } => {
                let scope = match scope {
                    ScopeFlag::Owner => Scope::Owner,
                    ScopeFlag::Reader => Scope::Reader,
                };
                let expires = expires.as_deref().map(parse_expiry).transpose()?;
                let (token, secret) = app.create_token(&name, scope, expires)?;
                out::say(format_args!(
                    "Token {} `{}` ({}){}. Keep it now, it is not shown again: {secret}",
                    token.id,
                    token.name,
                    token.scope,
                    token.expires.map(|at| format!(", until {at}")).unwrap_or_default(),
                ));
            }
            Command::List => {
                let now = Timestamp::now();
                for (token, _) in app.store.tokens.all()? {
                    let state = match (token.revoked, token.is_valid(now)) {
                        (Some(at), _) => format!("revoked {at}"),
                        (None, true) => "valid".to_owned(),
                        (None, false) => "expired".to_owned(),
                    };
                    let expires = token.expires.map_or("never".to_owned(), |at| at.to_string());
                    out::say(format_args!(
                        "{}\t{}\t{}\t{state}\texpires {expires}",
                        token.id, token.scope, token.name
                    ));
                }
            }
            Command::Revoke { id } => {
                if !app.store.tokens.revoke(id)? {
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
