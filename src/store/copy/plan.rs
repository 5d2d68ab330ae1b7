//! Which tables are copied, in which order, with which columns.

use super::{AT_ONCE, Format};
use crate::domain::{Error, Result};

/// Rows with whole contents that are read and written at once.
const LARGE_AT_ONCE: usize = 20;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Shape {
    pub(in crate::store) name: String,
    pub(in crate::store) columns: Vec<Column>,
    /// The names of the columns of its primary key, by which rows are read.
    pub(in crate::store) key: Vec<String>,
    /// Tables that its rows refer to.
    pub(in crate::store) refers_to: Vec<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Column {
    pub(in crate::store) name: String,
    pub(in crate::store) format: Format,
    /// The store fills it where a row does not.
    pub(in crate::store) has_default: bool,
}

impl Shape {
    /// Whether triggers write its rows when those of other tables are written.
    pub(in crate::store) fn is_derived(&self) -> bool {
        self.name == "balances"
    }

    /// Rows that are read and written at once: few where each may be a whole file.
    pub(in crate::store) fn at_once(&self) -> usize {
        match self.columns.iter().any(|column| column.name == "data") {
            true => LARGE_AT_ONCE,
            false => AT_ONCE,
        }
    }

    /// Whether a column is the key of the registry.
    pub(in crate::store) fn is_key_of_items(&self, column: usize) -> bool {
        self.name == "items" && self.columns[column].name == "key"
    }

    /// The columns, quoted, as SQL.
    pub(in crate::store) fn column_list(&self) -> String {
        let names: Vec<String> =
            self.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
        names.join(", ")
    }

    /// The order of rows, as SQL.
    pub(in crate::store) fn order(&self) -> String {
        let names: Vec<String> = self.key.iter().map(|name| format!("\"{name}\"")).collect();
        names.join(", ")
    }
}

/// The tables of both stores, those first that others refer to. Their columns are those of the
/// source, in its order.
pub(super) fn common(source: Vec<Shape>, target: Vec<Shape>) -> Result<Vec<Shape>> {
    let differs = |what: String| {
        Error::invalid_request(format!(
            "the stores have different schemas: {what}; open both with the same version of Notewell first. Nothing was copied"
        ))
    };
    for (one, other, place) in [(&target, &source, "target"), (&source, &target, "source")] {
        for shape in one {
            if !other.iter().any(|table| table.name == shape.name) {
                return Err(differs(format!("only the {place} has the table `{}`", shape.name)));
            }
        }
    }
    let mut tables = Vec::new();
    for shape in source {
        let Some(other) = target.iter().find(|table| table.name == shape.name) else { continue };
        let has = |shape: &Shape, name: &str| shape.columns.iter().any(|one| one.name == name);
        for (one, two) in [(&shape, other), (other, &shape)] {
            if let Some(column) =
                one.columns.iter().find(|one| !has(two, &one.name) && !one.has_default)
            {
                return Err(differs(format!(
                    "only one has the column `{}` of `{}`",
                    column.name, shape.name
                )));
            }
        }
        let columns = shape.columns.iter().filter(|column| has(other, &column.name));
        let mut refers_to = [shape.refers_to.clone(), other.refers_to.clone()].concat();
        // Postings come before their entry, which is accepted only if they sum to zero.
        if shape.name == "postings" {
            refers_to.retain(|name| name != "entries");
        }
        if shape.name == "entries" {
            refers_to.push("postings".to_owned());
        }
        if shape.is_derived() {
            refers_to.push("entries".to_owned());
        }
        refers_to.retain(|name| *name != shape.name);
        tables.push(Shape { columns: columns.cloned().collect(), refers_to, ..shape });
    }
    in_order(tables)
}

fn in_order(mut tables: Vec<Shape>) -> Result<Vec<Shape>> {
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    let mut ordered: Vec<Shape> = Vec::new();
    while !tables.is_empty() {
        let is_free = |shape: &Shape| {
            shape.refers_to.iter().all(|name| !tables.iter().any(|waiting| waiting.name == *name))
        };
        let Some(at) = tables.iter().position(is_free) else {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            return Err(Error::internal(format!(
                "the tables `{}` refer to each other",
                names.join("`, `")
            )));
        };
        ordered.push(tables.remove(at));
    }
    Ok(ordered)
}
