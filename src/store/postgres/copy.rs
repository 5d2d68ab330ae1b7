//! The tables of a library in the server database, for copying it.

use serde_json::{Map, Value};
use tokio_postgres::Row;

use super::{
    Postgres,
    connection::{Connection, Parameter},
    fault::Fault,
    transaction::{BEGIN_SNAPSHOT, Transaction},
};
use crate::{
    domain::{Error, Result},
    store::{
        copy::{Cell, Column, Format, Insert, Numbers, PromptFiles, Shape, Sink, Tables},
        jsonl::lines::Lines,
        prompts::Origin,
    },
};

/// Tables that SQLite has not: counters, cards and prompts, which are copied for themselves, and
/// what is derived.
const OWN: &[&str] = &[
    "numbers",
    "change_counts",
    "cards",
    "prompts",
    "prompt_snapshots",
    "completions",
    "vectors",
    "vector_queue",
];

/// A large library takes longer than a request may.
const WITHOUT_LIMITS: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
     SET LOCAL idle_in_transaction_session_timeout = 0";

impl Tables for Postgres {
    fn shapes(&self) -> Result<Vec<Shape>> {
        self.snapshot(shapes)
    }

    fn export(&self, tables: &[Shape], sink: Sink<'_>) -> Result<Numbers> {
        self.in_snapshot(|db| {
            tables.iter().try_for_each(|table| export(db, table, sink))?;
            let mut numbers: Numbers = db
                .query("SELECT name, last FROM numbers", &[])?
                .iter()
                .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                .collect::<Result<_, Fault>>()?;
            let row = db.query_one(
                "SELECT last_pid, head FROM libraries WHERE id = $1",
                &[&self.library],
            )?;
            numbers.insert("items".to_owned(), row.try_get(0)?);
            numbers.insert("changes".to_owned(), row.try_get(1)?);
            Ok(numbers)
        })
    }

    fn import(&self, work: &mut dyn FnMut(&mut dyn Insert) -> Result<()>) -> Result<()> {
        self.write(|tx| {
            tx.batch(WITHOUT_LIMITS)?;
            let shapes = shapes(tx)?;
            let mut into = TargetWriter { tx, shapes, fault: None };
            let done = work(&mut into);
            match (done, into.fault) {
                (Ok(()), _) => Ok(()),
                // The fault says more than the error that stood for it.
                (Err(_), Some(fault)) => Err(fault),
                (Err(error), None) => Err(Fault::Refused(error)),
            }
        })
    }
}

