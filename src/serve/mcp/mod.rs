//! The Model Context Protocol, all five revisions, over the official SDK. One handler serves every
//! transport; `stdio` and the HTTP front differ only in how bytes become messages.

mod capabilities;
mod elicit;
mod errors;
pub mod extension;
mod handler;
mod link;
pub mod message;
mod notices;
mod offers;
mod output;
mod pace;
mod payment;
mod progress;
mod prompts;
mod resources;
mod shape;
mod skills;
pub mod stdio;
pub mod tasks;
mod views;

pub use errors::{error_data, error_data_with_id};
pub use handler::Handler;
pub use link::{Hub, Identity, Link};
