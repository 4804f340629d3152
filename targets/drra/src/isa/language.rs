//! [`AssemblyLanguage`] and [`PasmLanguage`]: support of assembly and PASM in editors.

mod assembly;
mod calls;
mod pasm;

use npukit_asm::analysis::{ProposalKind, Proposals};
use npukit_isa::{FieldKind, IsaSpec};

use crate::config::component::Component;
use crate::isa::Isa;

pub use assembly::AssemblyLanguage;
pub use pasm::PasmLanguage;

/// Returns the index of a component's first row in [`Isa::spec`].
fn first_row(isa: &Isa, component: Component) -> usize {
    let before = Component::ALL.iter().take_while(|other| **other != component);
    before.map(|other| isa.rows(*other).len()).sum()
}

/// Returns the row of an instruction of a component, or the first row with this name if the
/// component is unknown.
fn row_of(spec: &IsaSpec, isa: &Isa, component: Option<Component>, name: &str) -> Option<usize> {
    let of = |component: Component| {
        let row = isa.rows(component).iter().position(|row| row.name == name)?;
        Some(first_row(isa, component) + row)
    };
    component.and_then(of).or_else(|| spec.instructions.iter().position(|row| row.name == name))
}

/// Keeps only the directives that the language has.
fn own_directives(mut found: Proposals, is_own: impl Fn(&str) -> bool) -> Proposals {
    found.all.retain(|proposal| {
        proposal.kind != ProposalKind::Directive || is_own(proposal.text.trim_start_matches('.'))
    });
    found
}

/// Describes a word or a number as a value of a field, and returns whether it is one of the field's
/// own words.
fn value_of(
    spec: &IsaSpec,
    row: usize,
    field: usize,
    text: &str,
    number: Option<i64>,
) -> (Option<u64>, bool) {
    let Some(field) = spec.instructions.get(row).and_then(|row| row.fields.get(field)) else {
        return (None, false);
    };
    match number {
        Some(number) => (Some(number.cast_unsigned()).filter(|value| field.allows(*value)), false),
        None if matches!(field.kind, FieldKind::Choice { .. }) => {
            let code = field.code_of(text);
            (code, code.is_some())
        }
        None => (None, false),
    }
}
