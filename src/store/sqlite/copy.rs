//! The tables of the file, for copying a library.

use rusqlite::{Connection, Transaction, params, params_from_iter, types::ValueRef};

use super::{DATABASE, Sqlite, fault};
use crate::{
    domain::{Error, Result},
    store::copy::{Cell, Column, Format, Insert, Numbers, Shape, Sink, Tables},
};

/// The number of the library is the target's own.
const OWN: &[&str] = &["library"];

impl Tables for Sqlite {
    fn shapes(&self) -> Result<Vec<Shape>> {
        self.read(shapes)
    }

    fn export(&self, tables: &[Shape], sink: Sink<'_>) -> Result<Numbers> {
        let mut refused = None;
        let numbers = self.read(|db| {
            // One transaction: as of one moment.
            let tx = db.unchecked_transaction()?;
            for table in tables {
                if let Err(error) = export(&tx, table, sink)? {
                    refused = Some(error);
                    return Ok(Numbers::new());
                }
            }
            numbers(&tx)
        })?;
        refused.map_or(Ok(numbers), Err)
    }

    fn import(&self, work: &mut dyn FnMut(&mut dyn Insert) -> Result<()>) -> Result<()> {
        self.write(|tx| {
            // Rows may come before those that they refer to.
            tx.pragma_update(None, "defer_foreign_keys", true)?;
            work(&mut TargetWriter(tx)).map_err(|error| {
                // The transaction ends here; the reason is the error's own.
                rusqlite::Error::ToSqlConversionFailure(Box::new(error))
            })
        })
        .map_err(|error| match own_error(error) {
            Ok(own) | Err(own) => own,
        })
    }
}

/// The error that `work` gave, out of the one that ended the transaction.
fn own_error(error: Error) -> std::result::Result<Error, Error> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(&error);
    while let Some(inner) = cause {
        if let Some(own) = inner.downcast_ref::<Error>() {
            return Ok(Error::new(own.code, own.message.clone()));
        }
        cause = inner.source();
    }
    Err(error)
}

struct TargetWriter<'a>(&'a Transaction<'a>);

impl Insert for TargetWriter<'_> {
    fn rows(&mut self, table: &Shape, rows: &[Vec<Cell>]) -> Result<()> {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let sql =
            format!("INSERT INTO \"{}\" ({}) VALUES ({marks})", table.name, table.column_list());
        let insert = || -> rusqlite::Result<()> {
            let mut statement = self.0.prepare_cached(&sql)?;
            for row in rows {
                let cells = row.iter().enumerate();
                let values = cells.map(|(at, cell)| value(cell.for_sqlite(table, at)));
                statement.execute(params_from_iter(values))?;
            }
            Ok(())
        };
        insert().map_err(|error| {
            fault::explain(error, DATABASE, format_args!("copy the table `{}`", table.name))
        })
    }

    fn numbers(&mut self, numbers: &Numbers) -> Result<()> {
        let set = || -> rusqlite::Result<()> {
            for (table, last) in numbers {
                let counted: bool = self.0.query_row(
                    "SELECT EXISTS (SELECT 1 FROM sqlite_master
                     WHERE type = 'table' AND name = ?1 AND sql LIKE '%AUTOINCREMENT%')",
                    [table],
                    |row| row.get(0),
                )?;
                if !counted {
                    continue;
                }
                let raised = self.0.execute(
                    "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1",
                    params![table, last],
                )?;
                if raised == 0 {
                    self.0.execute(
                        "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
                        params![table, last],
                    )?;
                }
            }
            Ok(())
        };
        set().map_err(|error| fault::explain(error, DATABASE, "set the numbers of its tables"))
    }
}

fn value(cell: Cell) -> rusqlite::types::Value {
    use rusqlite::types::Value;
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(number),
        Cell::Real(number) => Value::Real(number),
        Cell::Text(text) => Value::Text(text),
        Cell::Bytes(bytes) => Value::Blob(bytes),
    }
}

fn shapes(db: &Connection) -> rusqlite::Result<Vec<Shape>> {
    let names: Vec<String> = db
        .prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
             ORDER BY name",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    names
        .into_iter()
        .filter(|name| !OWN.contains(&name.as_str()))
        .map(|name| shape(db, name))
        .collect()
}

fn shape(db: &Connection, name: String) -> rusqlite::Result<Shape> {
    let mut columns = Vec::new();
    let mut key: Vec<(i64, String)> = Vec::new();
    let mut statement =
        db.prepare("SELECT name, type, dflt_value, pk FROM pragma_table_info(?1)")?;
    let mut rows = statement.query([&name])?;
    while let Some(row) = rows.next()? {
        let column: String = row.get(0)?;
        let format = match row.get::<_, String>(1)?.as_str() {
            "INTEGER" => Format::Integer,
            "REAL" => Format::Real,
            "BLOB" => Format::Bytes,
            _ => Format::Text,
        };
        let (default, place): (Option<String>, i64) = (row.get(2)?, row.get(3)?);
        if place > 0 {
            key.push((place, column.clone()));
        }
        columns.push(Column { name: column, format, has_default: default.is_some() });
    }
    key.sort();
    let refers_to = db
        .prepare("SELECT \"table\" FROM pragma_foreign_key_list(?1)")?
        .query_map([&name], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Shape { name, columns, key: key.into_iter().map(|(_, name)| name).collect(), refers_to })
}

fn export(db: &Connection, table: &Shape, sink: Sink<'_>) -> rusqlite::Result<Result<()>> {
    let sql = format!(
        "SELECT {} FROM \"{}\" ORDER BY {}",
        table.column_list(),
        table.name,
        table.order()
    );
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut batch = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = (0..table.columns.len()).map(|at| Ok(cell(row.get_ref(at)?)));
        batch.push(cells.collect::<rusqlite::Result<Vec<Cell>>>()?);
        if batch.len() == table.at_once()
            && let Err(error) = sink(table, std::mem::take(&mut batch))
        {
            return Ok(Err(error));
        }
    }
    Ok(if batch.is_empty() { Ok(()) } else { sink(table, batch) })
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}

/// The highest number that each table gave.
fn numbers(db: &Connection) -> rusqlite::Result<Numbers> {
    db.prepare("SELECT name, seq FROM sqlite_sequence")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
