//! Reading and editing the library: search, then a window, a section, the outline, the whole.

mod bounded;
pub mod edit_page;
pub mod expand;
pub mod history;
mod layout;
pub mod move_page;
pub mod note_html;
mod place;
mod result_item;
mod results;
pub mod search;
pub mod similar;
mod toc_path;
