//! What the rounds of a path did, as a row of a table.

#[derive(Default)]
pub struct Tally {
    pub kills: u64,
    pub cuts: u64,
    pub full: u64,
    pub broken: u64,
    pub unsynced: u64,
    pub short: u64,
    pub clock: u64,
    /// Rounds in which the fault came.
    pub hit: u64,
    /// Sectors and names that the power cuts took back.
    pub taken: u64,
    pub acknowledged: u64,
    pub refused: u64,
    pub lost: u64,
    pub unopened: u64,
    /// Everything else that went wrong.
    pub other: u64,
}

/// The head of the table.
pub const HEAD: &str = "| path | calls | kills | power cuts | full disk | I/O error | failed sync | short write | clock | faults hit | taken back | acknowledged | refused | lost | not opened | otherwise wrong | s |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

impl Tally {
    /// The row of a path whose longest change makes this many calls.
    pub fn row(&self, name: &str, calls: u64, seconds: u64) -> String {
        let numbers = [
            calls,
            self.kills,
            self.cuts,
            self.full,
            self.broken,
            self.unsynced,
            self.short,
            self.clock,
            self.hit,
            self.taken,
            self.acknowledged,
            self.refused,
            self.lost,
            self.unopened,
            self.other,
            seconds,
        ];
        let cells: Vec<String> = numbers.iter().map(u64::to_string).collect();
        format!("| {name} | {} |", cells.join(" | "))
    }

    pub fn wrong(&self) -> u64 {
        self.lost + self.unopened + self.other
    }
}
