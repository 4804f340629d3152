//! Typed instructions: [`Op`], and the rows that define their words, names and text. [`Op::rows`]
//! has the sequencer's rows, [`ResourceOp::rows`] the rows of components in slots.
//!
//! The simulator, the checks and the scheduler use typed instructions instead of fields.
//! [`Op::new`] converts an [`Instruction`], [`Op::word`] encodes a word. Source: specification 2,
//! `drra-isa.json`.

mod format;
mod mode;

use npukit_base::{BitRange, Word};
use npukit_isa::coding::{Names, Number, Signed};
use npukit_isa::{FieldError, NoInstruction, Radix, instructions};
use thiserror::Error;

use crate::config::component::Component;
use crate::isa::{Instruction, Isa, OPCODE, SLOT, TYPE};
pub use format::Format;
use format::{CONTROL, RESOURCE, below};
pub use mode::{ActMode, CalcMode, DpuMode, Transfer};

/// Typed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Ends the cell's program.
    Halt,
    /// Takes `cycle` + 1 cycles, or waits for events.
    Wait {
        /// Whether `cycle` is a mask of events to wait for, which no hardware supports.
        events: bool,
        /// Cycles minus one.
        cycle: u32,
    },
    /// Activates ports.
    Act {
        /// How `ports` and `param` are read.
        mode: ActMode,
        /// Mask of ports or slots.
        ports: u16,
        /// First slot, mask of ports or first register.
        param: u8,
    },
    /// `result = mode(operand1, operand2)`.
    Calc {
        /// Operation.
        mode: CalcMode,
        /// Scalar register of the first operand.
        operand1: u8,
        /// Whether `operand2` is a scalar register.
        dynamic: bool,
        /// Number or scalar register of the second operand.
        operand2: u8,
        /// Scalar register of the result.
        result: u8,
    },
    /// Branches to a distance after the next instruction.
    Brn {
        /// Scalar register that is tested.
        reg: u8,
        /// Distance if the register is not 0.
        target_true: i16,
        /// Distance if the register is 0.
        target_false: i16,
    },
    /// Instruction of the component at `slot`.
    Resource {
        /// Slot of the component.
        slot: u8,
        /// Typed instruction of the component.
        op: ResourceOp,
    },
}

/// Instruction of a component in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceOp {
    /// dpu: writes configuration `config`.
    Dpu {
        /// Configuration number, 0 to 3.
        config: u8,
        /// Operation.
        mode: DpuMode,
        /// Constant of some modes, as the bits of a signed number.
        immediate: u16,
    },
    /// swb: connects word output `source` to word input `target`.
    Swb {
        /// Table number, 0 to 3.
        option: u8,
        /// Same slot as `target`.
        channel: u8,
        /// Slot that sends.
        source: u8,
        /// Slot that receives.
        target: u8,
    },
    /// swb: selects the directions in which the bulk rows of slot `source` leave, or the slots that
    /// take the rows from direction `source`.
    Route {
        /// Table number, 0 to 3.
        option: u8,
        /// Whether the route sends or receives.
        sr: Transfer,
        /// Slot that sends, or direction that rows come from.
        source: u8,
        /// Mask of directions or of slots.
        target: u16,
    },
    /// dpu and swb: opens a lane of `port` at address 0.
    Evt {
        /// Port of the slot.
        port: u8,
    },
    /// Memories: opens a lane of `port` at address `base`.
    Dsu {
        /// Configuration number, 0 to 3, without effect in hardware.
        option: u8,
        /// Port of the slot.
        port: u8,
        /// Whether `base` names a scalar register.
        dynamic: bool,
        /// First address, or the register that holds it.
        base: u16,
    },
    /// Repetition level.
    Rep {
        /// Port of the slot.
        port: u8,
        /// Number of repetitions.
        iter: u8,
        /// Added to the address in each repetition.
        step: i8,
        /// Idle cycles between repetitions.
        delay: u8,
    },
    /// High bits of the preceding `rep`.
    Repx {
        /// Port of the slot.
        port: u8,
        /// High bits of `iter`.
        iter: u8,
        /// High bits of `step`.
        step: u8,
        /// High bits of `delay`.
        delay: u8,
    },
    /// Connects a lane with the next one.
    Trans {
        /// Port of the slot.
        port: u8,
        /// Idle cycles between the lanes.
        delay: u32,
    },
}

/// Bytes per word.
const WORD_BYTES: usize = 4;

