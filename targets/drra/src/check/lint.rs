//! [`lints`]: what is legal but probably a mistake.

use npukit_target::{Lint as Kind, Severity};
use thiserror::Error;

use crate::check::lints::*;
use crate::config::component::Component;
use crate::config::revision::{Revision, Widths};
use crate::isa::op::DpuMode;
use crate::machine::WarningKind;
use crate::machine::fault::FaultKind;

/// A legal instruction that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Lint {
    /// No times.
    #[error("iter=0 repeats nothing; it counts as a single time")]
    NoTimes,
    /// A port that is not there is activated.
    #[error("port {port} of slot {slot} is activated, which has no generator there")]
    NoPort {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
    },
    /// Hardware goes by the port of the last `dsu` or `evt`.
    #[error(
        "this is for port {port}; hardware takes it for port {last}, of the last `dsu` or `evt` of the slot"
    )]
    OtherPort {
        /// As written.
        port: u8,
        /// As opened last.
        last: u8,
    },
    /// Hardware builds these memories with one lane.
    #[error("hardware builds an iosram's ports with one lane: `trans` and a second lane are lost there")]
    Lanes,
    /// Hardware loses repetitions.
    #[error("hardware loses the first level of lane 0 when another lane is opened")]
    SecondLane,
    /// A register that does not exist.
    #[error("{field} is register {register} of 16; it counts modulo 16")]
    Register {
        /// The field.
        field: &'static str,
        /// As written.
        register: u16,
    },
    /// A mode without even a name.
    #[error("dpu mode {} is reserved: it gives 0", .mode.code())]
    Reserved {
        /// The mode.
        mode: DpuMode,
    },
    /// An event of a slot in which nothing is, or of none.
    #[error("`wait` for events names no port that is there: it waits for nothing")]
    NoEvent,
    /// No slot has a port of that number.
    #[error("`act` names port {param} of each slot: there are 0 to 3")]
    PortIndex {
        /// As written.
        param: u8,
    },
    /// A slot without words or rows.
    #[error("slot {slot} has no {what}: nothing comes of this")]
    NothingThere {
        /// The slot.
        slot: u8,
        /// What it lacks.
        what: &'static str,
    },
    /// A port under way is started.
    #[error("in cycle {cycle}: slot {slot}, port {port} is activated while it runs: it goes on as before")]
    Runs {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
        /// When.
        cycle: u64,
    },
    /// It goes wrong, or may go wrong in hardware, because of when it is.
    #[error("in cycle {cycle}: {fault}")]
    InCycle {
        /// When, counted from the cell's first instruction.
        cycle: u64,
        /// What.
        fault: FaultKind,
    },
    /// Bits that the circuit does not keep.
    #[error(
        "the {} keeps {bits} bits of {field}: {field}={value} is {field}={kept} there", .component.name()
    )]
    Narrow {
        /// Whose port it is.
        component: Component,
        /// The field.
        field: &'static str,
        /// As written.
        value: u32,
        /// Bits there are.
        bits: u32,
        /// What is left.
        kept: u32,
    },
    /// A level instead of the high parts.
    #[error("the {} writes `repx` into the next level instead of extending the `rep` before it", .component.name())]
    NextLevel {
        /// Whose port it is.
        component: Component,
    },
    /// High parts that stand elsewhere.
    #[error("the {} takes the fields of `repx` for the bits from {} of iter and {} of delay on", .component.name(), .widths.iter, .widths.delay)]
    HighParts {
        /// Whose port it is.
        component: Component,
        /// Bits of its fields.
        widths: Widths,
    },
    /// A first address that is lost.
    #[error("{} has no first address, and init_addr={base} is 0 there", .component.name())]
    FirstAddress {
        /// Whose port it is.
        component: Component,
        /// As written.
        base: u16,
    },
    /// A step without its sign.
    #[error("addresses of a buffer have more bits than a step, which has no sign there: step={step} is {}", i32::from(*.step) + 128)]
    NegativeStep {
        /// As written.
        step: i8,
    },
    /// A branch that never branches.
    #[error("the sequencer goes on with the next instruction at `brn`")]
    Branch,
    /// Another result.
    #[error("the sequencer computes r{register} = {circuit}, not {text}")]
    Calc {
        /// The register.
        register: usize,
        /// What the text says.
        text: i16,
        /// What the circuit computes.
        circuit: i16,
    },
    /// Other addresses, whatever the reason.
    #[error("in cycle {cycle}: slot {slot}, port {port} gives other addresses than its instructions say")]
    OtherAddresses {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
        /// When it is started.
        cycle: u64,
    },
    /// Instructions that are never executed.
    #[error("{count} instructions from here on are never executed")]
    Unreachable {
        /// How many.
        count: usize,
    },
    /// A port that is set up in vain.
    #[error("port {port} of slot {slot} is configured and never started")]
    Unused {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
    },
    /// What a port writes is read by nobody.
    #[error("nothing of what port {port} of slot {slot} writes is read")]
    Unread {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
    },
    /// A run tells of it.
    #[error("in cycle {cycle}: {told}")]
    Told {
        /// When it first happens.
        cycle: u64,
        /// What.
        told: WarningKind,
    },
    /// `step` of `repx` left to its default.
    #[error("`repx` without `step` has step=1, which adds 128 to the step")]
    DefaultStep,
}

impl Lint {
    /// Whether the released fabric ignores what the seed's text says.
    pub const fn is_ignored(&self) -> bool {
        matches!(self, Self::Branch | Self::FirstAddress { .. })
    }

    /// Whether it is about when, rather than what.
    pub const fn is_in_time(&self) -> bool {
        matches!(
            self,
            Self::Runs { .. } | Self::InCycle { .. } | Self::OtherAddresses { .. } | Self::Calc { .. }
        )
    }

    /// Whether the scheduler of PASM may bring it about, beyond what its operations say.
    pub const fn is_after_scheduling(&self) -> bool {
        self.is_in_time() || matches!(self, Self::Branch)
    }

    /// What kind it is: the same word in every program.
    pub const fn code(&self) -> &'static str {
        self.kind().code
    }

    /// What kind it is, explained.
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
            Self::Told { told: WarningKind::Dropped { .. }, .. } => DROPPED_ROW,
            Self::Told { told: WarningKind::StillRuns { .. }, .. } => STILL_RUNNING,
            Self::Told { .. } => WRAPPED_ADDRESS,
            Self::DefaultStep => DEFAULT_STEP,
        }
    }

    /// Whether the fabric does something else than the instructions say, or nothing at all.
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
