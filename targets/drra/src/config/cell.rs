//! Cells and their resources, for all file formats.

use serde::Deserialize;

use crate::config::component::Component;
use crate::config::error::ConfigError;
use crate::config::fabric::{Cell, Resource, SLOTS};
use crate::config::parameters::Parameters;

/// Parses JSON. Errors name the line and column.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ConfigError> {
    serde_json::from_str(text).map_err(|error| ConfigError::Json(error.to_string()))
}

pub(super) fn unknown(
    place: &str,
    what: &'static str,
    name: &str,
    known: impl Iterator<Item = String>,
) -> ConfigError {
    ConfigError::Unknown { place: place.to_owned(), what, name: name.to_owned(), known: known.collect() }
}

/// Kinds of cells, each with whether it has ports to the input and the output buffer.
pub(super) const CELL_KINDS: [(&str, bool, bool); 4] = [
    ("cell_top", true, false),
    ("cell_mid", false, false),
    ("cell_btm", false, true),
    ("cell_single_row", true, true),
];

/// Checks that memories are only in cells with ports to their buffers.
pub(super) fn check_buffers(
    name: &str,
    kind: &str,
    has_input: bool,
    has_output: bool,
    found: &Cell,
) -> Result<(), ConfigError> {
    let needs =
        |buffer: fn(Component) -> bool| found.resources.iter().find(|resource| buffer(resource.component));
    let wrong = |buffer, resource: &Resource| ConfigError::Port {
        cell: name.to_owned(),
        kind: kind.to_owned(),
        buffer,
        resource: resource.component.name(),
    };
    match (needs(Component::has_input), needs(Component::has_output)) {
        (Some(resource), _) if !has_input => Err(wrong("input", resource)),
        (_, Some(resource)) if !has_output => Err(wrong("output", resource)),
        _ => Ok(()),
    }
}

/// Checks that the size in a file, if any, equals the component's size.
pub(super) fn check_size(name: &str, kind: &str, size: Option<u64>) -> Result<(), ConfigError> {
    let (Some(component), Some(size)) = (Component::from_name(kind), size) else {
        return Ok(());
    };
    let slots = component.slots();
    if size == u64::from(slots) {
        return Ok(());
    }
    Err(ConfigError::Size { resource: name.to_owned(), size, kind: component.name(), slots })
}

/// Creates a cell from resources with slot, kind and parameters. A resource without a slot gets the
/// next one.
pub(super) fn cell<'a>(
    name: &str,
    kinds: impl IntoIterator<Item = (Option<usize>, &'a str, Parameters)>,
    own: &Parameters,
    fabric: &Parameters,
) -> Result<Cell, ConfigError> {
    let place = format!("cell `{name}`");
    let inherited = own.clone().inherit(&place, fabric)?;
    let mut resources: Vec<Resource> = Vec::new();
    let mut free = 0;
    for (slot, kind, parameters) in kinds {
        // Default: a resource without a slot follows the one before it.
        let slot = slot.unwrap_or(free);
        let component = Component::from_name(kind).filter(|component| *component != Component::Sequencer);
        let component =
            component.ok_or_else(|| unknown(&place, "resource kind", kind, kinds_of_resources()))?;
        let (cell, resource) = (name.to_owned(), kind.to_owned());
        if slot < free {
            return Err(ConfigError::Overlap { cell, resource, slot, free });
        }
        let last = slot.saturating_add(usize::from(component.slots()) - 1);
        if last >= SLOTS {
            return Err(ConfigError::Slots { cell, resource, first: slot, last });
        }
        if component == Component::Swb && slot != 0 {
            return Err(ConfigError::Switch { cell: name.to_owned(), slot });
        }
        let place = format!("{place}, slot {slot}");
        let parameters = parameters.inherit(&place, &inherited)?;
        resources.push(Resource {
            component,
            slot: slot as u8,
            rows: parameters.memory_rows(&place, component)?,
            fraction_bits: parameters.get(&place, "FRACTIONAL_BITWIDTH", 0, 0, 15)? as u32,
        });
        free = last + 1;
    }
    let depth = inherited.get(&place, "IRAM_DEPTH", 256, 1, 256)?;
    let loadable = 1 << inherited.get(&place, "INSTR_ADDR_WIDTH", 6, 1, 16)?;
    Ok(Cell { name: name.to_owned(), iram_words: depth.min(loadable) as usize, resources })
}

pub(crate) fn kinds_of_resources() -> impl Iterator<Item = String> {
    Component::ALL.into_iter().skip(1).map(|component| component.name().to_owned())
}
