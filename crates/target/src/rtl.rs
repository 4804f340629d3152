//! Accelerators as circuits: a [`Circuit`] has sources and parameters, and [`Circuit::files`]
//! generates its files.
//!
//! This module has the parts that all machines share: the top module with its ports, file lists for
//! tools, whole systems for Vivado ([`VivadoBoard`]), and the inputs of a simulator ([`Build`] and
//! [`Run`]). A target with a circuit provides sources, parameters and ports. Nothing here opens a
//! file or starts a process.

mod build;
mod circuit;
mod escape;
mod library;
mod limit;
mod lists;
mod port;
mod top;
mod vivado;

pub use build::{Build, Run, Seen};
pub use circuit::{Bank, Circuit, Defects, File, Parameter, Source, TestBench, identifier};
pub use library::{AXI_CHECKER, LIBRARY};
pub use limit::{Limit, Unbuildable};
pub use port::{Direction, Port, axi4_master, stream};
pub use vivado::{Range, Unfit, VIVADO_BOARDS, VivadoBoard};
