//! The host: register accesses and commands of a driver ([`protocol`]), and the machine that
//! executes an assembly program and simulates its host ([`asm_run`]).

pub(crate) mod asm_run;
pub(crate) mod protocol;
