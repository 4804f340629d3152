//! [`Verbosity`]: the amount of output in addition to the answer.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Command};

use crate::args::GLOBAL;

/// Amount of output in addition to the answer.
#[derive(Clone, Copy, Debug, Args)]
pub struct Verbosity {
    /// Log the work and show more figures; -vv and -vvv log more
    ///
    /// Logs phases and files to standard error; -vv also logs choices, -vvv also attempts. Reports
    /// show the cycles of all cost models.
    /// `RUST_LOG` selects levels by module.
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = GLOBAL)]
    pub verbose: u8,
    /// Print errors and the report only
    ///
    /// Omits notes, warnings and progress.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
}

/// Option for the command's own times.
#[derive(Clone, Copy, Debug, Args)]
pub struct TimingsArgs {
    /// Show how long each phase of the command took
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub timings: bool,
}

/// Whether notes and warnings are omitted.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Whether reports show more figures.
static VERBOSE: AtomicBool = AtomicBool::new(false);

impl Verbosity {
    /// Applies the options to all later output.
    ///
    /// Errors: both options are given.
    pub fn settle(self, command: &mut Command) -> Result<(), clap::Error> {
        // Global options may be before and after the verb: the parser does not detect conflicts
        // between the two sides.
        if self.quiet && self.verbose > 0 {
            let message = "the argument '--quiet' cannot be used with '--verbose'";
            return Err(command.error(ErrorKind::ArgumentConflict, message));
        }
        QUIET.store(self.quiet, Ordering::Relaxed);
        VERBOSE.store(self.verbose > 0, Ordering::Relaxed);
        Ok(())
    }
}

/// Whether notes and warnings are omitted.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Whether reports show more figures.
pub fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}
