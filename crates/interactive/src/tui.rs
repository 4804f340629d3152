//! The debugger on a terminal: [`run`].
//!
//! [`App`] is a debugger with what of it is shown, and [`draw`] shows it. Which memories are looked at together is the
//! target's word ([`npukit_target::View`]); the command line takes the commands of scripts.
//!
//! | module | is |
//! |---|---|
//! | `app` | what keys and commands do |
//! | `keys` | which key does what |
//! | `command_line`, `output` | the line that is typed, and those before it; what commands print |
//! | `run` | long ways in pieces, between which keys are looked at |
//! | `panes` | which memory is shown, from which address, in which form |
//! | `draw` | all of it on the screen |
//! | `pane` | lines of text in a frame |
//! | `look` | colours, and what stands for them where there are none |
//! | `terminal`, `backend` | the loop around a terminal; what is drawn, as orders to it |

mod app;
mod backend;
mod command_line;
mod draw;
mod keys;
mod look;
mod output;
mod pane;
mod panes;
mod run;
mod terminal;

pub use app::App;
pub use draw::draw;
pub use keys::{KEYS, Key};
pub use look::Look;
pub use terminal::run;
