//! Architecture JSON (specification 6.3): [`from_json`] elaborates it to a [`Fabric`].
//!
//! Files that are already elaborated are read by `elaborated`.

use std::collections::BTreeMap;

use npukit_target::NamedSystems;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::elaborated;
use super::error::ConfigError;
use super::grid::{Elaborated, FileOptions, Interface};
use super::parameters::Parameters;
use super::system::{System, Systems};
use crate::config::cell::{CELL_KINDS, cell, check_buffers, check_size, parse, unknown};
use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric, Place};
use crate::config::grid::MAX_SIDE;

/// Architecture file.
#[derive(Debug, Deserialize)]
struct File {
    platform: Option<String>,
    #[serde(default)]
    resources: Vec<PoolEntry>,
    #[serde(default)]
    controllers: Vec<PoolEntry>,
    cells: Vec<CellKind>,
    fabric: Grid,
    #[serde(default)]
    interface: Interface,
    /// npukit's extension: revision, and deviations from hardware.
    #[serde(default)]
    options: FileOptions,
    /// npukit's extension: the system around the fabric.
    #[serde(default)]
    system: System,
    #[serde(default)]
    systems: NamedSystems<System>,
}

/// Named instance of a library kind.
#[derive(Debug, Deserialize)]
struct PoolEntry {
    name: String,
    kind: String,
    size: Option<u64>,
    #[serde(default)]
    custom_properties: Vec<Property>,
}

#[derive(Debug, Deserialize)]
struct Property {
    name: String,
    value: i64,
}

#[derive(Debug, Deserialize)]
struct CellKind {
    name: String,
    kind: String,
    controller: Option<String>,
    #[serde(default)]
    resource_list: Vec<Placement>,
    #[serde(default)]
    custom_properties: Vec<Property>,
}

/// Resource in a cell: the name of a pool entry, alone or with parameters.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Placement {
    Name(String),
    With {
        name: String,
        #[serde(default)]
        custom_properties: Vec<Property>,
    },
}

#[derive(Debug, Deserialize)]
struct Grid {
    height: usize,
    width: usize,
    cells_list: Vec<CellPlaces>,
    #[serde(default)]
    custom_properties: Vec<Property>,
}

#[derive(Debug, Deserialize)]
struct CellPlaces {
    coordinates: Vec<Coordinates>,
    cell_name: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Coordinates {
    row: usize,
    col: usize,
}

/// Keys that distinguish the two forms: an elaborated file has parameters and no placement list.
#[derive(Deserialize)]
struct Form {
    fabric: Option<IgnoredAny>,
    parameters: Option<IgnoredAny>,
}

/// Reads an architecture file, elaborated or not.
///
/// # Errors
///
/// Not JSON, or an invalid architecture: an undefined name, a parameter out of range or with two
/// values, a position with no cell or two cells, too many slots, or a memory without its buffer.
pub fn from_json(text: &str) -> Result<Fabric, ConfigError> {
    let form: Form = parse(text)?;
    if form.fabric.is_none() && form.parameters.is_some() {
        return elaborated::read(text);
    }
    let file: File = parse(text)?;
    if let Some(platform) = file.platform.as_ref().filter(|platform| *platform != "drra") {
        return Err(ConfigError::Platform(platform.clone()));
    }
    let pool = unique("resource", &file.resources, |entry| &entry.name)?;
    let controllers = unique("controller", &file.controllers, |entry| &entry.name)?;
    unique("cell", &file.cells, |cell| &cell.name)?;
    let fabric = parameters("the fabric", &file.fabric.custom_properties);
    let mut kinds = BTreeMap::new();
    for cell in &file.cells {
        kinds.insert(cell.name.as_str(), cell_kind(cell, &pool, &controllers, &fabric)?);
    }
    let fabric = place(&file.fabric, &fabric, &kinds)?.finish(&file.interface, &file.options)?;
    Ok(Fabric { systems: Systems { own: file.system, named: file.systems }, ..fabric })
}

/// Returns entries by name. Errors: a name that occurs twice.
fn unique<'a, T>(
    what: &'static str,
    entries: &'a [T],
    name: impl Fn(&T) -> &String,
) -> Result<BTreeMap<String, &'a T>, ConfigError> {
    let mut found = BTreeMap::new();
    for entry in entries {
        if found.insert(name(entry).clone(), entry).is_some() {
            return Err(ConfigError::Twice { what, name: name(entry).clone() });
        }
    }
    Ok(found)
}

