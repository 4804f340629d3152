//! DRAM writes that a Configure of the offset moves: [`moved_writes`].
//!
//! Writes are posted: the decoder continues while their addresses wait in the converter, which adds
//! the offset when it issues them. Bursts whose addresses are issued after the Configure therefore
//! go to the new window. A read of the bank waits for all earlier writes.

use super::judge::timelines;
use crate::clock::moved_writes::{MovedWrites, offset_changed};
use crate::config::{ClockParams, Config};
use crate::isa::op::{Flow, Memory, Op, Place};
use crate::machine::configuration::Configuration;

/// Returns the Configures of a program that move writes, with the board's memory or another.
pub fn moved_writes(config: &Config, ops: &[Op], memory: ClockParams) -> Vec<MovedWrites> {
    if !any_after_writes(config, ops) {
        return Vec::new();
    }
    let mut moved: Vec<MovedWrites> = Vec::new();
    // Default: without a clock for the instance, moved writes are unknown; `judge` reports that.
    for (_, timeline) in timelines(config, ops, memory).unwrap_or_default() {
        moved.extend(timeline.moved);
    }
    moved.sort_by_key(|moved| moved.configure);
    moved.dedup();
    moved
}

/// Whether an offset changes without a read of the bank after the last write to it.
fn any_after_writes(config: &Config, ops: &[Op]) -> bool {
    let mut configuration = Configuration::new(config.reading);
    let mut queued = [false; 2];
    for op in ops {
        let Flow { source, target, .. } = op.flow();
        let bank = |place: Option<Place>| place?.memory.bank();
        if let Some(bank) = bank(source) {
            queued[bank] = false;
        }
        if let Some(bank) = bank(target) {
            queued[bank] = true;
        }
        if let Op::Configure { register, value } = *op {
            let moved = offset_changed(&configuration, op).and_then(Memory::bank);
            if moved.is_some_and(|bank| queued[bank]) {
                return true;
            }
            configuration.configure(register, value);
        }
    }
    false
}
