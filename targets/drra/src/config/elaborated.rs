//! Elaborated architecture (specification 6.3), which upstream's `assemble` writes and its
//! `compile` reads. Every cell has its position, every resource its slot, every parameter its
//! value. [`read()`] reads it, [`to_json`] writes it.

use std::collections::BTreeMap;

use npukit_target::NamedSystems;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ConfigError;
use super::grid::{Elaborated, FileOptions, Interface};
use super::parameters::Parameters;
use super::system::{System, Systems};
use crate::config::cell::{CELL_KINDS, cell, check_buffers, check_size, parse, unknown};
use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric, Place, Resource};
use crate::config::grid::MAX_SIDE;

type Numbers = BTreeMap<String, i64>;

#[derive(Deserialize)]
struct File {
    platform: Option<String>,
    parameters: Numbers,
    cells: Vec<Placed>,
    #[serde(default)]
    interface: Interface,
    #[serde(default)]
    options: FileOptions,
    /// npukit's extension: the system around the fabric.
    #[serde(default)]
    system: System,
    #[serde(default)]
    systems: NamedSystems<System>,
}

#[derive(Deserialize)]
struct Placed {
    coordinates: Coordinates,
    cell: CellEntry,
}

#[derive(Deserialize)]
struct Coordinates {
    row: usize,
    col: usize,
}

#[derive(Deserialize)]
struct CellEntry {
    name: String,
    kind: String,
    io_input: Option<bool>,
    io_output: Option<bool>,
    #[serde(default)]
    parameters: Numbers,
    controller: Option<Controller>,
    resources_list: Vec<Part>,
}

#[derive(Deserialize)]
struct Controller {
    kind: String,
    #[serde(default)]
    parameters: Numbers,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    kind: String,
    slot: usize,
    size: Option<u64>,
    #[serde(default)]
    parameters: Numbers,
}

/// Reads an elaborated architecture.
///
/// Errors: like an architecture file, with the position of the cell.
pub(super) fn read(text: &str) -> Result<Fabric, ConfigError> {
    let file: File = parse(text)?;
    if let Some(platform) = file.platform.filter(|platform| platform != "drra") {
        return Err(ConfigError::Platform(platform));
    }
    let fabric = Parameters::new("the fabric", file.parameters);
    let most = MAX_SIDE as i64;
    // A missing value is an error because 0 is not legal.
    let side = |name: &str| fabric.get("parameters", name, 0, 1, most).map(|side| side as usize);
    let (rows, cols) = (side("ROWS")?, side("COLS")?);
    let mut cells: Vec<Option<Cell>> = vec![None; rows * cols];
    for Placed { coordinates: Coordinates { row, col }, cell } in file.cells {
        let place = Place { row, col };
        let outside = || ConfigError::Outside { name: cell.name.clone(), place, rows, cols };
        let index = (row < rows && col < cols).then(|| row * cols + col);
        let entry = index.and_then(|index| cells.get_mut(index)).ok_or_else(outside)?;
        if let Some(first) = entry {
            return Err(ConfigError::Taken { first: first.name.clone(), second: cell.name, place });
        }
        *entry = Some(read_cell(cell, place, &fabric)?);
    }
    let filled = cells.into_iter().enumerate().map(|(index, cell)| {
        cell.ok_or(ConfigError::Empty { place: Place { row: index / cols, col: index % cols } })
    });
    let cells = filled.collect::<Result<_, _>>()?;
    let fabric = Elaborated { rows, cols, cells }.finish(&file.interface, &file.options)?;
    Ok(Fabric { systems: Systems { own: file.system, named: file.systems }, ..fabric })
}