fn parameters(by: &str, properties: &[Property]) -> Parameters {
    Parameters::new(by, properties.iter().map(|property| (property.name.clone(), property.value)))
}

fn cell_kind(
    kind: &CellKind,
    pool: &BTreeMap<String, &PoolEntry>,
    controllers: &BTreeMap<String, &PoolEntry>,
    fabric: &Parameters,
) -> Result<Cell, ConfigError> {
    let place = format!("cell `{}`", kind.name);
    let known = CELL_KINDS.iter().find(|(name, _, _)| *name == kind.kind);
    let (_, input, output) = *known.ok_or_else(|| {
        unknown(&place, "cell kind", &kind.kind, CELL_KINDS.iter().map(|(name, _, _)| (*name).to_owned()))
    })?;
    let mut own = parameters(&place, &kind.custom_properties);
    if let Some(name) = &kind.controller {
        let entry = controllers.get(name);
        let entry = entry.ok_or_else(|| unknown(&place, "controller", name, controllers.keys().cloned()))?;
        if entry.kind != Component::Sequencer.name() {
            let known = std::iter::once(Component::Sequencer.name().to_owned());
            return Err(unknown(&place, "controller kind", &entry.kind, known));
        }
        own = own.overridden(&parameters(&format!("controller `{name}`"), &entry.custom_properties));
    }
    let mut resources = Vec::new();
    for placement in &kind.resource_list {
        let (name, properties) = match placement {
            Placement::Name(name) => (name, None),
            Placement::With { name, custom_properties } => (name, Some(custom_properties)),
        };
        let entry = pool.get(name).ok_or_else(|| unknown(&place, "resource", name, pool.keys().cloned()))?;
        check_size(&entry.name, &entry.kind, entry.size)?;
        let mut given = parameters(&format!("resource `{name}`"), &entry.custom_properties);
        if let Some(properties) = properties {
            given = given.overridden(&parameters(&place, properties));
        }
        resources.push((entry.kind.as_str(), given));
    }
    let resources = resources.into_iter().map(|(kind, parameters)| (None, kind, parameters));
    let found = cell(&kind.name, resources, &own, fabric)?;
    check_buffers(&kind.name, &kind.kind, input, output, &found)?;
    Ok(found)
}

/// Returns the cells at their positions.
fn place(
    grid: &Grid,
    parameters: &Parameters,
    kinds: &BTreeMap<&str, Cell>,
) -> Result<Elaborated, ConfigError> {
    let side = |given: usize, key: &str, name: &str| {
        // Default: a number beyond the limit is refused below.
        let value = i64::try_from(given).unwrap_or(i64::MAX);
        let given = Parameters::new(key, [(name.to_owned(), value)]).inherit("fabric", parameters)?;
        given.get("fabric", name, value, 1, MAX_SIDE as i64).map(|side| side as usize)
    };
    let (rows, cols) = (side(grid.height, "height", "ROWS")?, side(grid.width, "width", "COLS")?);
    let mut cells: Vec<Option<Cell>> = vec![None; rows * cols];
    for list in &grid.cells_list {
        let name = &list.cell_name;
        let cell = kinds.get(name.as_str());
        let known = kinds.keys().map(|name| (*name).to_owned());
        let cell = cell.ok_or_else(|| unknown("fabric", "cell", name, known))?;
        for &Coordinates { row, col } in &list.coordinates {
            let place = Place { row, col };
            let outside = || ConfigError::Outside { name: name.clone(), place, rows, cols };
            let index = (row < rows && col < cols).then(|| row * cols + col);
            let slot = index.and_then(|index| cells.get_mut(index)).ok_or_else(outside)?;
            if let Some(first) = slot {
                let (first, second) = (first.name.clone(), name.clone());
                return Err(ConfigError::Taken { first, second, place });
            }
            *slot = Some(cell.clone());
        }
    }
    let filled = cells.into_iter().enumerate().map(|(index, cell)| {
        cell.ok_or(ConfigError::Empty { place: Place { row: index / cols, col: index % cols } })
    });
    Ok(Elaborated { rows, cols, cells: filled.collect::<Result<_, _>>()? })
}
