//! Accelerators as circuits: [`Circuit`] is one with its parameters, and [`Circuit::files`] what is written of it.
//!
//! What all machines share is here: the top with its ports, lists of files for tools, and what a simulator is to build
//! ([`Build`]) and to run ([`Run`]). Who has a circuit gives its sources, parameters and ports. Nothing here touches a file
//! or starts a process.

mod build;
mod circuit;
mod escape;
mod limit;
mod lists;
mod port;
mod top;

pub use build::{Build, Run, Seen};
pub use circuit::{Bench, Circuit, Defects, File, Parameter, Source, identifier};
pub use limit::{Limit, Unbuildable};
pub use port::{Direction, Port, axi4_master, stream};
