//! [`refusals`]: instructions that a fabric does not execute.
//!
//! All are found before a program runs. Errors that depend on values or time are
//! [`Fault`](crate::machine::fault::Fault)s of the run.

use thiserror::Error;

use crate::config::component::Component;
use crate::config::fabric::{Direction, Fabric, Options, Resource};
use crate::isa::op::{ActMode, DpuMode, Op, ResourceOp, Transfer};
use crate::isa::program::At;

/// Reason why an instruction is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// `wait` for events, which no hardware implements.
    #[error("`wait` for events is unsupported: use mode=cycles, or a fabric with `+seed`")]
    EventWait,
    /// `wait` for events of slots that do not exist.
    #[error("`wait` for events: `cycle` is {mask:#x}; it must be a mask of slots 0 to 15")]
    EventSlots {
        /// Mask as written.
        mask: u32,
    },
    /// The register does not exist.
    #[error("`act` in mode map reads its map starting at register {param}; legal are 0 to 15")]
    ActRegister {
        /// Register as written.
        param: u8,
    },
    /// Fewer than four registers follow.
    #[error("`act` in mode map reads four registers starting at {param}; legal are 1 to 12")]
    ActRegisters {
        /// First register.
        param: u8,
    },
    /// The component in the slot does not take such instructions.
    #[error("slot {slot} belongs to a {} at slot {first}, which does not decode this instruction in that slot", .component.name())]
    Slot {
        /// Slot of the instruction.
        slot: u8,
        /// Component in the slot.
        component: Component,
        /// First slot of the component.
        first: u8,
    },
    /// The port does not exist.
    #[error("slot {slot} ({}) has no port {port}", .component.name())]
    Port {
        /// Slot of the port.
        slot: u8,
        /// Component in the slot.
        component: Component,
        /// Port number.
        port: u8,
    },
    /// An address from a register, which hardware ignores.
    #[error("hardware ignores init_addr_sd=d: it needs `extensions` or a fabric with `+seed`")]
    DynamicAddress,
    /// A mode that no source defines.
    #[error("no source defines dpu mode {}: it needs `extensions` or a fabric with `+seed`", .mode.name())]
    Mode {
        /// Mode as written.
        mode: DpuMode,
    },
    /// A mode that no source names.
    #[error("dpu mode {} is reserved", .mode.code())]
    Reserved {
        /// Mode as written.
        mode: DpuMode,
    },
    /// A direction without wires.
    #[error("direction {code} is not wired; legal are N 1, W 3, C 4, E 5 and S 7, and with `+seed` 0 to 8")]
    Direction {
        /// Direction code.
        code: u8,
    },
    /// The channel differs from the target.
    #[error("channel is {channel}; it must equal the target {target}")]
    Channel {
        /// Channel as written.
        channel: u8,
        /// Target as written.
        target: u8,
    },
}

impl Refusal {
    /// Name of the ISA document's feature that the released fabric ignores, or `None` if no fabric
    /// has it.
    pub(crate) const fn ignored(&self) -> Option<&'static str> {
        match self {
            Self::EventWait => Some("`wait` for events"),
            Self::DynamicAddress => Some("`init_addr` from a register (init_addr_sd=d)"),
            _ => None,
        }
    }
}

/// Returns every instruction that a fabric refuses; `ops` holds the instructions of each cell, in
/// fabric order.
pub fn refusals(fabric: &Fabric, ops: &[Vec<Op>]) -> Vec<(At, Refusal)> {
    let mut found = Vec::new();
    for ((place, cell), ops) in fabric.places().zip(&fabric.cells).zip(ops) {
        for (pc, op) in ops.iter().enumerate() {
            let resource = op.slot().and_then(|slot| cell.resource_at(slot));
            let refusal = refusal(*op, resource, fabric.options);
            found.extend(refusal.map(|refusal| (At { place, pc }, refusal)));
        }
    }
    found
}

/// Returns why a component refuses an instruction, or `None` if it executes it.
pub fn refusal(op: Op, resource: Option<&Resource>, options: Options) -> Option<Refusal> {
    let is_seed = options.revision.is_seed();
    match (op, resource) {
        (Op::Wait { events: true, .. }, _) if !is_seed => Some(Refusal::EventWait),
        (Op::Wait { events: true, cycle: mask }, _) if mask > u16::MAX.into() => {
            Some(Refusal::EventSlots { mask })
        }
        (Op::Act { mode: ActMode::Map, param, .. }, _) if is_seed && param > 15 => {
            Some(Refusal::ActRegister { param })
        }
        (Op::Act { mode: ActMode::Map, param, .. }, _) if !is_seed && !(1..=12).contains(&param) => {
            Some(Refusal::ActRegisters { param })
        }
        (Op::Resource { slot, op }, Some(resource)) => {
            place(slot, op, resource).or_else(|| meaning(op, options))
        }
        _ => None,
    }
}

/// Checks that the component takes the instruction at this slot and port.
fn place(slot: u8, op: ResourceOp, resource: &Resource) -> Option<Refusal> {
    let (component, first) = (resource.component, resource.slot);
    let Some(port) = op.port() else {
        return (slot != first).then_some(Refusal::Slot { slot, component, first });
    };
    let ports = resource.ports();
    if !ports.iter().any(|(of, _, _)| *of == slot) {
        return Some(Refusal::Slot { slot, component, first });
    }
    let exists = ports.iter().any(|(of, known, _)| (*of, *known) == (slot, port));
    (!exists).then_some(Refusal::Port { slot, component, port })
}

fn meaning(op: ResourceOp, options: Options) -> Option<Refusal> {
    let is_seed = options.revision.is_seed();
    let is_wired = |direction: Direction| is_seed || !direction.is_diagonal();
    let unwired = |code: &u8| !Direction::from_code(*code).is_some_and(is_wired);
    match op {
        ResourceOp::Dsu { dynamic: true, .. } if !options.extensions && !is_seed => {
            Some(Refusal::DynamicAddress)
        }
        ResourceOp::Dpu { mode, .. } if mode.is_reserved() && !is_seed => Some(Refusal::Reserved { mode }),
        ResourceOp::Dpu { mode, .. } if !mode.is_defined() && !options.has_modes() => {
            Some(Refusal::Mode { mode })
        }
        ResourceOp::Route { sr: Transfer::Send, target, .. } => {
            let mut sent = (0..16).filter(|code| target >> code & 1 == 1);
            sent.find(unwired).map(|code| Refusal::Direction { code })
        }
        ResourceOp::Route { sr: Transfer::Receive, source: code, .. } if unwired(&code) => {
            Some(Refusal::Direction { code })
        }
        ResourceOp::Swb { channel, target, .. } if channel != target => {
            Some(Refusal::Channel { channel, target })
        }
        _ => None,
    }
}
