//! Runs programs on the functional machine and hashes the final state.

use npukit_target::sha256 as hash;

use crate::config::Config;
use crate::isa::op::{Memory, Op};
use crate::machine::Machine;
use crate::program::artifact::raw_to_bytes;

/// Creates a machine after a reset. Errors: the reason as text.
pub(super) fn machine(config: &Config) -> Result<Machine, String> {
    Machine::new(config).map_err(|error| error.to_string())
}

/// Writes raw scalars to a memory, starting at vector `base`.
pub(super) fn write(machine: &mut Machine, memory: Memory, base: u64, raw: &[i32]) -> Result<(), String> {
    machine.write(memory, base, raw).map_err(|error| error.to_string())
}

/// Runs a whole program.
pub(super) fn run(machine: &mut Machine, ops: &[Op]) -> Result<(), String> {
    machine.run(ops, &mut |_| ()).map_err(|fault| fault.to_string())
}

/// Returns the SHA-256 of the first `vectors` vectors of a memory, with scalars as bytes of DRAM.
pub(super) fn sha256(machine: &Machine, memory: Memory, vectors: u64) -> Result<String, String> {
    let raw = machine.read(memory, 0, vectors).map_err(|error| error.to_string())?;
    Ok(hash(&raw_to_bytes(machine.config().data_type, &raw)))
}
