//! Constraints of an epoch: checks their names and converts them to sums.

use std::collections::BTreeMap;

use npukit_asm::source_span;
use npukit_base::closest;

use super::Epoch;
use super::fault::rule;
use super::operation::{Action, Operation};
use crate::isa::pasm::PasmError;
use crate::isa::pasm::ast;
use crate::isa::pasm::constraint::{Condition, Reference, Relation, Sum, Term};
use crate::isa::pasm::schedule::linear::{Linear, Variable};
use crate::isa::pasm::schedule::{Alternatives, Constraint};

/// Maximum number of alternatives of one constraint.
const MAX_ALTERNATIVES: usize = 64;

/// Returns errors for duplicate names, and for unknown names in constraints.
pub fn check_names(epoch: &ast::Epoch, variables: &[String]) -> Vec<PasmError> {
    let mut names: BTreeMap<&str, &ast::Name> = BTreeMap::new();
    let mut errors = Vec::new();
    for name in epoch.operations.iter().filter_map(|operation| operation.name.as_ref()) {
        if let Some(first) = names.insert(&name.text, name) {
            let (first, second) = (source_span(first.span), source_span(name.span));
            errors.push(PasmError::Twice { what: "operations", name: name.text.clone(), first, second });
        }
        if variables.contains(&name.text) {
            let reason = format!("`{}` is both an operation and a variable", name.text);
            errors.push(rule(&reason, name.span, "rename one of them"));
        }
    }
    for constraint in &epoch.constraints {
        visit(&constraint.condition, &mut |reference| {
            let known = || names.keys().copied().chain(variables.iter().map(String::as_str));
            if !known().any(|name| name == reference.name) {
                errors.push(unknown(reference, known()));
            }
        });
    }
    errors
}

fn unknown<'a>(reference: &Reference, known: impl Iterator<Item = &'a str> + Clone) -> PasmError {
    let help = match closest(&reference.name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", known.collect::<Vec<_>>().join(", ")),
    };
    let span = source_span(reference.span);
    PasmError::Unknown { what: "operation or variable", found: reference.name.clone(), span, help }
}

fn visit(condition: &Condition, look: &mut impl FnMut(&Reference)) {
    match condition {
        Condition::All(list) | Condition::Any(list) => list.iter().for_each(|one| visit(one, look)),
        Condition::Compare(left, _, right) => {
            for (_, term) in left.0.iter().chain(&right.0) {
                if let Term::Name(reference) = term {
                    look(reference);
                }
            }
        }
    }
}

/// Converts the constraints of an epoch to sums over the variables of its problem: `starts` of the
/// operations, and `free` variables in the epoch's order.
///
/// # Errors
///
/// The first unknown name, or two operations with one name.
pub fn constraints(
    epoch: &Epoch,
    starts: &[Variable],
    free: &[Variable],
) -> Result<Vec<Constraint>, PasmError> {
    let names = Names { epoch, starts, free };
    let one = |constraint: &ast::Constraint| {
        let any = names.alternatives(&constraint.condition)?;
        let few = any.len() <= MAX_ALTERNATIVES;
        let reason = format!("it has more than {MAX_ALTERNATIVES} alternatives");
        few.then_some(Constraint { any }).ok_or_else(|| rule(&reason, constraint.span, "split it up"))
    };
    epoch.constraints.iter().map(one).collect()
}

struct Names<'a> {
    epoch: &'a Epoch,
    starts: &'a [Variable],
    free: &'a [Variable],
}

impl Names<'_> {
    fn alternatives(&self, condition: &Condition) -> Result<Alternatives, PasmError> {
        match condition {
            Condition::Any(list) => {
                let lists = list.iter().map(|one| self.alternatives(one)).collect::<Result<Vec<_>, _>>()?;
                Ok(lists.concat())
            }
            Condition::All(list) => list.iter().try_fold(vec![Vec::new()], |before, one| {
                let next = self.alternatives(one)?;
                let pairs =
                    before.iter().flat_map(|a: &Vec<Linear>| next.iter().map(move |b| [&a[..], b].concat()));
                // To refuse too many alternatives, one more than the limit is enough.
                Ok(pairs.take(MAX_ALTERNATIVES + 1).collect())
            }),
            Condition::Compare(left, relation, right) => {
                Ok(compare(&self.sum(left)?.plus(-1, &self.sum(right)?), *relation))
            }
        }
    }

    fn sum(&self, Sum(terms): &Sum) -> Result<Linear, PasmError> {
        terms.iter().try_fold(Linear::default(), |sum, (factor, term)| match term {
            Term::One => Ok(sum.offset(*factor)),
            Term::Name(reference) => Ok(sum.plus(*factor, &self.reference(reference)?)),
        })
    }

    /// Returns the cycle that a name, possibly with an event, refers to.
    fn reference(&self, reference: &Reference) -> Result<Linear, PasmError> {
        let named = |operation: &Operation| operation.name == reference.name;
        if let Some(index) = self.epoch.operations.iter().position(named) {
            let start = self.starts.get(index).copied().map_or_else(Linear::default, Linear::from);
            let event = self.event(index, reference)?;
            return Ok(start.plus(1, &event));
        }
        let index = self.epoch.variables.iter().position(|name| *name == reference.name);
        match (index.and_then(|index| self.free.get(index)), &reference.event) {
            (Some(variable), None) => Ok((*variable).into()),
            _ => Err(rule(
                &format!("`{}` has no events", reference.name),
                reference.span,
                "leave out what follows its name",
            )),
        }
    }

    /// Returns the distance of an event from the start of its operation.
    fn event(&self, index: usize, reference: &Reference) -> Result<Linear, PasmError> {
        let Some((lane, indices)) = &reference.event else { return Ok(Linear::default()) };
        let pattern = self.epoch.operations.get(index).and_then(|operation| match &operation.action {
            Action::Rop(rop) => rop.pattern.as_ref(),
            Action::Cop(..) => None,
        });
        let Some(pattern) = pattern else {
            let is_first = *lane == 0 && indices.is_empty();
            let reason = format!("`{}` has no events", reference.name);
            return is_first
                .then(Linear::default)
                .ok_or_else(|| rule(&reason, reference.span, "write its name alone"));
        };
        pattern.event(*lane, indices).ok_or_else(|| {
            let help = match pattern.levels(*lane) {
                Some(levels) => {
                    format!("it repeats {levels:?} times, outermost first; indices start at 0")
                }
                None => "its lanes are e0, e1 and so on, in opening order".to_owned(),
            };
            rule(&format!("`{}` has no event e{lane}{indices:?}", reference.name), reference.span, &help)
        })
    }
}

/// Returns the alternatives of a comparison of `difference` with 0.
fn compare(difference: &Linear, relation: Relation) -> Alternatives {
    let (below, above) = (difference.clone(), difference.times(-1));
    match relation {
        Relation::LessOrEqual => vec![vec![below]],
        Relation::GreaterOrEqual => vec![vec![above]],
        Relation::Less => vec![vec![below.offset(1)]],
        Relation::Greater => vec![vec![above.offset(1)]],
        Relation::Equal => vec![vec![below, above]],
        Relation::NotEqual => vec![vec![below.offset(1)], vec![above.offset(1)]],
    }
}