fn read_cell(entry: CellEntry, place: Place, fabric: &Parameters) -> Result<Cell, ConfigError> {
    // The label names the cell and its position, for errors.
    let name = format!("{} {place}", entry.name);
    let label = format!("cell `{name}`");
    let mut own = Parameters::new(&label, entry.parameters);
    if let Some(controller) = entry.controller {
        if controller.kind != Component::Sequencer.name() {
            let known = std::iter::once(Component::Sequencer.name().to_owned());
            return Err(unknown(&label, "controller kind", &controller.kind, known));
        }
        own = own.overridden(&Parameters::new("its controller", controller.parameters));
    }
    let mut parts = entry.resources_list;
    parts.sort_by_key(|part| part.slot);
    parts.iter().try_for_each(|part| check_size(&part.name, &part.kind, part.size))?;
    let resources = parts.into_iter().map(|part| (part.slot, part.kind, part.parameters));
    let resources: Vec<_> = resources.collect();
    let resources = resources.iter().map(|(slot, kind, parameters)| {
        let parameters = Parameters::new(&format!("its {kind} in slot {slot}"), parameters.clone());
        (Some(*slot), kind.as_str(), parameters)
    });
    let found = cell(&name, resources, &own, fabric)?;
    let known = CELL_KINDS.iter().find(|(kind, _, _)| *kind == entry.kind);
    // Default: a cell of an unknown kind may have the buffer ports that its resources use.
    let has = |given: Option<bool>, of_kind: Option<bool>| given.or(of_kind).unwrap_or(true);
    let has_input = has(entry.io_input, known.map(|kind| kind.1));
    let has_output = has(entry.io_output, known.map(|kind| kind.2));
    check_buffers(&name, &entry.kind, has_input, has_output, &found)?;
    Ok(Cell { name: entry.name, ..found })
}

/// Returns the elaborated architecture of a fabric. [`from_json`](super::from_json) reads it back
/// to the same fabric.
pub fn to_json(fabric: &Fabric) -> Value {
    let cells = fabric.places().zip(&fabric.cells).map(|(place, cell)| {
        json!({ "coordinates": { "row": place.row, "col": place.col }, "cell": cell_json(cell) })
    });
    let options = &fabric.options;
    let mut file = json!({
        "platform": "drra",
        "parameters": { "ROWS": fabric.rows, "COLS": fabric.cols },
        "cells": cells.collect::<Vec<_>>(),
        "interface": { "input_buffer_depth": fabric.input_depth, "output_buffer_depth": fabric.output_depth },
        "options": {
            "revision": options.revision,
            "call_skew": options.call_skew,
            "extensions": options.extensions,
            "strict": options.strict,
            "encoding": options.encoding,
        },
    });
    if options.revision.is_seed() {
        file["options"]["seed"] = json!(options.seed);
    }
    if fabric.systems.own != System::default() {
        file["system"] = json!(fabric.systems.own);
    }
    file
}

fn cell_json(cell: &Cell) -> Value {
    let (input, output) = (cell.has_input(), cell.has_output());
    let kind =
        CELL_KINDS.iter().find(|(_, of_kind, out_of_kind)| (*of_kind, *out_of_kind) == (input, output));
    json!({
        "name": cell.name,
        "kind": kind.map(|(name, _, _)| *name),
        "io_input": input,
        "io_output": output,
        // The largest instruction memory needs 8 address bits.
        "parameters": { "INSTR_ADDR_WIDTH": 8 },
        "controller": {
            "name": "sequencer_inst",
            "kind": Component::Sequencer.name(),
            "parameters": { "IRAM_DEPTH": cell.iram_words },
        },
        "resources_list": cell.resources.iter().map(resource_json).collect::<Vec<_>>(),
    })
}

fn resource_json(resource: &Resource) -> Value {
    let component = resource.component;
    let parameters = match component {
        Component::Rf => json!({ "RF_DEPTH": resource.rows * crate::config::fabric::ROW_WORDS }),
        Component::Dpu => json!({ "FRACTIONAL_BITWIDTH": resource.fraction_bits }),
        component if component.is_iosram() => json!({ "SRAM_ADDR_WIDTH": resource.rows.max(1).ilog2() }),
        _ => json!({}),
    };
    json!({
        "name": format!("{}_{}", component.name(), resource.slot),
        "kind": component.name(),
        "slot": resource.slot,
        "size": component.slots(),
        "io_input": component.has_input(),
        "io_output": component.has_output(),
        "parameters": parameters,
    })
}