const WAIT: [BitRange; 2] = below(CONTROL, [1, 27]);
const ACT: [BitRange; 3] = below(CONTROL, [16, 4, 8]);
const CALC: [BitRange; 5] = below(CONTROL, [6, 4, 1, 8, 4]);
const BRN: [BitRange; 3] = below(CONTROL, [4, 9, 9]);

instructions! {
    for Op on format: Format, words of WORD_BYTES, opcode in OPCODE;

    0 => "halt" { Self::Halt } "ends the cell's program" {
    };

    1 => "wait" { Self::Wait { events: mode, cycle } } "takes `cycle` + 1 cycles" {
        mode: WAIT[0] => Names(&[(0, "cycles"), (1, "events")]), MODE;
        cycle: WAIT[1] => all(WAIT[1]), "number of cycles minus one";
    };

    2 => "act" { Self::Act { mode, ports, param } }
    "activates ports: their first address is in the next cycle" {
        ports: ACT[0] => all(ACT[0]), "ports, as `mode` reads them";
        mode: ACT[1] => Names(ActMode::NAMES), MODE;
        param: ACT[2] => all(ACT[2]), "first slot, mask of ports or first register, by `mode`";
    } .with_meanings("mode", ActMode::MEANINGS);

    3 => "calc" { Self::Calc { mode, operand1, dynamic: operand2_sd, operand2, result } }
    "computes on scalar registers" {
        mode: CALC[0] => Names(CalcMode::NAMES), MODE;
        operand1: CALC[1] => all(CALC[1]), "scalar register";
        operand2_sd: CALC[2] => Names(DYNAMIC), "whether `operand2` names a scalar register";
        operand2: CALC[3] => all(CALC[3]), "number or scalar register";
        result: CALC[4] => all(CALC[4]), "scalar register";
    } .with_meanings("mode", CalcMode::MEANINGS);

    4 => "brn" { Self::Brn { reg, target_true, target_false } }
    "branches to a distance from the next instruction, depending on a register" {
        reg: BRN[0] => all(BRN[0]), "scalar register";
        target_true: BRN[1] => Signed::all(BRN[1]), "distance if the register is not 0";
        target_false: BRN[2] => Signed::all(BRN[2]), "distance if the register is 0";
    };

    outside {
        Self::Resource { slot, op } =>
            op.mnemonic(), op.to_word(format)?.with(TYPE, 1).with(SLOT, slot.into());
    }
}

const DPU: [BitRange; 3] = below(RESOURCE, [2, 5, 16]);
const DSU: [BitRange; 4] = below(RESOURCE, [2, 2, 1, 16]);

