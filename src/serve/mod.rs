//! Transports: how requests reach the tools. Only this room knows tokio; what it calls is
//! synchronous and runs on the blocking pool, so that a slow disk never stalls a connection.

mod dav;
pub mod http;
pub mod mcp;
pub mod memory;
pub mod remote;
mod web;
