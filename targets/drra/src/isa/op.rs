//! Typed instructions: [`Op`], and the rows from which their words, names and text come: [`Op::rows`] of the
//! sequencer, [`ResourceOp::rows`] of the components in the slots.
//!
//! The simulator, the checks and the scheduler use these instead of fields. [`Op::new`] makes one of an
//! [`Instruction`], [`Op::word`] goes back. Source: specification 2, `drra-isa.json`.

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

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Ends the cell's program.
    Halt,
    /// Takes `cycle` + 1 cycles, or waits for events.
    Wait {
        /// Waits for the events of the mask `cycle`, which no hardware does.
        events: bool,
        /// Cycles, less one.
        cycle: u32,
    },
    /// Activates ports.
    Act {
        /// How the other two are read.
        mode: ActMode,
        /// Ports or slots.
        ports: u16,
        /// First slot, mask of ports or first register.
        param: u8,
    },
    /// `result = mode(operand1, operand2)`.
    Calc {
        /// What is computed.
        mode: CalcMode,
        /// Scalar register.
        operand1: u8,
        /// Whether `operand2` is a scalar register.
        dynamic: bool,
        /// Number or scalar register.
        operand2: u8,
        /// Scalar register.
        result: u8,
    },
    /// Goes on `target_true` or `target_false` after the next instruction.
    Brn {
        /// Scalar register that decides.
        reg: u8,
        /// If it is not 0.
        target_true: i16,
        /// If it is 0.
        target_false: i16,
    },
    /// For the component at `slot`.
    Resource {
        /// Where it goes.
        slot: u8,
        /// What it does there.
        op: ResourceOp,
    },
}

/// What a component does with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceOp {
    /// dpu: sets configuration `config`.
    Dpu {
        /// Which of the four.
        config: u8,
        /// What is computed.
        mode: DpuMode,
        /// Constant of some modes; bits of a signed number.
        immediate: u16,
    },
    /// swb: links word output `source` to word input `target`.
    Swb {
        /// Which of the four tables.
        option: u8,
        /// `target` once more.
        channel: u8,
        /// Slot.
        source: u8,
        /// Slot.
        target: u8,
    },
    /// swb: the directions that the bulk rows of slot `source` leave in, or the slots that take those from
    /// direction `source`.
    Route {
        /// Which of the four tables.
        option: u8,
        /// Which of the two.
        sr: Transfer,
        /// Slot or direction.
        source: u8,
        /// Directions or slots, a bit each.
        target: u16,
    },
    /// dpu and swb: opens a lane of `port`, at address 0.
    Evt {
        /// Port of the slot.
        port: u8,
    },
    /// Memories: opens a lane of `port` at address `base`.
    Dsu {
        /// Which of the four tables, which nothing reads.
        option: u8,
        /// Port of the slot.
        port: u8,
        /// Whether `base` names a scalar register.
        dynamic: bool,
        /// First address.
        base: u16,
    },
    /// A repetition level.
    Rep {
        /// Port of the slot.
        port: u8,
        /// How often.
        iter: u8,
        /// Added to the address each time.
        step: i8,
        /// Idle cycles between.
        delay: u8,
    },
    /// The high parts of the `rep` before it.
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
        /// Idle cycles between.
        delay: u32,
    },
}

