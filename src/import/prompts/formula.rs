//! Spreadsheets run a cell that begins like a formula. An export puts an apostrophe before it, which
//! they show as text; an import of our own table takes it away again.

/// What makes a spreadsheet take a cell for a formula.
const STARTS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches('\'').starts_with(STARTS)
}

/// The cell as it can be opened safely. [`arm`] undoes it.
pub fn defuse(cell: &str) -> String {
    // A cell that has an apostrophe there already gets another, so that each can be undone.
    if is_formula(cell) { format!("'{cell}") } else { cell.to_owned() }
}

/// The cell as it was before [`defuse`].
pub fn arm(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|_| is_formula(cell)).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_text_and_comes_back() {
        for cell in ["=1+1", "+7", "-x", "@SUM(A1)", "\tx", "\rx", "'=1", "''-1"] {
            let safe = defuse(cell);
            assert!(safe.starts_with('\''), "{safe}");
            assert_eq!(arm(&safe), cell);
        }
        for cell in ["", "плюс +1", "'quoted'", "あ=い"] {
            assert_eq!((defuse(cell).as_str(), arm(cell)), (cell, cell));
        }
    }
}
