//! [`Rop`]: an operation on a port, before its delays are known.

use npukit_base::Span;

use crate::config::component::Component;
use crate::config::fabric::Options;
use crate::config::revision::Revision;
use crate::isa::Isa;
use crate::isa::op::{Op, ResourceOp};
use crate::isa::pasm::PasmError;
use crate::isa::pasm::epoch::rep::Rep;
use crate::isa::pasm::pattern::Pattern;
use crate::isa::pasm::schedule::Variable;

/// Operation on a port.
#[derive(Clone, Debug)]
pub struct Rop {
    /// Slot as written.
    pub slot: u8,
    /// Port as written.
    pub port: u8,
    /// Component in the slot.
    pub component: Component,
    /// First slot of the component.
    pub first_slot: u8,
    /// Revision of the fabric.
    pub revision: Revision,
    /// Instructions before its start, in order.
    pub settings: Vec<Setting>,
    /// Timing of its events; `None` without events.
    pub pattern: Option<Pattern>,
}

/// Instruction of a rop, before delays are known.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A complete instruction.
    Op(ResourceOp),
    /// Level with a delay that may be a variable.
    Rep(Rep, Option<Variable>),
    /// Transition with a delay that may be a variable.
    Trans(i64, Option<Variable>),
}

impl Rop {
    /// Instruction table of the fabric.
    pub fn isa(&self) -> &'static Isa {
        Isa::read_by(Options::of(self.revision))
    }
}

/// Resolved value, or the first error.
pub(super) type Resolved<T> = Result<T, PasmError>;

/// Content of a rop, for checks of the text.
#[derive(Clone, Debug)]
pub struct RopText {
    /// Index of the cell.
    pub cell: usize,
    /// Slot as written.
    pub slot: u8,
    /// Instructions with their spans, without repetitions.
    pub ops: Vec<(Span, Op)>,
    /// Spans of `repx` instructions with the default `step`.
    pub default_steps: Vec<Span>,
    /// Span of a port number that has no effect.
    pub unheard: Option<Span>,
}