instructions! {
    for ResourceOp on format: Format, words of WORD_BYTES, opcode in OPCODE;

    code(format.code(4, 0)), if format.component == Component::Dpu
    => "dpu" { Self::Dpu { config, mode, immediate } } "sets a configuration" {
        config: DPU[0] => all(DPU[0]), "configuration number";
        mode: DPU[1] => Names(DpuMode::NAMES), MODE;
        immediate: DPU[2] => all(DPU[2]), "constant of some modes";
    } .with_meanings("mode", DpuMode::MEANINGS);

    code(format.code(4, 0)), variant(0) in format.variant(), if format.component == Component::Swb
    => "swb" { Self::Swb { option, channel, source, target } }
    "connects a slot's word output to a slot's word input" {
        option: format.swb()[0] => all(format.swb()[0]), OPTION;
        channel: format.swb()[1] => all(format.swb()[1]), "same slot as `target`";
        source: format.swb()[2] => all(format.swb()[2]), SOURCE;
        target: format.swb()[3] => all(format.swb()[3]), TARGET;
    };

    code(format.code(5, 0)), variant(format.second()) in format.variant(),
    if format.component == Component::Swb
    => "route" { Self::Route { option, sr, source, target } }
    "routes bulk rows from slots to directions, or from directions to slots" {
        option: format.route()[0] => all(format.route()[0]), OPTION;
        sr: format.route()[1] => Names(Transfer::NAMES), "whether slots send or receive";
        source: format.route()[2] => all(format.route()[2]), SOURCE;
        target: format.route()[3] => all(format.route()[3]), TARGET;
    } .with_meanings("sr", Transfer::MEANINGS);

    code(format.code(0, 1)), if !format.has_addresses()
    => "evt" { Self::Evt { port } }
    "opens a lane of the port" {
        port: format.port() => Names(format.ports()), PORT;
    };

    code(format.code(6, 1)), if format.has_addresses()
    => "dsu" { Self::Dsu { option, port, dynamic: init_addr_sd, base: init_addr } }
    "opens a lane of the port at an address" {
        option: DSU[0] => all(DSU[0]), OPTION;
        port: DSU[1] => Names(format.ports()), PORT;
        init_addr_sd: DSU[2] => Names(DYNAMIC), "whether `init_addr` names a scalar register";
        init_addr: DSU[3] => all(DSU[3]), "first address";
    };

    code(format.timing(0, 2)), variant(0) in format.variant()
    => "rep" { Self::Rep { port, iter, step, delay } }
    "repeats the port's addresses `iter` times, with `delay` idle cycles in between" {
        port: format.rep()[0] => Names(format.ports()), PORT;
        iter: format.rep()[1] => all(format.rep()[1]), "number of repetitions";
        step: format.rep()[2] => Signed::all(format.rep()[2]), STEP;
        delay: format.rep()[3] => all(format.rep()[3]), DELAY;
    } .with_default("step", 1);

    code(format.timing(1, 2)), variant(format.second()) in format.variant()
    => "repx" { Self::Repx { port, iter, step, delay } }
    "high bits of the fields of the preceding `rep`" {
        port: format.rep()[0] => Names(format.ports()), PORT;
        iter: format.rep()[1] => all(format.rep()[1]), "number of repetitions";
        step: format.rep()[2] => all(format.rep()[2]), STEP;
        delay: format.rep()[3] => all(format.rep()[3]), DELAY;
    } .with_default("step", 1);

    code(format.timing(2, 3))
    => "trans" { Self::Trans { port, delay } }
    "connects a lane of the port with the next one, with `delay` idle cycles in between" {
        port: format.port() => Names(format.ports()), PORT;
        delay: format.transition() => all(format.transition()), DELAY;
    };
}

const DYNAMIC: &[(u64, &str)] = &[(0, "s"), (1, "d")];
const MODE: &str = "operation";
const OPTION: &str = "table number; without effect in `dsu`";
const SOURCE: &str = "slot that sends; direction for `route` with sr=receive";
const TARGET: &str = "slot that receives; for `route` a mask of directions or slots";
const PORT: &str = "address generator of the slot";
const STEP: &str = "added to the address in each repetition; signed in `rep`";
const DELAY: &str = "idle cycles in between";

/// Number field that allows every value of its bits.
const fn all(bits: BitRange) -> Number {
    Number::all(bits, Radix::Decimal)
}

/// Unknown mode of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{instruction} has no mode {mode}")]
pub struct ModeError {
    /// Mnemonic.
    pub instruction: &'static str,
    /// Mode found.
    pub mode: u64,
}

impl Op {
    /// Converts an instruction to its typed form.
    ///
    /// # Errors
    ///
    /// The mode is unknown.
    pub fn new(instruction: &Instruction) -> Result<Self, ModeError> {
        let (word, format) =
            (Word::from(Isa::get().encode(instruction)), Format::released(instruction.component));
        let op = match instruction.component {
            Component::Sequencer => Self::from_word(word, format),
            _ => ResourceOp::from_word(word, format)
                .map(|op| Self::Resource { slot: word.get(SLOT) as u8, op }),
        };
        op.map_err(|error| match error {
            NoInstruction::Operand(error) => ModeError { instruction: error.instruction, mode: error.value },
            NoInstruction::Opcode { .. } => unreachable!("the opcode is that of the instruction's row"),
        })
    }

    /// Encodes the instruction as a word of a component.
    ///
    /// # Errors
    ///
    /// The component has no such instruction, or an operand does not fit its field.
    pub fn word(&self, component: Component) -> Result<u32, Box<FieldError>> {
        Ok(self.to_word(Format::released(component))?.low_u64() as u32)
    }

    /// Slot of a resource instruction, or `None` for a control instruction.
    pub const fn slot(&self) -> Option<u8> {
        match self {
            Self::Resource { slot, .. } => Some(*slot),
            _ => None,
        }
    }
}

impl ResourceOp {
    /// Port of the address generator that it configures, if any.
    pub const fn port(&self) -> Option<u8> {
        match self {
            Self::Evt { port }
            | Self::Dsu { port, .. }
            | Self::Rep { port, .. }
            | Self::Repx { port, .. }
            | Self::Trans { port, .. } => Some(*port),
            _ => None,
        }
    }
}
