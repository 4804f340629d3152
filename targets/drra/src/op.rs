//! Typed instructions: [`Op`]. The simulator, the checks and the scheduler use these instead of fields.
//!
//! An [`Op`] is made of an [`Instruction`] by [`Op::new`]; [`Op::instruction`] goes back.

mod fields;
mod mode;

use thiserror::Error;

use crate::component::Component;
use crate::fabric::Cell;
use crate::isa::Instruction;
use fields::Fields;
pub use mode::{ActMode, CalcMode, DpuMode};

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
        /// Constant of some modes.
        immediate: i16,
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
    /// swb: the directions that the bulk rows of slot `source` leave in.
    Send {
        /// Which of the four tables.
        option: u8,
        /// Slot.
        source: u8,
        /// Directions, a bit each.
        directions: u16,
    },
    /// swb: the slots that take the bulk rows from direction `source`.
    Receive {
        /// Which of the four tables.
        option: u8,
        /// Direction.
        source: u8,
        /// Slots, a bit each.
        slots: u16,
    },
    /// `dsu` and `evt`: opens a lane of `port` at address `base`.
    Open {
        /// Port of the slot.
        port: u8,
        /// `option` of `dsu`, which nothing reads.
        option: u8,
        /// Whether `base` names a scalar register.
        dynamic: bool,
        /// First address; 0 with `evt`.
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

/// An instruction whose mode has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{instruction} has no mode {mode}")]
pub struct ModeError {
    /// The instruction.
    pub instruction: &'static str,
    /// The mode.
    pub mode: u32,
}

impl Op {
    /// What an instruction means. Errors: a mode without meaning.
    pub fn new(instruction: &Instruction) -> Result<Self, ModeError> {
        let fields = Fields::new(instruction);
        let mode_error = || ModeError { instruction: fields.name(), mode: fields.get("mode") };
        Ok(match fields.name() {
            "halt" => Self::Halt,
            "wait" => Self::Wait { events: fields.get("mode") == 1, cycle: fields.get("cycle") },
            "act" => Self::Act {
                mode: ActMode::from_code(fields.get("mode")).ok_or_else(mode_error)?,
                ports: fields.get("ports") as u16,
                param: fields.get("param") as u8,
            },
            "calc" => Self::Calc {
                mode: CalcMode::from_code(fields.get("mode")).ok_or_else(mode_error)?,
                operand1: fields.get("operand1") as u8,
                dynamic: fields.get("operand2_sd") == 1,
                operand2: fields.get("operand2") as u8,
                result: fields.get("result") as u8,
            },
            "brn" => Self::Brn {
                reg: fields.get("reg") as u8,
                target_true: fields.signed("target_true") as i16,
                target_false: fields.signed("target_false") as i16,
            },
            _ => Self::Resource {
                slot: instruction.slot,
                op: ResourceOp::new(&fields).ok_or_else(mode_error)?,
            },
        })
    }

    /// The instruction of a component that means this; none when the component has no such instruction.
    pub fn instruction(&self, component: Component) -> Option<Instruction> {
        let (name, slot) = (self.name(component), self.slot().unwrap_or(0));
        let values: Vec<(&str, i64)> = match *self {
            Self::Halt => vec![],
            Self::Wait { events, cycle } => vec![("mode", events.into()), ("cycle", cycle.into())],
            Self::Act { mode, ports, param } => {
                vec![("mode", mode.code().into()), ("ports", ports.into()), ("param", param.into())]
            }
            Self::Calc { mode, operand1, dynamic, operand2, result } => vec![
                ("mode", mode.code().into()),
                ("operand1", operand1.into()),
                ("operand2_sd", dynamic.into()),
                ("operand2", operand2.into()),
                ("result", result.into()),
            ],
            Self::Brn { reg, target_true, target_false } => vec![
                ("reg", reg.into()),
                ("target_true", target_true.into()),
                ("target_false", target_false.into()),
            ],
            Self::Resource { op, .. } => op.values(component),
        };
        fields::instruction(component, name, slot, &values)
    }

    /// Its mnemonic, at a component of this kind.
    pub const fn name(&self, component: Component) -> &'static str {
        match self {
            Self::Halt => "halt",
            Self::Wait { .. } => "wait",
            Self::Act { .. } => "act",
            Self::Calc { .. } => "calc",
            Self::Brn { .. } => "brn",
            Self::Resource { op, .. } => op.name(component),
        }
    }

    /// Its mnemonic in a cell.
    pub fn name_in(&self, cell: &Cell) -> &'static str {
        let component = self.slot().and_then(|slot| cell.component_at(slot));
        self.name(component.unwrap_or(Component::Sequencer))
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
    fn new(fields: &Fields<'_>) -> Option<Self> {
        let byte = |name| fields.get(name) as u8;
        let port = byte("port");
        Some(match fields.name() {
            "dpu" => Self::Dpu {
                config: byte("config"),
                mode: DpuMode::from_code(fields.get("mode"))?,
                immediate: fields.get("immediate") as u16 as i16,
            },
            "swb" => Self::Swb {
                option: byte("option"),
                channel: byte("channel"),
                source: byte("source"),
                target: byte("target"),
            },
            "route" => {
                let (option, source, mask) = (byte("option"), byte("source"), fields.get("target") as u16);
                if byte("sr") == 0 {
                    Self::Send { option, source, directions: mask }
                } else {
                    Self::Receive { option, source, slots: mask }
                }
            }
            "evt" => Self::Open { port, option: 0, dynamic: false, base: 0 },
            "dsu" => Self::Open {
                port,
                option: byte("option"),
                dynamic: byte("init_addr_sd") == 1,
                base: fields.get("init_addr") as u16,
            },
            "rep" => Self::Rep {
                port,
                iter: byte("iter"),
                step: fields.signed("step") as i8,
                delay: byte("delay"),
            },
            "repx" => Self::Repx { port, iter: byte("iter"), step: byte("step"), delay: byte("delay") },
            "trans" => Self::Trans { port, delay: fields.get("delay") },
            _ => return None,
        })
    }

    fn values(&self, component: Component) -> Vec<(&'static str, i64)> {
        match *self {
            Self::Dpu { config, mode, immediate } => vec![
                ("config", config.into()),
                ("mode", mode.code().into()),
                ("immediate", (immediate as u16).into()),
            ],
            Self::Swb { option, channel, source, target } => vec![
                ("option", option.into()),
                ("channel", channel.into()),
                ("source", source.into()),
                ("target", target.into()),
            ],
            Self::Send { option, source, directions: mask } => route(option, 0, source, mask),
            Self::Receive { option, source, slots: mask } => route(option, 1, source, mask),
            Self::Open { port, .. } if !has_addresses(component) => vec![("port", port.into())],
            Self::Open { port, option, dynamic, base } => vec![
                ("port", port.into()),
                ("option", option.into()),
                ("init_addr_sd", dynamic.into()),
                ("init_addr", base.into()),
            ],
            Self::Rep { port, iter, step, delay } => rep(port, iter, step.into(), delay),
            Self::Repx { port, iter, step, delay } => rep(port, iter, step.into(), delay),
            Self::Trans { port, delay } => vec![("port", port.into()), ("delay", delay.into())],
        }
    }

    /// Its mnemonic, at a component of this kind.
    pub const fn name(&self, component: Component) -> &'static str {
        match self {
            Self::Dpu { .. } => "dpu",
            Self::Swb { .. } => "swb",
            Self::Send { .. } | Self::Receive { .. } => "route",
            Self::Open { .. } if has_addresses(component) => "dsu",
            Self::Open { .. } => "evt",
            Self::Rep { .. } => "rep",
            Self::Repx { .. } => "repx",
            Self::Trans { .. } => "trans",
        }
    }

    /// The port whose address generator it is for.
    pub const fn port(&self) -> Option<u8> {
        match self {
            Self::Open { port, .. }
            | Self::Rep { port, .. }
            | Self::Repx { port, .. }
            | Self::Trans { port, .. } => Some(*port),
            _ => None,
        }
    }
}

/// Whether lanes of this component open at an address (`dsu`) rather than at 0 (`evt`).
const fn has_addresses(component: Component) -> bool {
    matches!(component, Component::Rf) || component.is_iosram()
}

fn route(option: u8, direction: i64, source: u8, mask: u16) -> Vec<(&'static str, i64)> {
    vec![("option", option.into()), ("sr", direction), ("source", source.into()), ("target", mask.into())]
}

fn rep(port: u8, iter: u8, step: i64, delay: u8) -> Vec<(&'static str, i64)> {
    vec![("port", port.into()), ("iter", iter.into()), ("step", step), ("delay", delay.into())]
}
