//! [`mistakes`]: errors and likely mistakes in the text of a PASM program.

use std::fmt;

use npukit_base::Span;
use npukit_target::Lint as Kind;

use crate::check::Lint;
use crate::check::lints::REFUSED;
use crate::check::text::lints_of_text;
use crate::config::fabric::Fabric;
use crate::isa::op::Op;
use crate::isa::pasm::epoch::RopText;
use crate::isa::refusal::refusal;

/// Error or likely mistake in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Lint kind, if the linter reports the mistake as well.
    pub kind: Option<&'static Kind>,
    /// Message for the user.
    pub message: String,
}

impl Mistake {
    /// Creates a mistake of a lint kind.
    pub fn new(kind: &'static Kind, error: impl ToString) -> Self {
        Self { kind: Some(kind), message: error.to_string() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.kind.map_or(Ok(()), |kind| write!(f, " [{}]", kind.code))
    }
}

/// Returns the errors and likely mistakes of a program, each with its span in the text.
pub fn mistakes(fabric: &Fabric, texts: &[RopText]) -> Vec<(Span, Mistake)> {
    texts.iter().flat_map(|text| of_rop(fabric, text)).collect()
}

fn of_rop(fabric: &Fabric, text: &RopText) -> Vec<(Span, Mistake)> {
    let (cell, options) = (&fabric.cells[text.cell], fabric.options);
    let resource = cell.resource_at(text.slot);
    let refused = text
        .ops
        .iter()
        .filter_map(|(span, op)| Some((*span, Mistake::new(REFUSED, refusal(*op, resource, options)?))));
    let ops: Vec<Op> = text.ops.iter().map(|(_, op)| *op).collect();
    let coded = |lint: &Lint| Mistake::new(lint.kind(), lint);
    let lints = lints_of_text(cell, options.revision, &ops)
        .into_iter()
        .filter_map(|(index, lint)| Some((text.ops.get(index)?.0, coded(&lint))));
    let steps = text.default_steps.iter().map(|span| (*span, coded(&Lint::DefaultStep)));
    let mut found: Vec<(Span, Mistake)> = refused.chain(lints).chain(steps).collect();
    found.sort_by_key(|(span, _)| span.start);
    if let Some(span) = text.unheard {
        let message = "port 2 of a swb has no effect; routes are on port 1".to_owned();
        found.insert(0, (span, Mistake { kind: None, message }));
    }
    found
}
