//! Debugger engine: runs a program on any machine ([`npukit_target::Machine`]) forwards and
//! backwards.
//!
//! A [`Debugger`] keeps copies of the machine at regular steps. To go backwards, it repeats the
//! program from the nearest copy. [`Command`] is the command language, and [`Script`] a file of
//! commands with their expected output.
//!
//! | module | contents |
//! |---|---|
//! | `engine` | position, copies, listing, lines of the text |
//! | `interrupt` | requests of other threads to stop |
//! | `launch` | launch arguments of an editor |
//! | `points`, `scan` | breakpoints and watchpoints; the steps that hit them |
//! | `travel`, `stop` | steps, layers, runs between points; reasons for a stop |
//! | `who` | origin of a number: its writer and operands |
//! | `motion` | one cycle inside a unit, as lines of text |
//! | `place`, `machine` | ranges of memories by name; their contents |
//! | `command`, `answer` | commands as text, and their output |
//! | `script` | files of commands |

#![forbid(unsafe_code)]

mod answer;
mod command;
mod engine;
mod interrupt;
mod launch;
mod machine;
mod motion;
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
pub use motion::{Piece, PieceKind, frame};
pub use place::Range;
pub use points::{Condition, Hit, On, Order, Point, PointKind, Undecided, Watch};
pub use script::{Outcome, Script, ScriptError};
pub use stop::Stop;
pub use who::Node;