impl Postgres {
    /// Reads with a connection of its own as of one moment, however long it takes.
    fn in_snapshot<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T, Fault>) -> Result<T> {
        let read = || {
            let mut connection = self.pool.dedicated()?;
            let mut transaction =
                Transaction::begin(&mut connection, self.library, BEGIN_SNAPSHOT)?;
            transaction.batch(WITHOUT_LIMITS)?;
            let value = work(&mut transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        read().map_err(|fault| self.explain(fault, "read it"))
    }

    /// The user's prompts as files.
    pub(in crate::store) fn export_prompts(&self) -> Result<PromptFiles> {
        self.in_snapshot(|db| {
            let mut files = PromptFiles::default();
            for row in db.query("SELECT line FROM prompts ORDER BY number", &[])? {
                files.lines.extend_from_slice(row.try_get(0)?);
            }
            let sql = "SELECT id, made, lines FROM prompt_snapshots ORDER BY made, id";
            for row in db.query(sql, &[])? {
                files.backups.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
            }
            let sql = "SELECT prompt, argument, value FROM completions c
                 ORDER BY (SELECT max(used) FROM completions o WHERE o.prompt = c.prompt),
                          argument, used DESC";
            for row in db.query(sql, &[])? {
                let (prompt, argument, value): (String, String, String) =
                    (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                let arguments =
                    files.completions.entry(prompt).or_insert_with(|| Value::Object(Map::new()));
                if let Some(arguments) = arguments.as_object_mut() {
                    let values =
                        arguments.entry(argument).or_insert_with(|| Value::Array(Vec::new()));
                    if let Some(values) = values.as_array_mut() {
                        values.push(Value::String(value));
                    }
                }
            }
            Ok(files)
        })
    }

    /// Takes the user's prompts over from files.
    pub(in crate::store) fn import_prompts(&self, files: &PromptFiles) -> Result<()> {
        self.write(|tx| {
            tx.batch(WITHOUT_LIMITS)?;
            let lines = Lines::read(&files.lines, Origin::User, &Lines::default());
            for (number, line) in (1_i64..).zip(lines.raw()) {
                tx.execute(
                    "INSERT INTO prompts (number, line) VALUES ($1, $2)",
                    &[&number, &line],
                )?;
            }
            let mut last = i64::MIN;
            for (id, made, content) in &files.backups {
                // Several of one second keep their order.
                last = (*made).max(last.saturating_add(1));
                tx.execute(
                    "INSERT INTO prompt_snapshots (id, made, bytes, lines) VALUES ($1, $2, $3, $4)",
                    &[id, &last, &i64::try_from(content.len()).unwrap_or(i64::MAX), content],
                )?;
            }
            for (prompt, arguments) in &files.completions {
                for (argument, values) in arguments.as_object().into_iter().flatten() {
                    let values = values.as_array().into_iter().flatten().rev();
                    for value in values.filter_map(Value::as_str) {
                        tx.execute(
                            "INSERT INTO completions (prompt, argument, value) VALUES ($1, $2, $3)
                             ON CONFLICT DO NOTHING",
                            &[prompt, argument, &value],
                        )?;
                    }
                }
            }
            tx.count_change("prompts").map(drop)
        })
    }
}

/// The tables with a library's rows, but our own. Generated columns are left out.
fn shapes(db: &mut Connection) -> Result<Vec<Shape>, Fault> {
    let mut shapes: Vec<Shape> = Vec::new();
    let rows = db.query(
        "SELECT c.table_name::text, c.column_name::text, c.data_type::text,
                c.column_default IS NOT NULL OR c.is_identity = 'YES'
         FROM information_schema.columns c
         WHERE c.table_schema = current_schema() AND c.is_generated = 'NEVER'
           AND EXISTS (SELECT 1 FROM information_schema.columns l
                       WHERE l.table_schema = c.table_schema AND l.table_name = c.table_name
                         AND l.column_name = 'lib')
         ORDER BY c.table_name, c.ordinal_position",
        &[],
    )?;
    for row in rows {
        let (table, name, kind): (String, String, String) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if OWN.contains(&table.as_str()) || name == "lib" {
            continue;
        }
        if shapes.last().is_none_or(|shape| shape.name != table) {
            shapes.push(Shape {
                name: table.clone(),
                columns: Vec::new(),
                key: key(db, &table)?,
                refers_to: references(db, &table)?,
            });
        }
        let format = match kind.as_str() {
            "bigint" => Format::Integer,
            "boolean" => Format::Boolean,
            "double precision" => Format::Real,
            "text" => Format::Text,
            "bytea" => Format::Bytes,
            other => {
                return Err(Fault::Refused(Error::internal(format!(
                    "the column `{name}` of `{table}` is of the type `{other}`, which no copy knows"
                ))));
            }
        };
        let column = Column { name, format, has_default: row.try_get(3)? };
        if let Some(shape) = shapes.last_mut() {
            shape.columns.push(column);
        }
    }
    Ok(shapes)
}

/// The columns of a primary key after the library.
fn key(db: &mut Connection, table: &str) -> Result<Vec<String>, Fault> {
    names(db.query(
        "SELECT a.attname::text FROM pg_index i
         CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (column_number, place)
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.column_number
         WHERE i.indrelid = to_regclass($1) AND i.indisprimary AND a.attname <> 'lib'
         ORDER BY k.place",
        &[&table],
    )?)
}

fn references(db: &mut Connection, table: &str) -> Result<Vec<String>, Fault> {
    names(db.query(
        "SELECT t.relname::text FROM pg_constraint c JOIN pg_class t ON t.oid = c.confrelid
         WHERE c.conrelid = to_regclass($1) AND c.contype = 'f'",
        &[&table],
    )?)
}

fn names(rows: Vec<Row>) -> Result<Vec<String>, Fault> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Reads a table in pieces. The name of the cursor is that of the table, because a prepared
/// statement keeps the columns of the cursor that it was made for.
fn export(db: &mut Connection, table: &Shape, sink: Sink<'_>) -> Result<(), Fault> {
    let cursor = format!("copy_{}", table.name);
    db.batch(&format!(
        "DECLARE \"{cursor}\" NO SCROLL CURSOR FOR SELECT {} FROM \"{}\" ORDER BY {}",
        table.column_list(),
        table.name,
        table.order()
    ))?;
    loop {
        let rows = db.query(&format!("FETCH {} FROM \"{cursor}\"", table.at_once()), &[])?;
        if rows.is_empty() {
            break;
        }
        let cells = |row: &Row| (0..row.len()).map(|at| cell(row, at)).collect();
        sink(table, rows.iter().map(cells).collect::<Result<_, Fault>>()?)?;
    }
    db.batch(&format!("CLOSE \"{cursor}\""))
}

fn cell(row: &Row, at: usize) -> Result<Cell, Fault> {
    let kind = row.columns()[at].type_();
    Ok(match kind.name() {
        "int8" => row.try_get::<_, Option<i64>>(at)?.map(Cell::Integer),
        "bool" => row.try_get::<_, Option<bool>>(at)?.map(|flag| Cell::Integer(flag.into())),
        "float8" => row.try_get::<_, Option<f64>>(at)?.map(Cell::Real),
        "bytea" => row.try_get::<_, Option<Vec<u8>>>(at)?.map(Cell::Bytes),
        _ => row.try_get::<_, Option<String>>(at)?.map(Cell::Text),
    }
    .unwrap_or(Cell::Null))
}

struct TargetWriter<'a, 'b> {
    tx: &'a mut Transaction<'b>,
    shapes: Vec<Shape>,
    /// What the server said, where it is the reason for an error.
    fault: Option<Fault>,
}

impl TargetWriter<'_, '_> {
    /// Keeps a fault of the server, and gives an error that stands for it.
    fn noting<T>(&mut self, done: Result<T, Fault>) -> Result<T> {
        done.map_err(|fault| match fault {
            Fault::Refused(error) => error,
            fault => {
                self.fault = Some(fault);
                Error::storage("the store refused a statement")
            }
        })
    }
}

impl Insert for TargetWriter<'_, '_> {
    fn rows(&mut self, table: &Shape, rows: &[Vec<Cell>]) -> Result<()> {
        let mut columns = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            let own = self.shapes.iter().find(|shape| shape.name == table.name);
            let own =
                own.and_then(|shape| shape.columns.iter().find(|known| known.name == column.name));
            let format = own.map_or(column.format, |own| own.format);
            let cells: Result<Vec<Cell>> =
                rows.iter().map(|row| row[at].for_postgres(table, at)).collect();
            columns.push(Values::new(format, cells?));
        }
        let casts: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(at, values)| format!("${}::{}[]", at + 1, values.sql_type()))
            .collect();
        let sql = format!(
            "INSERT INTO \"{}\" ({}) SELECT * FROM unnest({})",
            table.name,
            table.column_list(),
            casts.join(", ")
        );
        let parameters: Vec<Parameter<'_>> = columns.iter().map(Values::parameter).collect();
        let done = self.tx.execute(&sql, &parameters);
        self.noting(done).map(drop)
    }

    fn numbers(&mut self, numbers: &Numbers) -> Result<()> {
        let done = set_numbers(self.tx, numbers);
        self.noting(done)
    }
}

