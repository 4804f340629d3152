//! Who listens to what a command tells of its work: the log, the progress and the timings.

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

/// Listens from now on.
pub fn watch(cli: &Cli) -> Watch {
    let watch = Watch::new(!cli.verbosity.quiet && cli.command.as_ref().is_none_or(draws));
    let levels = levels(cli.verbosity);
    let has_phases = watch.is_looked_at(wants_timings(cli));
    if levels.is_some() || has_phases {
        let observer = Observer { levels, has_phases, watch: watch.clone(), spans: AtomicU64::new(1) };
        // Nobody else listens in this process.
        let _ = tracing::subscriber::set_global_default(observer);
    }
    watch
}

/// Gives events to the log and phases to the watch.
struct Observer {
    /// What is logged; none for nothing.
    levels: Option<Levels>,
    /// Whether anybody looks at phases.
    has_phases: bool,
    watch: Watch,
    /// The number of the next span.
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
        // When standard error is gone there is no log, either.
        let _ = log::write(&self.watch, event);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    /// A phase has its span for itself, so that it is done now.
    fn try_close(&self, id: Id) -> bool {
        self.watch.close(&id);
        true
    }
}

/// What is logged; nothing, with a warning, when the variable that says it is not legal.
fn levels(verbosity: Verbosity) -> Option<Levels> {
    if verbosity.quiet {
        return None;
    }
    log::levels(verbosity.verbose, env::var_os(log::VARIABLE).as_deref()).unwrap_or_else(|warning| {
        // When standard error is gone there is no log, either.
        let _ = io::stderr().lock().write_all(line(&format!("warning: {warning}")).as_bytes());
        None
    })
}

/// Whether a bar may be drawn: not where standard output gets text as it comes.
fn draws(command: &Command) -> bool {
    !matches!(command, Command::Generate(args) if args.prompt.is_some())
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

/// The answer with how long the phases took, when that is asked for.
pub fn timed(cli: &Cli, answer: Answer, watch: &Watch) -> Answer {
    if !wants_timings(cli) {
        return answer;
    }
    let rows = watch.timings();
    answer.with_timings(&timings::text(&rows), &rows)
}
