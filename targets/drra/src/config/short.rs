//! Short form: `3x1: top=[swb,iosram_top] mid=[swb,rf,rf,rf,dpu] btm=[swb,iosram_btm]`.
//!
//! `top`, `mid` and `btm` (or `tops`, `mids`, `btms`) list the resources of cells in the first, the
//! inner and the last row. A single list describes every cell.

use super::error::ConfigError;
use super::grid::Elaborated;
use super::parameters::Parameters;
use crate::config::cell::cell;
use crate::config::fabric::{Fabric, Options};
use crate::config::grid::MAX_SIDE;

/// Returns the fabric of a short form, as the released revision. Parameters have their defaults,
/// except that instruction memories have 256 words.
///
/// # Errors
///
/// Malformed text, an unknown component, or an invalid combination of cells.
pub fn from_short(text: &str) -> Result<Fabric, ConfigError> {
    let error = |reason: &str| ConfigError::Short { text: text.to_owned(), reason: reason.to_owned() };
    let (size, kinds) = text.split_once(':').ok_or_else(|| error("a `:` must follow the size"))?;
    let (rows, cols) =
        size.trim().split_once('x').ok_or_else(|| error("it must begin with a size such as `3x1:`"))?;
    let side = |text: &str| text.trim().parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
    let (Some(rows), Some(cols)) = (side(rows), side(cols)) else {
        return Err(error("rows and columns must be 1 to 256"));
    };
    let kinds = kinds_of(kinds).ok_or_else(|| error("lists must look like `top=[swb,iosram_top]`"))?;
    let mut cells = Vec::new();
    for row in 0..rows {
        let name = if row == 0 {
            "top"
        } else if row + 1 == rows {
            "btm"
        } else {
            "mid"
        };
        let found = kinds.iter().find(|(kind, _)| kind.is_empty() || kind.trim_end_matches('s') == name);
        let (_, resources) = found.ok_or_else(|| error(&format!("row {row} needs `{name}=[...]`")))?;
        let resources = resources.iter().map(|kind| (None, *kind, Parameters::default()));
        let fabric = Parameters::new("the short form", [("INSTR_ADDR_WIDTH".to_owned(), 8)]);
        let cell = cell(name, resources, &Parameters::default(), &fabric)?;
        cells.extend(std::iter::repeat_n(cell, cols));
    }
    Elaborated { rows, cols, cells }.check(1 << 16, 1 << 16, Options::default())
}

/// Returns the lists by name; a list without a name has an empty one.
fn kinds_of(text: &str) -> Option<Vec<(&str, Vec<&str>)>> {
    let mut rest = text.trim();
    let mut kinds = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('[')?;
        let (list, after) = after.split_once(']')?;
        kinds.push((name.trim().trim_end_matches('='), list.split(',').map(str::trim).collect()));
        rest = after.trim();
    }
    (!kinds.is_empty()).then_some(kinds)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::component::Component;
    use crate::config::fabric::Place;

    #[test]
    fn rows_have_their_kinds() {
        let fabric =
            from_short("3x2: tops=[swb,iosram_top] mids=[swb,rf,dpu] btms=[swb,iosram_btm]").unwrap();
        let component = |row, col, slot| fabric.cell(Place { row, col }).unwrap().component_at(slot);
        assert_eq!(component(0, 1, 4), Some(Component::IosramTop));
        assert_eq!(component(0, 1, 5), None);
        assert_eq!(component(1, 0, 3), Some(Component::Dpu));
        assert_eq!(component(2, 0, 1), Some(Component::IosramBtm));
        let one = from_short("1x1: [swb,iosram_both,rf,rf,rf,dpu]").unwrap();
        assert_eq!(one.cells.first().unwrap().component_at(9), Some(Component::Dpu));
    }

    #[test]
    fn faults_are_named() {
        let message = |text: &str| from_short(text).unwrap_err().to_string();
        assert!(message("3x1 [swb]").contains("a `:` must follow"));
        assert!(message("0x1: [swb]").contains("1 to 256"));
        assert!(message("2x1: top=[swb]").contains("row 1 needs `btm=[...]`"));
        assert!(message("1x1: [swb,rg]").contains("unknown resource kind `rg`"));
        assert!(message("1x1: [rf,swb]").contains("slot 1 holds a swb"));
        assert!(message("2x1: [swb,iosram_top]").contains("both use the input buffer of column 0"));
    }
}
