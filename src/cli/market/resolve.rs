use clap::{ArgGroup, Args};

use crate::{
    app::{App, accounts::Actor, market::Ending},
    cli::out,
    domain::{Money, Result},
};

use super::user_name;

#[derive(Args)]
#[command(group(ArgGroup::new("ending").required(true)))]
#[command(after_help = "\
Examples:
  notewell market resolve 7 --arrived         # it came in: credit the payer
  notewell market resolve 7 --arrived 9.50    # with another amount
  notewell market resolve 7 --failed          # it did not, or you returned it")]
pub struct Resolve {
    /// The payment's number, as `doctor` names it
    payment: i64,
    /// The money came in: credit the payer with AMOUNT [default: what was asked for]
    #[arg(long, value_name = "AMOUNT", num_args = 0..=1, group = "ending")]
    arrived: Option<Option<String>>,
    /// No money came in, or it was returned
    #[arg(long, group = "ending")]
    failed: bool,
}

impl Resolve {
    pub fn run(self, app: &App) -> Result<()> {
        let id = self.payment;
        let ending = match self.arrived {
            Some(amount) => {
                Ending::Arrived(amount.map(|amount| Money::parse(&amount)).transpose()?)
            }
            None => Ending::Failed,
        };
        let market = app.market();
        let arrival =
            app.audited(&Actor::shell(), "market_resolve", id, || market.resolve(id, ending))?;
        let Some(arrival) = arrival else {
            out::say(format_args!("Payment {id} is closed; nothing was booked."));
            return Ok(());
        };
        let to = match arrival.user {
            Some(user) => format!("the credit of `{}`", user_name(app, user)?),
            None => "the platform, because its payer has no account".to_owned(),
        };
        let (entry, amount, currency) = (arrival.entry, arrival.amount, market.currency());
        out::say(format_args!("Entry {entry}: {amount} {currency} of payment {id} to {to}."));
        Ok(())
    }
}