/// Bytes of a word.
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
        cycle: WAIT[1] => all(WAIT[1]), "cycles it takes, less one";
    };

    2 => "act" { Self::Act { mode, ports, param } }
    "activates ports: their first address is in the next cycle" {
        ports: ACT[0] => all(ACT[0]), "ports, as `mode` reads them";
        mode: ACT[1] => Names(ActMode::NAMES), MODE;
        param: ACT[2] => all(ACT[2]), "first slot, mask of ports or first register, by `mode`";
    };

    3 => "calc" { Self::Calc { mode, operand1, dynamic: operand2_sd, operand2, result } }
    "computes on scalar registers" {
        mode: CALC[0] => Names(CalcMode::NAMES), MODE;
        operand1: CALC[1] => all(CALC[1]), "scalar register";
        operand2_sd: CALC[2] => Names(DYNAMIC), "whether `operand2` names a scalar register";
        operand2: CALC[3] => all(CALC[3]), "number or scalar register";
        result: CALC[4] => all(CALC[4]), "scalar register";
    };

    4 => "brn" { Self::Brn { reg, target_true, target_false } }
    "goes on at a distance from the next instruction, by whether a register is not 0" {
        reg: BRN[0] => all(BRN[0]), "scalar register";
        target_true: BRN[1] => Signed::all(BRN[1]), "distance if it is not 0";
        target_false: BRN[2] => Signed::all(BRN[2]), "distance if it is 0";
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
        config: DPU[0] => all(DPU[0]), "which of the four configurations";
        mode: DPU[1] => Names(DpuMode::NAMES), MODE;
        immediate: DPU[2] => all(DPU[2]), "constant of some modes";
    };

    code(format.code(4, 0)), variant(0) in format.variant(), if format.component == Component::Swb
    => "swb" { Self::Swb { option, channel, source, target } }
    "links a slot's word output to a slot's word input" {
        option: format.swb()[0] => all(format.swb()[0]), OPTION;
        channel: format.swb()[1] => all(format.swb()[1]), "the slot that receives, once more";
        source: format.swb()[2] => all(format.swb()[2]), SOURCE;
        target: format.swb()[3] => all(format.swb()[3]), TARGET;
    };

    code(format.code(5, 0)), variant(format.second()) in format.variant(),
    if format.component == Component::Swb
    => "route" { Self::Route { option, sr, source, target } }
    "links bulk rows of slots to directions, or directions to slots" {
        option: format.route()[0] => all(format.route()[0]), OPTION;
        sr: format.route()[1] => Names(Transfer::NAMES), "whether slots send or receive";
        source: format.route()[2] => all(format.route()[2]), SOURCE;
        target: format.route()[3] => all(format.route()[3]), TARGET;
    };

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
    "repeats what the port does `iter` times, `delay` idle cycles between" {
        port: format.rep()[0] => Names(format.ports()), PORT;
        iter: format.rep()[1] => all(format.rep()[1]), "how often";
        step: format.rep()[2] => Signed::all(format.rep()[2]), STEP;
        delay: format.rep()[3] => all(format.rep()[3]), DELAY;
    } .with_default("step", 1);

    code(format.timing(1, 2)), variant(format.second()) in format.variant()
    => "repx" { Self::Repx { port, iter, step, delay } }
    "the high parts of the fields of the `rep` before it" {
        port: format.rep()[0] => Names(format.ports()), PORT;
        iter: format.rep()[1] => all(format.rep()[1]), "how often";
        step: format.rep()[2] => all(format.rep()[2]), STEP;
        delay: format.rep()[3] => all(format.rep()[3]), DELAY;
    } .with_default("step", 1);

    code(format.timing(2, 3))
    => "trans" { Self::Trans { port, delay } }
    "connects a lane of the port with the next one, `delay` idle cycles between" {
        port: format.port() => Names(format.ports()), PORT;
        delay: format.transition() => all(format.transition()), DELAY;
    };
}

const DYNAMIC: &[(u64, &str)] = &[(0, "s"), (1, "d")];
const MODE: &str = "what is done";
const OPTION: &str = "which of the four tables; without effect in `dsu`";
const SOURCE: &str = "the slot that sends; of `route`, sr=receive, the direction";
const TARGET: &str = "the slot that receives; of `route` the directions, or the slots, a bit each";
const PORT: &str = "which address generator of the slot";
const STEP: &str = "what is added to the address each time; signed in `rep`";
const DELAY: &str = "idle cycles between";

/// Every number that the bits hold.
const fn all(bits: BitRange) -> Number {
    Number::all(bits, Radix::Decimal)
}

/// An instruction whose mode has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{instruction} has no mode {mode}")]
pub struct ModeError {
    /// The instruction.
    pub instruction: &'static str,
    /// The mode.
    pub mode: u64,
}

impl Op {
    /// What an instruction means.
    ///
    /// # Errors
    ///
    /// A mode without meaning.
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

    /// The word of the instruction, at a component.
    ///
    /// # Errors
    ///
    /// The component has no such instruction, or an operand does not fit its field.
    pub fn word(&self, component: Component) -> Result<u32, Box<FieldError>> {
        Ok(self.to_word(Format::released(component))?.low_u64() as u32)
    }

    /// The slot of a resource instruction.
    pub const fn slot(&self) -> Option<u8> {
        match self {
            Self::Resource { slot, .. } => Some(*slot),
            _ => None,
        }
    }
}

impl ResourceOp {
    /// The port whose address generator it is for.
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
