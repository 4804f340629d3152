//! Instructions of the sequencer that start operations and fill registers.

use crate::config::revision::Revision;
use crate::isa::op::{ActMode, CalcMode, Op};
use crate::isa::pasm::schedule::Activation;

/// First registers of the two sets that maps are read from, used in turn.
const MAPS: [u8; 2] = [4, 8];

/// Registers reserved for activations.
pub const MAP_REGISTERS: std::ops::Range<u8> = 4..12;

/// Returns the instructions that fill the registers of an `act`, and the `act`; `turn` selects the
/// register set. Mode 1 names a port by its number in revision `Seed`, otherwise by a mask.
pub fn activation(activation: Activation, turn: usize, revision: Revision) -> (Vec<Op>, Op) {
    let first = MAPS[turn % 2];
    let act = match activation {
        Activation::Contiguous { slot, ports } => Op::Act { mode: ActMode::Contiguous, ports, param: slot },
        Activation::Ports { slots, ports } => {
            let param = if revision.is_seed() { ports.trailing_zeros() as u8 } else { ports };
            Op::Act { mode: ActMode::PortIndex, ports: slots, param }
        }
        Activation::Map(_) => Op::Act { mode: ActMode::Map, ports: 0, param: first },
    };
    let registers = activation.registers().into_iter().flatten();
    (registers.zip(first..).flat_map(|(value, register)| load(register, value)).collect(), act)
}

/// Returns instructions that load a register one byte at a time. Register 0 holds 0.
pub fn load(register: u8, value: u16) -> Vec<Op> {
    let [low, high] = value.to_le_bytes();
    let calc =
        |mode, operand1, operand2| Op::Calc { mode, operand1, dynamic: false, operand2, result: register };
    match (high, low) {
        (0, low) => vec![calc(CalcMode::Add, 0, low)],
        (high, 0) => vec![calc(CalcMode::Addh, 0, high)],
        (high, low) => vec![calc(CalcMode::Addh, 0, high), calc(CalcMode::Add, register, low)],
    }
}
