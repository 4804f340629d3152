//! [`lints`]: what is legal but probably a mistake.

use npukit_base::SortedMap;

use npukit_target::{Lint as Kind, Severity};
use thiserror::Error;

use super::circuit::of_circuit;
use super::timing::lints_in_time;
use crate::check::lints::*;
use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric};
use crate::config::revision::Revision;
use crate::isa::op::{ActMode, DpuMode, Op, ResourceOp, Transfer};
use crate::machine::WarningKind;
use crate::machine::agu::Widths;
use crate::machine::fault::FaultKind;
use crate::program::At;

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

/// The likely mistakes of a program; `ops` are those of the fabric's cells, in its order.
pub fn lints(fabric: &Fabric, ops: &[Vec<Op>]) -> Vec<(At, Lint)> {
    let mut found = Vec::new();
    for ((place, cell), ops) in fabric.places().zip(&fabric.cells).zip(ops) {
        let mut lints = lints_of_text(cell, fabric.options.revision, ops);
        let is_known =
            lints.iter().any(|(_, lint)| lint.severity(fabric.options.revision) == Severity::Error);
        lints.extend(lints_in_time(cell, fabric.options, ops, is_known));
        lints.sort_by_key(|(pc, _)| *pc);
        found.extend(lints.into_iter().map(|(pc, lint)| (At { place, pc }, lint)));
    }
    found
}

/// The likely mistakes in instructions for a cell, whenever they are executed.
pub(crate) fn lints_of_text(cell: &Cell, revision: Revision, ops: &[Op]) -> Vec<(usize, Lint)> {
    let (mut found, mut order) = (Vec::new(), Order::default());
    for (pc, op) in ops.iter().enumerate() {
        // It is about hardware.
        let of_order = if revision.is_seed() { None } else { order.lint(cell, *op) };
        let circuit = if revision.is_released() { of_circuit(cell, *op) } else { Vec::new() };
        let of_text = alone(cell, ops.get(pc + 1), *op).into_iter();
        let of_seed = if revision.is_seed() { of_seed(cell, *op) } else { None };
        found.extend(of_text.chain(of_seed).chain(circuit).chain(of_order).map(|lint| (pc, lint)));
    }
    found
}

/// What can be said of an instruction and the next.
fn alone(cell: &Cell, next: Option<&Op>, op: Op) -> Option<Lint> {
    match op {
        Op::Act { mode: ActMode::Contiguous, ports, param } => {
            let ports = (0..16).filter(|port| ports >> port & 1 == 1);
            let mut raised = ports.map(|port| (param.saturating_add(port / 4), port % 4));
            let (slot, port) = raised.find(|(slot, port)| !has_port(cell, *slot, *port))?;
            Some(Lint::NoPort { slot, port })
        }
        Op::Calc { dynamic: true, operand2, .. } if operand2 > 15 => {
            Some(Lint::Register { field: "operand2", register: operand2.into() })
        }
        Op::Resource { op: ResourceOp::Dsu { dynamic: true, base, .. }, .. } if base > 15 => {
            Some(Lint::Register { field: "init_addr", register: base })
        }
        Op::Resource { slot, op: ResourceOp::Rep { iter: 0, .. } } => {
            let extended = |next: &Op| match *next {
                Op::Resource { slot: other, op: ResourceOp::Repx { iter, .. } } => other == slot && iter != 0,
                _ => false,
            };
            (!next.is_some_and(extended)).then_some(Lint::NoTimes)
        }
        Op::Resource { op: ResourceOp::Swb { source, target, .. }, .. } => {
            let lacks = |slot: u8| match cell.resource_at(slot) {
                Some(part) => !matches!(part.component, Component::Rf | Component::Dpu),
                None => true,
            };
            let slot = [source, target].into_iter().find(|slot| lacks(*slot))?;
            Some(Lint::NothingThere { slot, what: "words" })
        }
        Op::Resource { op: ResourceOp::Route { sr: Transfer::Send, source, .. }, .. } => {
            no_rows(cell, 1 << source)
        }
        Op::Resource { op: ResourceOp::Route { sr: Transfer::Receive, target, .. }, .. } => {
            no_rows(cell, target)
        }
        _ => None,
    }
}

/// What the seed's text allows and is probably a mistake.
fn of_seed(cell: &Cell, op: Op) -> Option<Lint> {
    match op {
        Op::Act { mode: ActMode::PortIndex, param, .. } if param > 3 => Some(Lint::PortIndex { param }),
        Op::Wait { events: true, cycle: slots } => {
            let is_there = |slot: &u8| cell.resource_at(*slot).is_some();
            let mut named = (0..16_u8).filter(|slot| slots >> slot & 1 == 1);
            (!named.any(|slot| is_there(&slot))).then_some(Lint::NoEvent)
        }
        Op::Resource { op: ResourceOp::Dpu { mode, .. }, .. } if mode.is_reserved() => {
            Some(Lint::Reserved { mode })
        }
        _ => None,
    }
}

fn has_port(cell: &Cell, slot: u8, port: u8) -> bool {
    let parts = cell.resources.iter().flat_map(|part| part.ports());
    parts.into_iter().any(|(of, known, _)| (of, known) == (slot, port))
}

fn no_rows(cell: &Cell, slots: u16) -> Option<Lint> {
    let has = |slot: u8| cell.resources.iter().any(|part| part.bulk_slot() == Some(slot));
    let slot = (0..16).find(|slot| slots >> slot & 1 == 1 && !has(*slot))?;
    Some(Lint::NothingThere { slot, what: "bulk rows" })
}

/// What was opened last, in the order of the program.
#[derive(Default)]
struct Order {
    last: SortedMap<u8, u8>,
    lanes: SortedMap<(u8, u8), usize>,
}

impl Order {
    fn lint(&mut self, cell: &Cell, op: Op) -> Option<Lint> {
        match op {
            // The ports start: what is opened next is for the next time.
            Op::Act { .. } => {
                self.lanes.clear();
                None
            }
            Op::Resource { slot, op } => self.resource(cell, slot, op),
            _ => None,
        }
    }

    fn resource(&mut self, cell: &Cell, slot: u8, op: ResourceOp) -> Option<Lint> {
        let (port, component) = (op.port()?, cell.component_at(slot)?);
        if matches!(op, ResourceOp::Evt { .. } | ResourceOp::Dsu { .. }) {
            self.last.insert(slot, port);
            let lanes = self.lanes.entry((slot, port)).or_insert(0);
            *lanes += 1;
            let several = *lanes == 2;
            let lint = if component.is_iosram() { Lint::Lanes } else { Lint::SecondLane };
            return several.then_some(lint);
        }
        if component.is_iosram() && matches!(op, ResourceOp::Trans { .. }) {
            return Some(Lint::Lanes);
        }
        let last = self.last.get(&slot).copied().filter(|last| *last != port)?;
        (component != Component::Swb && component != Component::Rf).then_some(Lint::OtherPort { port, last })
    }
}