/// Makes every counter go on after the numbers that were given, and after those in the tables.
fn set_numbers(tx: &mut Transaction<'_>, numbers: &Numbers) -> Result<(), Fault> {
    let library = tx.library;
    let last = |name: &str| numbers.get(name).copied().unwrap_or(0);
    tx.execute(
        "UPDATE libraries SET
            last_pid = greatest(last_pid, $2, (SELECT coalesce(max(pid), 0) FROM items)),
            head = greatest(head, $3, (SELECT coalesce(max(seq), 0) FROM changes))
         WHERE id = $1",
        &[&library, &last("items"), &last("changes")],
    )?;
    let counted = tx.query(
        "SELECT table_name::text, column_name::text,
                substring(column_default FROM 'nw_next\\(''([a-z_]+)'''), is_identity = 'YES'
         FROM information_schema.columns
         WHERE table_schema = current_schema()
           AND (column_default LIKE 'nw_next(%' OR is_identity = 'YES') AND table_name <> 'libraries'",
        &[],
    )?;
    for row in counted {
        let (table, column): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let counter: Option<String> = row.try_get(2)?;
        let highest = format!("(SELECT coalesce(max(\"{column}\"), 0) FROM \"{table}\")");
        match counter {
            Some(counter) => {
                let sql = format!(
                    "INSERT INTO numbers AS known (name, last)
                     SELECT $1, greatest($2, {highest}) WHERE greatest($2, {highest}) > 0
                     ON CONFLICT (lib, name) DO UPDATE
                     SET last = greatest(known.last, excluded.last)"
                );
                tx.execute(&sql, &[&counter, &last(&counter)])?;
            }
            None => {
                let sql = format!(
                    "SELECT setval(pg_get_serial_sequence('\"{table}\"', '{column}'),
                            greatest({highest}, nextval(pg_get_serial_sequence('\"{table}\"', '{column}'))))"
                );
                tx.query_one(&sql, &[])?;
            }
        }
    }
    Ok(())
}

