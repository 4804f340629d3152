//! The debugger's engine: a program on any machine ([`npukit_target::Machine`]) forwards and backwards.
//!
//! A [`Debugger`] keeps copies of the machine on its way and does the same again from the nearest one, which is how it goes
//! backwards. [`Command`] is the language in which people ask, [`Script`] a file of commands with what they are to print.
//!
//! | module | is |
//! |---|---|
//! | `engine` | position, copies, listing, lines of the text |
//! | `interrupt` | how another thread stops a program that runs |
//! | `launch` | what an editor asks to be debugged |
//! | `points`, `scan` | breakpoints and watchpoints; which steps hit them |
//! | `travel`, `stop` | steps, layers, runs between points; why a program stands where it stands |
//! | `who` | who wrote a number, from what |
//! | `place`, `machine` | ranges of memories by name; what they hold |
//! | `command`, `answer` | commands as text, and what they print |
//! | `script` | files of commands |

#![forbid(unsafe_code)]

mod answer;
mod command;
mod engine;
mod interrupt;
mod launch;
mod machine;
mod place;
mod points;
mod scan;
mod script;
mod stop;
mod travel;
mod who;

pub use answer::{Answer, number_text};
pub use command::{COMMANDS, Command, Fault, Help, Scale, parse};
pub use engine::{Debugger, Line};
pub use interrupt::Interrupt;
pub use launch::{Launch, Open};
pub use place::Range;
pub use points::{Condition, Hit, On, Order, Point, PointKind, Undecided, Watch};
pub use script::{Outcome, Script, ScriptError};
pub use stop::Stop;
pub use who::Node;
