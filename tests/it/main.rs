//! One integration binary: everything here drives the built program or a public function, as a user
//! would.

mod architecture;
mod bad_input;
mod cli;
mod http;
mod sse;
mod stdio;
mod support;
mod tools;