/// The values of one column.
enum Values {
    Integers(Vec<Option<i64>>),
    Booleans(Vec<Option<bool>>),
    Reals(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Values {
    fn new(format: Format, cells: Vec<Cell>) -> Self {
        let integer = |cell| match cell {
            Cell::Integer(number) => Some(number),
            _ => None,
        };
        let real = |cell| match cell {
            Cell::Real(number) => Some(number),
            Cell::Integer(number) => Some(number as f64),
            _ => None,
        };
        let text = |cell| match cell {
            Cell::Text(text) => Some(text),
            _ => None,
        };
        let bytes = |cell| match cell {
            Cell::Bytes(bytes) => Some(bytes),
            _ => None,
        };
        let cells = cells.into_iter();
        match format {
            Format::Integer => Self::Integers(cells.map(integer).collect()),
            Format::Boolean => {
                Self::Booleans(cells.map(|cell| integer(cell).map(|flag| flag != 0)).collect())
            }
            Format::Real => Self::Reals(cells.map(real).collect()),
            Format::Text => Self::Texts(cells.map(text).collect()),
            Format::Bytes => Self::Bytes(cells.map(bytes).collect()),
        }
    }

    fn sql_type(&self) -> &'static str {
        match self {
            Self::Integers(_) => "bigint",
            Self::Booleans(_) => "boolean",
            Self::Reals(_) => "double precision",
            Self::Texts(_) => "text",
            Self::Bytes(_) => "bytea",
        }
    }

    fn parameter(&self) -> Parameter<'_> {
        match self {
            Self::Integers(values) => values,
            Self::Booleans(values) => values,
            Self::Reals(values) => values,
            Self::Texts(values) => values,
            Self::Bytes(values) => values,
        }
    }
}
