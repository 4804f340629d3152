//! Parameters of a [`Fabric`] that an instance name can set. An architecture file names its parts
//! one by one; here one name applies to all parts of a kind.

use npukit_target::parameters::SET_BY_NAME;
use serde::Deserialize;
use serde_json::{Value, json};

use super::grid::Elaborated;
use super::parameters::Parameters;
use super::system::System;
use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric, Options, Resource};
use crate::config::grid::MAX_SIDE;

/// Settable parameters; `None` if the parts of a kind differ.
#[derive(Deserialize)]
struct Settable {
    cols: i64,
    fraction_bits: Option<i64>,
    rf_rows: Option<i64>,
    iosram_rows: Option<i64>,
    iram_words: Option<i64>,
    input_buffer_depth: i64,
    output_buffer_depth: i64,
    call_skew: u32,
    extensions: bool,
    strict: bool,
    system: Clock,
}

#[derive(Deserialize)]
struct Clock {
    clock_mhz: Option<f64>,
}

/// Returns the settable parameters of a fabric.
pub fn tree(fabric: &Fabric) -> Value {
    let Options { call_skew, extensions, strict, .. } = fabric.options;
    json!({
        "cols": fabric.cols,
        "fraction_bits": alike(parts(fabric, is_dpu).map(|part| part.fraction_bits)),
        "rf_rows": alike(parts(fabric, is_file).map(|part| part.rows)),
        "iosram_rows": alike(parts(fabric, is_memory).map(|part| part.rows)),
        "iram_words": alike(fabric.cells.iter().map(|cell| cell.iram_words)),
        "input_buffer_depth": fabric.input_depth,
        "output_buffer_depth": fabric.output_depth,
        "call_skew": call_skew,
        "extensions": extensions,
        "strict": strict,
        "system": { "clock_mhz": fabric.systems.own.clock_mhz },
    })
}

/// Returns the fabric with the parameters of the tree.
///
/// # Errors
///
/// A number is out of range, or the number of columns changes although the columns differ.
pub fn from_tree(fabric: Fabric, tree: Value) -> Result<Fabric, String> {
    let set: Settable = serde_json::from_value(tree).map_err(|error| error.to_string())?;
    let given = |name, value: Option<i64>, least, most| {
        value.map(|value| legal(name, value, least, most)).transpose()
    };
    let fraction_bits = given("fraction_bits", set.fraction_bits, 0, 15)?;
    let rf_rows = given("rf_rows", set.rf_rows, 1, 1 << 12)?;
    let iosram_rows = given("iosram_rows", set.iosram_rows, 1, 1 << 16)?;
    let iram_words = given("iram_words", set.iram_words, 1, 256)?;
    let mut cells = with_columns(&fabric, legal("cols", set.cols, 1, MAX_SIDE)?)?;
    // Default, here and below: parts that differ keep their values.
    cells.iter_mut().for_each(|cell| cell.iram_words = iram_words.unwrap_or(cell.iram_words));
    for part in cells.iter_mut().flat_map(|cell| &mut cell.resources) {
        if is_dpu(part) {
            part.fraction_bits = fraction_bits.map_or(part.fraction_bits, |bits| bits as u32);
        }
        let rows = if is_file(part) { rf_rows } else { iosram_rows.filter(|_| is_memory(part)) };
        part.rows = rows.unwrap_or(part.rows);
    }
    let (rows, cols) = (fabric.rows, set.cols as usize);
    let input = legal("input_buffer_depth", set.input_buffer_depth, 1, 1 << 16)?;
    let output = legal("output_buffer_depth", set.output_buffer_depth, 1, 1 << 16)?;
    let Settable { call_skew, extensions, strict, .. } = set;
    let options = Options { call_skew, extensions, strict, ..fabric.options };
    let mut changed =
        Elaborated { rows, cols, cells }.check(input, output, options).map_err(|error| error.to_string())?;
    changed.systems = fabric.systems;
    if set.system.clock_mhz != changed.systems.own.clock_mhz {
        let clock = json!({ "clock_mhz": set.system.clock_mhz, "source": SET_BY_NAME });
        changed.systems.own = serde_json::from_value::<System>(clock).map_err(|error| error.to_string())?;
    }
    Ok(changed)
}

/// Returns the cells of a fabric with `cols` columns, each like the first.
fn with_columns(fabric: &Fabric, cols: usize) -> Result<Vec<Cell>, String> {
    if cols == fabric.cols {
        return Ok(fabric.cells.clone());
    }
    let mut rows = fabric.cells.chunks(fabric.cols);
    if !rows.all(|row| row.iter().all(|cell| row.first() == Some(cell))) {
        return Err("its columns differ: their number cannot be set".to_owned());
    }
    let rows = fabric.cells.chunks(fabric.cols).filter_map(<[Cell]>::first);
    Ok(rows.flat_map(|cell| std::iter::repeat_n(cell.clone(), cols)).collect())
}

/// Checks that a number is in its range.
fn legal(name: &str, value: i64, least: i64, most: usize) -> Result<usize, String> {
    let given = Parameters::new("the name", [(name.to_owned(), value)]);
    let found = given.get("the fabric", name, value, least, most as i64);
    found.map(|value| value as usize).map_err(|error| error.to_string())
}

fn is_dpu(part: &Resource) -> bool {
    part.component == Component::Dpu
}

fn is_file(part: &Resource) -> bool {
    part.component == Component::Rf
}

fn is_memory(part: &Resource) -> bool {
    part.component.is_iosram()
}

fn parts(fabric: &Fabric, is_kind: fn(&Resource) -> bool) -> impl Iterator<Item = &Resource> {
    fabric.cells.iter().flat_map(|cell| &cell.resources).filter(move |part| is_kind(part))
}

/// Returns the common value if all values are equal.
fn alike<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|one| one == first).then_some(first)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::{PRESETS, preset};

    #[test]
    fn fabrics_come_back_from_their_trees() {
        for (name, _, _) in PRESETS {
            let fabric = preset(name).unwrap();
            assert_eq!(from_tree(fabric.clone(), tree(&fabric)).unwrap(), fabric, "{name}");
        }
    }

    #[test]
    fn columns_are_set() {
        let fabric = preset("3x1").unwrap();
        let mut wider = tree(&fabric);
        wider["cols"] = json!(4);
        assert_eq!(from_tree(fabric, wider).unwrap().cells, preset("3x4").unwrap().cells);
    }

    #[test]
    fn what_is_not_legal_is_told() {
        let message = |key: &str, value: i64| {
            let fabric = preset("3x2").unwrap();
            let mut bad = tree(&fabric);
            bad[key] = json!(value);
            from_tree(fabric, bad).unwrap_err()
        };
        assert!(message("cols", 257).contains("257"), "{}", message("cols", 257));
        assert!(message("fraction_bits", 16).contains("fraction_bits"));
        let mut differing = preset("3x2").unwrap();
        differing.cells[2].iram_words = 64;
        let mut wider = tree(&differing);
        wider["cols"] = json!(3);
        assert_eq!(
            from_tree(differing, wider).unwrap_err(),
            "its columns differ: their number cannot be set"
        );
    }
}
