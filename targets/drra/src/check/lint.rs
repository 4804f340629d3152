//! [`lints`]: instructions that are legal but probably a mistake.

use npukit_target::{Lint as Kind, Severity};
use thiserror::Error;

use crate::check::lints::*;
use crate::config::component::Component;
use crate::config::revision::{Revision, Widths};
use crate::isa::op::DpuMode;
use crate::machine::WarningKind;
use crate::machine::fault::FaultKind;

/// Legal instruction that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Lint {
    /// A repetition of 0 times.
    #[error("iter=0 does not repeat: the instruction runs once")]
    NoTimes,
    /// `act` names a port that does not exist.
    #[error("port {port} of slot {slot} is activated, but has no address generator")]
    NoPort {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
    },
    /// Hardware uses the port of the last `dsu` or `evt` instead of the named one.
    #[error(
        "this names port {port}; hardware applies it to port {last}, of the last `dsu` or `evt` of the slot"
    )]
    OtherPort {
        /// Port as written.
        port: u8,
        /// Port that was opened last.
        last: u8,
    },
    /// The ports of these memories have only one lane in hardware.
    #[error("ports of an iosram have one lane in hardware: `trans` and a second lane are lost")]
    Lanes,
    /// Hardware loses the first repetition level.
    #[error("hardware loses the first level of lane 0 when another lane is opened")]
    SecondLane,
    /// A register does not exist.
    #[error("{field} is register {register} of 16; the number is taken modulo 16")]
    Register {
        /// Field that names the register.
        field: &'static str,
        /// Register number as written.
        register: u16,
    },
    /// A dpu mode that no source names.
    #[error("dpu mode {} is reserved: its result is 0", .mode.code())]
    Reserved {
        /// Reserved mode.
        mode: DpuMode,
    },
    /// `wait` for events names only empty slots, or no slot.
    #[error("`wait` for events names no existing port: it ends at once")]
    NoEvent,
    /// No slot has a port with that number.
    #[error("`act` names port {param} of each slot: legal are 0 to 3")]
    PortIndex {
        /// Port number as written.
        param: u8,
    },
    /// The slot has no words, or no rows.
    #[error("slot {slot} has no {what}: this has no effect")]
    NothingThere {
        /// Empty slot, or slot of another kind.
        slot: u8,
        /// Kind of data that the slot lacks.
        what: &'static str,
    },
    /// A port is started while it is active.
    #[error(
        "in cycle {cycle}: slot {slot}, port {port} is activated while it runs: the second start is lost"
    )]
    Runs {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
        /// Cycle of the second start.
        cycle: u64,
    },
    /// The instruction faults, or may fault in hardware, because of its cycle.
    #[error("in cycle {cycle}: {fault}")]
    InCycle {
        /// Cycle, counted from the cell's first instruction.
        cycle: u64,
        /// Kind of fault.
        fault: FaultKind,
    },
    /// The circuit keeps fewer bits of a field.
    #[error(
        "the {} keeps {bits} bits of {field}: {field}={value} becomes {field}={kept}", .component.name()
    )]
    Narrow {
        /// Component of the port.
        component: Component,
        /// Truncated field.
        field: &'static str,
        /// Value as written.
        value: u32,
        /// Number of bits that the circuit keeps.
        bits: u32,
        /// Value that the circuit keeps.
        kept: u32,
    },
    /// `repx` fills the next level instead of extending the `rep` before it.
    #[error("the {} writes `repx` into the next level instead of extending the `rep` before it", .component.name())]
    NextLevel {
        /// Component of the port.
        component: Component,
    },
    /// The circuit places the high parts of `repx` at other bits.
    #[error("the {} places the fields of `repx` at bit {} of iter and bit {} of delay", .component.name(), .widths.iter, .widths.delay)]
    HighParts {
        /// Component of the port.
        component: Component,
        /// Widths of the component's fields.
        widths: Widths,
    },
    /// The first address is ignored.
    #[error("{} has no first address: init_addr={base} is taken as 0", .component.name())]
    FirstAddress {
        /// Component of the port.
        component: Component,
        /// First address as written.
        base: u16,
    },
    /// A negative step loses its sign.
    #[error("buffer addresses are wider than a step, which is not sign-extended: step={step} is taken as {}", i32::from(*.step) + 128)]
    NegativeStep {
        /// Step as written.
        step: i8,
    },
    /// The sequencer ignores the branch.
    #[error("the sequencer ignores `brn` and continues with the next instruction")]
    Branch,
    /// The sequencer computes another result.
    #[error("the sequencer computes r{register} = {circuit}, not {text}")]
    Calc {
        /// Result register.
        register: usize,
        /// Result according to the ISA document.
        text: i16,
        /// Result that the circuit computes.
        circuit: i16,
    },
    /// The port gives other addresses, for a reason that no other lint names.
    #[error("in cycle {cycle}: slot {slot}, port {port} gives addresses that differ from its instructions")]
    OtherAddresses {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
        /// Cycle in which the port is started.
        cycle: u64,
    },
    /// Instructions that are never executed.
    #[error("{count} instructions starting here are never executed")]
    Unreachable {
        /// Number of instructions.
        count: usize,
    },
    /// A port that is configured and never started.
    #[error("port {port} of slot {slot} is configured and never started")]
    Unused {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
    },
    /// No instruction reads the words that the port writes.
    #[error("the words that port {port} of slot {slot} writes are never read")]
    Unread {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
    },
    /// Warning of a run of the program.
    #[error("in cycle {cycle}: {warning}")]
    Warning {
        /// Cycle of the first occurrence.
        cycle: u64,
        /// Warning of the machine.
        warning: WarningKind,
    },
    /// `step` of `repx` is left to its default.
    #[error("`repx` without `step` has step=1, which adds 128 to the step")]
    DefaultStep,
}

