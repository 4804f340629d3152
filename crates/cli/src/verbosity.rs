//! [`Verbosity`]: how much a command tells beside its answer.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Command};

use crate::args::GLOBAL;

/// How much a command tells beside its answer.
#[derive(Clone, Copy, Debug, Args)]
pub struct Verbosity {
    /// Log what is done; -vv and -vvv tell more
    ///
    /// Phases and files to standard error, with -vv what is chosen, with -vvv what is tried, too. `RUST_LOG` chooses by
    /// module.
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = GLOBAL)]
    pub verbose: u8,
    /// Print errors and the report alone
    ///
    /// Notes, warnings and progress are left out.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
}

/// What a command tells of its own time.
#[derive(Clone, Copy, Debug, Args)]
pub struct TimingsArgs {
    /// Tell how long each phase of the command took
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub timings: bool,
}

/// Whether notes and warnings are left out.
static QUIET: AtomicBool = AtomicBool::new(false);

impl Verbosity {
    /// Takes effect on what is printed from now on.
    ///
    /// Errors: both at once.
    pub fn settle(self, command: &mut Command) -> Result<(), clap::Error> {
        // Options of all verbs stand on either side of the verb: the parser sees no conflict of the two sides.
        if self.quiet && self.verbose > 0 {
            let message = "the argument '--quiet' cannot be used with '--verbose'";
            return Err(command.error(ErrorKind::ArgumentConflict, message));
        }
        QUIET.store(self.quiet, Ordering::Relaxed);
        Ok(())
    }
}

/// Whether notes and warnings are left out.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}
