//! Log lines on stderr: our own words only, cut, and not too many of one kind.
//!
//! A library that logs may quote what a person wrote. Of its lines only the level and the name of
//! the library are kept.

use std::{
    collections::HashMap,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tracing::{Event, Subscriber, callsite::Identifier};
use tracing_subscriber::{
    EnvFilter,
    fmt::{
        self, FmtContext, FormatEvent, FormatFields,
        format::{Format, JsonFields, Writer},
        time::{FormatTime, SystemTime},
    },
    prelude::*,
    registry::LookupSpan,
};

/// The longest line.
const MAX_LINE: usize = 4096;
/// Lines of one kind within a window; the rest is counted.
const MAX_LINES: u64 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// How a log line looks: for a person at a terminal, or for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One line for people.
    Human,
    /// One JSON object a line.
    Json,
}

impl Form {
    /// For people when stderr is a terminal, otherwise JSON.
    pub fn of_stderr() -> Self {
        if std::io::stderr().is_terminal() { Self::Human } else { Self::Json }
    }
}

/// Starts logging to stderr. A second call does nothing.
pub fn start_logs(filter: &str, form: Form) {
    let filter = EnvFilter::try_new(format!("warn,rmcp=error,notewell={filter}"))
        .or_else(|_| EnvFilter::try_new(format!("warn,rmcp=error,{filter}")))
        .unwrap_or_else(|_| EnvFilter::new("warn,rmcp=error,notewell=info"));
    let registry = tracing_subscriber::registry().with(filter);
    let started = match form {
        Form::Human => {
            let colours = std::io::stderr().is_terminal();
            let format = Format::default().compact().with_target(false).with_ansi(colours);
            let layer = fmt::layer()
                .event_format(Lines::new(format, form))
                .with_ansi(colours)
                .with_writer(std::io::stderr);
            registry.with(layer).try_init()
        }
        Form::Json => {
            let lines = Lines::new(Format::default().json(), form);
            let layer = fmt::layer()
                .fmt_fields(JsonFields::new())
                .event_format(lines)
                .with_ansi(false)
                .with_writer(std::io::stderr);
            registry.with(layer).try_init()
        }
    };
    // A second call finds a subscriber in place and leaves it there.
    drop(started);
}

/// Writes a line, or what takes its place.
struct Lines<F> {
    inner: F,
    form: Form,
    seen: Mutex<HashMap<Identifier, Seen>>,
}

struct Seen {
    since: Instant,
    lines: u64,
}

/// What the limit says of one more line of a kind.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Written, after this many were left out.
    Write(u64),
    LeaveOut,
}

impl<F> Lines<F> {
    fn new(inner: F, form: Form) -> Self {
        Self { inner, form, seen: Mutex::default() }
    }

    fn judge(&self, kind: Identifier, now: Instant) -> Verdict {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.entry(kind).or_insert(Seen { since: now, lines: 0 });
        let mut left_out = 0;
        if now.duration_since(seen.since) > WINDOW {
            left_out = seen.lines.saturating_sub(MAX_LINES);
            *seen = Seen { since: now, lines: 0 };
        }
        seen.lines += 1;
        if seen.lines > MAX_LINES { Verdict::LeaveOut } else { Verdict::Write(left_out) }
    }

    /// A line in words of ours.
    fn say(&self, mut writer: Writer<'_>, level: &str, message: &str) -> std::fmt::Result {
        let mut time = String::new();
        // A clock that cannot be read leaves its place empty.
        let _ = SystemTime.format_time(&mut Writer::new(&mut time));
        match self.form {
            Form::Human => writeln!(writer, "{time} {level:>5} {message}"),
            Form::Json => writeln!(
                writer,
                r#"{{"timestamp":"{time}","level":"{level}","fields":{{"message":"{message}"}},"target":"notewell"}}"#
            ),
        }
    }
}

impl<S, N, F> FormatEvent<S, N> for Lines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let metadata = event.metadata();
        let left_out = match self.judge(metadata.callsite(), Instant::now()) {
            Verdict::LeaveOut => return Ok(()),
            Verdict::Write(left_out) => left_out,
        };
        let level = metadata.level().as_str();
        if left_out > 0 {
            let message = match left_out {
                1 => "1 line like the next was left out".to_owned(),
                left_out => format!("{left_out} lines like the next were left out"),
            };
            self.say(writer.by_ref(), level, &message)?;
        }
        let target = metadata.target();
        let library = target.split("::").next().unwrap_or_default();
        if !library.starts_with("notewell") {
            let message =
                format!("the library {library} reported a problem; its words are not logged");
            return self.say(writer, level, &message);
        }
        let mut line = String::new();
        self.inner.format_event(ctx, Writer::new(&mut line), event)?;
        if line.len() > MAX_LINE {
            let message = format!("a line of {} bytes from {target} was left out", line.len());
            return self.say(writer, level, &message);
        }
        writer.write_str(&line)
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(work: impl FnOnce()) -> String {
        let sink = Sink::default();
        let writer = sink.clone();
        let layer = fmt::layer()
            .fmt_fields(JsonFields::new())
            .event_format(Lines::new(Format::default().json(), Form::Json))
            .with_ansi(false)
            .with_writer(move || writer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_library_is_not_quoted() {
        let text = logged(|| {
            tracing::warn!(target: "rmcp::transport", heading = "My diary", "private words");
            tracing::warn!(target: "notewell::serve", count = 3, "our words");
        });
        assert!(!text.contains("private") && !text.contains("diary"), "{text}");
        assert!(text.contains("rmcp") && text.contains("our words"), "{text}");
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }

    #[test]
    fn lines_are_cut_and_counted() {
        let text = logged(|| {
            for _ in 0..1000 {
                tracing::warn!(target: "notewell", "again");
            }
            tracing::warn!(target: "notewell", long = "x".repeat(1 << 20), "too long");
        });
        assert_eq!(text.lines().count() as u64, MAX_LINES + 1);
        assert!(text.len() < 10_000, "{} bytes", text.len());
    }
}