impl Lint {
    /// Whether the released fabric ignores this instruction of the ISA document.
    pub const fn is_ignored(&self) -> bool {
        matches!(self, Self::Branch | Self::FirstAddress { .. })
    }

    /// Whether the lint is about timing.
    pub const fn is_in_time(&self) -> bool {
        matches!(
            self,
            Self::Runs { .. } | Self::InCycle { .. } | Self::OtherAddresses { .. } | Self::Calc { .. }
        )
    }

    /// Whether the PASM scheduler may cause the finding although the operations are correct.
    pub const fn is_after_scheduling(&self) -> bool {
        self.is_in_time() || matches!(self, Self::Branch)
    }

    /// Lint name, the same in every program.
    pub const fn code(&self) -> &'static str {
        self.kind().code
    }

    /// Lint kind, with its explanation.
    pub(crate) const fn kind(&self) -> &'static Kind {
        match self {
            Self::NoTimes => NO_TIMES,
            Self::NoPort { .. } => NO_PORT,
            Self::OtherPort { .. } => OTHER_PORT,
            Self::Lanes => LOST_LANE,
            Self::SecondLane => SECOND_LANE,
            Self::Register { .. } => NO_REGISTER,
            Self::Reserved { .. } => RESERVED_MODE,
            Self::NoEvent => NO_EVENT,
            Self::PortIndex { .. } => NO_PORT,
            Self::NothingThere { .. } => NOTHING_THERE,
            Self::Runs { .. } => STARTED_WHILE_RUNNING,
            Self::InCycle { fault: FaultKind::Early { .. }, .. } => EARLY_CONFIGURATION,
            Self::InCycle { fault: FaultKind::Busy { .. }, .. } => CONFIGURED_WHILE_RUNNING,
            Self::InCycle { fault, .. } if fault.is_unwritten() => UNWRITTEN_READ,
            Self::InCycle { .. } => FAULTS,
            Self::Narrow { .. } => NARROW_FIELD,
            Self::NextLevel { .. } => NEXT_LEVEL,
            Self::HighParts { .. } => HIGH_PARTS,
            Self::FirstAddress { .. } => FIRST_ADDRESS,
            Self::NegativeStep { .. } => NEGATIVE_STEP,
            Self::Branch => NO_BRANCH,
            Self::Calc { .. } => OTHER_RESULT,
            Self::OtherAddresses { .. } => OTHER_ADDRESSES,
            Self::Unreachable { .. } => UNREACHABLE,
            Self::Unused { .. } => UNUSED_CONFIGURATION,
            Self::Unread { .. } => UNREAD_RESULT,
            Self::Warning { warning: WarningKind::Dropped { .. }, .. } => DROPPED_ROW,
            Self::Warning { warning: WarningKind::StillRuns { .. }, .. } => STILL_RUNNING,
            Self::Warning { .. } => WRAPPED_ADDRESS,
            Self::DefaultStep => DEFAULT_STEP,
        }
    }

    /// Severity on a fabric of this revision: error if the fabric deviates from the instruction or
    /// ignores it.
    pub const fn severity(&self, revision: Revision) -> Severity {
        let is_error = match self {
            Self::Narrow { .. }
            | Self::NextLevel { .. }
            | Self::HighParts { .. }
            | Self::FirstAddress { .. }
            | Self::NegativeStep { .. }
            | Self::Branch
            | Self::Calc { .. }
            | Self::OtherAddresses { .. } => true,
            Self::OtherPort { .. } | Self::Lanes | Self::SecondLane => revision.is_released(),
            Self::InCycle { fault: FaultKind::Early { .. }, .. } => {
                !matches!(revision, Revision::Text | Revision::Seed)
            }
            Self::InCycle { fault, .. } => !fault.is_unwritten(),
            _ => false,
        };
        if is_error { Severity::Error } else { Severity::Warning }
    }
}
