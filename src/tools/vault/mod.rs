//! Reading the library: search, then a window, a section, the outline, the whole.

pub mod edit_page;
pub mod expand;
pub mod history;
pub mod move_page;
pub mod note_html;
mod results;
pub mod search;
pub mod similar;
mod toc_path;
