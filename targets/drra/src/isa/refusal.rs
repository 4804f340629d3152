//! What an instruction may not do on a fabric: [`refusals`].
//!
//! They are found before a program runs, all at once. What depends on values or time is a
//! [`Fault`](crate::machine::fault::Fault) of the run.

use thiserror::Error;

use crate::config::component::Component;
use crate::config::fabric::{Direction, Fabric, Options, Resource};
use crate::isa::op::{ActMode, DpuMode, Op, ResourceOp, Transfer};
use crate::isa::program::At;

/// Why an instruction is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Waits for events, which nobody implements.
    #[error("`wait` for events is not implemented: use mode=cycles, or a fabric with `+seed`")]
    EventWait,
    /// Waits for events of what is no slot.
    #[error("`wait` for events: there are slots 0 to 15, and `cycle` is {mask:#x}")]
    EventSlots {
        /// As written.
        mask: u32,
    },
    /// The register is not there.
    #[error("`act` in mode map reads its map from register {param} on: legal are 0 to 15")]
    ActRegister {
        /// As written.
        param: u8,
    },
    /// Four registers from here are not there.
    #[error("`act` in mode map reads four registers from {param}: legal are 1 to 12")]
    ActRegisters {
        /// The first.
        param: u8,
    },
    /// A slot of a component that takes no such instructions.
    #[error("slot {slot} belongs to a {} at slot {first}, which does not decode this there", .component.name())]
    Slot {
        /// The slot.
        slot: u8,
        /// The component.
        component: Component,
        /// Its first slot.
        first: u8,
    },
    /// A port that is not there.
    #[error("slot {slot} ({}) has no port {port}", .component.name())]
    Port {
        /// The slot.
        slot: u8,
        /// The component.
        component: Component,
        /// The port.
        port: u8,
    },
    /// An address from a register, which hardware ignores.
    #[error(
        "init_addr_sd=d is decoded and ignored by hardware: it needs `extensions` or a fabric with `+seed`"
    )]
    DynamicAddress,
    /// A mode no source defines.
    #[error("dpu mode {} is defined by no source: it needs `extensions` or a fabric with `+seed`", .mode.name())]
    Mode {
        /// The mode.
        mode: DpuMode,
    },
    /// A mode without even a name.
    #[error("dpu mode {} is reserved", .mode.code())]
    Reserved {
        /// The mode.
        mode: DpuMode,
    },
    /// A direction that is not wired.
    #[error(
        "direction {code} is not wired: there are N 1, W 3, C 4, E 5 and S 7, and with `+seed` all from 0 to 8"
    )]
    Direction {
        /// Its code.
        code: u8,
    },
    /// A channel that is not the target.
    #[error("channel {channel} is not the target {target}")]
    Channel {
        /// As written.
        channel: u8,
        /// As written.
        target: u8,
    },
}

impl Refusal {
    /// What of the seed's text it is that the released fabric ignores; none of what no fabric has, or no other way.
    pub(crate) const fn ignored(&self) -> Option<&'static str> {
        match self {
            Self::EventWait => Some("`wait` for events"),
            Self::DynamicAddress => Some("`init_addr` from a register (init_addr_sd=d)"),
            _ => None,
        }
    }
}

/// Every instruction that a fabric refuses; `ops` are those of its cells, in its order.
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

/// Why an instruction is refused at a component; none when it is not.
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

/// Whether the component takes it at this slot and port.
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
