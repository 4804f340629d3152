//! Who listens to what a command tells of its work: the log, the progress and the timings.

use std::env;
use std::io::{self, Write};

use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{fmt, registry};

use crate::answer::Answer;
use crate::cli::{Cli, Command};
use crate::log::{self, Log};
use crate::printable::line;
use crate::timings;
use crate::verbosity::Verbosity;
use crate::watch::Watch;

/// Listens from now on.
pub fn watch(cli: &Cli) -> Watch {
    let watch = Watch::new(!cli.verbosity.quiet && cli.command.as_ref().is_none_or(draws));
    let writer = watch.clone();
    let log = filter(cli.verbosity).map(|filter| {
        let events = filter_fn(move |metadata| metadata.is_event());
        let log = fmt::layer().without_time().with_ansi(false).with_writer(move || Log(writer.clone()));
        log.with_filter(filter).with_filter(events)
    });
    let phases =
        watch.is_looked_at(wants_timings(cli)).then(|| watch.clone().with_filter(filter_fn(Watch::wants)));
    if log.is_some() || phases.is_some() {
        // Nobody else listens in this process.
        let _ = tracing::subscriber::set_global_default(registry().with(log).with(phases));
    }
    watch
}

/// What is logged; nothing, with a warning, when the variable that says it is not legal.
fn filter(verbosity: Verbosity) -> Option<tracing_subscriber::filter::Targets> {
    if verbosity.quiet {
        return None;
    }
    log::filter(verbosity.verbose, env::var_os(log::VARIABLE).as_deref()).unwrap_or_else(|warning| {
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
