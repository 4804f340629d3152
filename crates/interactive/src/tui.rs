//! Debugger on a terminal: [`run`].
//!
//! [`App`] is a debugger together with the state of the screen, and [`draw`] draws it. The target
//! defines which memories are shown together ([`npukit_target::View`]). The command line accepts
//! the commands of scripts.
//!
//! | module | contents |
//! |---|---|
//! | `app` | effects of keys and commands |
//! | `keys` | key bindings |
//! | `command_line`, `output` | the command line and its history; output of commands |
//! | `run` | long runs in pieces, with keys handled in between |
//! | `in_motion` | the cycle that is shown of a step in motion |
//! | `panes` | the shown memory, its first address and its number format |
//! | `draw` | the whole screen |
//! | `pane` | lines of text in a frame |
//! | `look` | colors, and their replacement without color |
//! | `terminal`, `backend` | the main loop; output to the terminal |

mod app;
mod backend;
mod command_line;
mod draw;
mod in_motion;
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
