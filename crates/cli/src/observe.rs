//! Observers of a command's work: the log, the progress bar and the timings.

use std::env;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::answer::Answer;
use crate::cli::{Cli, Command};
use crate::log::{self, Levels};
use crate::printable::line;
use crate::timings;
use crate::verbosity::Verbosity;
use crate::watch::Watch;

/// Starts observing.
pub fn watch(cli: &Cli) -> Watch {
    let watch = Watch::new(!cli.verbosity.quiet && cli.command.as_ref().is_none_or(draws));
    let levels = levels(cli.verbosity);
    let has_phases = watch.is_looked_at(wants_timings(cli));
    if levels.is_some() || has_phases {
        let observer = Observer { levels, has_phases, watch: watch.clone(), spans: AtomicU64::new(1) };
        // There is no other subscriber in this process.
        let _ = tracing::subscriber::set_global_default(observer);
    }
    watch
}

/// Passes events to the log, and phases to the watch.
struct Observer {
    /// Levels that are logged; `None` if logging is off.
    levels: Option<Levels>,
    /// Whether phases are used.
    has_phases: bool,
    watch: Watch,
    /// Id of the next span.
    spans: AtomicU64,
}

impl Subscriber for Observer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match metadata.is_span() {
            true => self.has_phases && Watch::wants(metadata),
            false => {
                let levels = self.levels.as_ref();
                levels.is_some_and(|levels| levels.has(metadata.target(), *metadata.level()))
            }
        }
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed));
        self.watch.begin(attributes, &id);
        id
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.watch.record(id, values);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        // If standard error is closed, there is no log either.
        let _ = log::write(&self.watch, event);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    /// Each phase has its own span, so it is done now.
    fn try_close(&self, id: Id) -> bool {
        self.watch.close(&id);
        true
    }
}

/// Returns the levels to log; if the variable is not legal, nothing is logged and a warning is
/// printed.
fn levels(verbosity: Verbosity) -> Option<Levels> {
    if verbosity.quiet {
        return None;
    }
    log::levels(verbosity.verbose, env::var_os(log::VARIABLE).as_deref()).unwrap_or_else(|warning| {
        // If standard error is closed, there is no warning either.
        let _ = io::stderr().lock().write_all(line(&format!("warning: {warning}")).as_bytes());
        None
    })
}

/// Whether a bar may be drawn: not while text is written to standard output as it is generated.
fn draws(command: &Command) -> bool {
    !matches!(command, Command::Generate(args) if !args.accuracy)
}

fn wants_timings(cli: &Cli) -> bool {
    match &cli.command {
        Some(Command::Compile(args)) => args.timings.timings,
        Some(Command::Run(args)) => args.timings.timings,
        Some(Command::Time(args)) => args.timings.timings,
        Some(Command::Report(args)) => args.timings.timings,
        Some(Command::Check(args)) => args.timings.timings,
        _ => false,
    }
}

/// Adds the times of the phases to the answer, if requested.
pub fn timed(cli: &Cli, answer: Answer, watch: &Watch) -> Answer {
    if !wants_timings(cli) {
        return answer;
    }
    let rows = watch.timings();
    answer.with_timings(&timings::text(&rows), &rows)
}
