//! Running the library: its state, its users, what was done to accounts.

pub mod audit;
pub mod status;
pub mod users;
mod work;
