//! An operation on a port, before its delays are known: [`Rop`].

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

/// An operation on a port.
#[derive(Clone, Debug)]
pub struct Rop {
    /// As written.
    pub slot: u8,
    /// As written.
    pub port: u8,
    /// What sits in the slot.
    pub component: Component,
    /// The first slot of that.
    pub first_slot: u8,
    /// Of the fabric.
    pub revision: Revision,
    /// Before its start, in order.
    pub settings: Vec<Setting>,
    /// When its events happen; none without events.
    pub pattern: Option<Pattern>,
}

/// An instruction of a rop, before delays are known.
#[derive(Clone, Debug)]
pub enum Setting {
    /// Complete.
    Op(ResourceOp),
    /// A level; its delay may be a variable.
    Rep(Rep, Option<Variable>),
    /// A transition; its delay may be a variable.
    Trans(i64, Option<Variable>),
}

impl Rop {
    /// The table of its instructions.
    pub fn isa(&self) -> &'static Isa {
        Isa::read_by(Options::of(self.revision))
    }
}

/// What an operation means, or the first thing wrong with it.
pub(super) type Resolved<T> = Result<T, PasmError>;

/// What the text of a rop says, for who judges it.
#[derive(Clone, Debug)]
pub struct RopText {
    /// The cell's number.
    pub cell: usize,
    /// As written.
    pub slot: u8,
    /// Its instructions, each with its place in the text; without repetitions.
    pub ops: Vec<(Span, Op)>,
    /// Where `step` of `repx` is left to its default.
    pub default_steps: Vec<Span>,
    /// Where a port is written to which nothing listens.
    pub unheard: Option<Span>,
}
