//! Logs of both binaries: to standard error, for people on a terminal, as JSON lines elsewhere.
//!
//! What is logged is chosen by `--log`, else `RUST_LOG`, else the default of the command. Secrets
//! have types that don't print themselves; nothing here could hide one that was passed as text.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error(
        "`{found}` does not say what to log: {problem}; wanted a level such as `info` or `debug`, or a list such as `info,bpa_agent::leases=trace`"
    )]
    Filter { found: String, problem: String },
    #[error("logging is set up already")]
    Twice,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Time, level, message and fields, in colour.
    Human,
    /// One JSON object a line, with the fields at the top level.
    Json,
}

impl LogFormat {
    /// People get `Human` on a terminal; everything else reads `Json`.
    pub fn detect() -> Self {
        if io::stderr().is_terminal() { Self::Human } else { Self::Json }
    }
}

/// Sets up logging for this process, to standard error.
///
/// # Errors
/// When `log` (or `RUST_LOG`) can't be understood, or when it was done before.
pub fn init(log: Option<&str>, default: &str) -> Result<(), TelemetryError> {
    let filter = filter(log, std::env::var("RUST_LOG").ok().as_deref(), default)?;
    let subscriber = subscriber(filter, LogFormat::detect(), || Forgiving(io::stderr()));
    tracing::subscriber::set_global_default(subscriber).map_err(|_| TelemetryError::Twice)
}

/// A writer whose reader may go away: a log that nobody reads must not end what is at work.
struct Forgiving<W>(W);

impl<W: Write> Write for Forgiving<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.0.write(bytes).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

/// The first of `--log`, `RUST_LOG` and the default that says anything.
fn filter(
    log: Option<&str>,
    env: Option<&str>,
    default: &str,
) -> Result<EnvFilter, TelemetryError> {
    let said = |text: &&str| !text.trim().is_empty();
    let found = log.filter(said).or(env.filter(said)).unwrap_or(default);
    EnvFilter::builder().parse(found).map_err(|error| TelemetryError::Filter {
        found: found.escape_debug().to_string(),
        problem: error.to_string(),
    })
}

fn subscriber<W>(
    filter: EnvFilter,
    format: LogFormat,
    writer: W,
) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    match format {
        LogFormat::Human => Box::new(builder.with_target(false).with_ansi(true).finish()),
        LogFormat::Json => Box::new(builder.json().flatten_event(true).finish()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

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

    fn logged(filter_text: &str, format: LogFormat) -> String {
        let sink = Sink::default();
        let writer = sink.clone();
        let filter = filter(Some(filter_text), None, "info").unwrap();
        tracing::subscriber::with_default(
            subscriber(filter, format, move || writer.clone()),
            || {
                tracing::info!(site = "north", "agent connected");
                tracing::debug!("details");
            },
        );
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_lines_carry_their_fields() {
        let text = logged("info", LogFormat::Json);
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["site"], "north");
        assert_eq!(line["message"], "agent connected");
        assert_eq!(line["level"], "INFO");
    }

    #[test]
    fn people_get_a_line_with_the_message() {
        let text = logged("debug", LogFormat::Human);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("agent connected"), "{text}");
    }

    #[test]
    fn a_log_that_nobody_reads_is_no_error() {
        struct Broken;
        impl io::Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let mut writer = Forgiving(Broken);
        writer.write_all(b"x").unwrap();
        writer.flush().unwrap();
    }

    #[test]
    fn the_flag_wins_over_the_environment_and_both_over_the_default() {
        let chosen = |log, env| filter(log, env, "info").unwrap().to_string();
        assert_eq!(chosen(Some("debug"), Some("trace")), "debug");
        assert_eq!(chosen(None, Some("trace")), "trace");
        assert_eq!(chosen(None, Some(" ")), "info");
        assert_eq!(chosen(None, None), "info");
    }

    #[test]
    fn a_filter_that_says_nothing_is_refused_with_an_example() {
        let error = filter(Some("bpa=loud"), None, "info").unwrap_err().to_string();
        assert!(error.contains("bpa=loud") && error.contains("info"), "{error}");
    }
}
