//! Kernels that ran on the released circuit: the words it wrote, and the cycles it took. The words
//! are checked exactly, whether or not the circuit computes the intended result.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

use npukit_target::{Case, Outcome};

use super::program::{hexadecimal, same};
use crate::config::fabric::{Fabric, Place, Row};
use crate::config::{from_short, preset};
use crate::isa::program::Program;
use crate::machine::{DEFAULT_LIMIT, Machine};
use crate::program::binary::Image;

/// Formula in `input`; all vectors have this one.
const FORMULA: &str = "x[row][word] = (((row*16+word)*40503 + 12345) mod 65536 >> 3) mod 363 - 181";
/// Rows of the input buffer that it fills.
const INPUT_ROWS: u32 = 1024;

#[derive(Deserialize)]
struct File {
    input: String,
    kernels: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
    arch: String,
    cells: Vec<Cell>,
    released_cycles: u64,
    released_rows: BTreeMap<u32, Row>,
}

#[derive(Deserialize)]
struct Cell {
    row: usize,
    col: usize,
    words: Vec<String>,
}

pub(super) fn cases(file: Value) -> Result<Vec<Case>, serde_json::Error> {
    let File { input, kernels } = serde_json::from_value(file)?;
    let is_known = input.starts_with(FORMULA);
    let case = |kernel: Kernel| {
        let name = kernel.name.clone();
        if !is_known {
            return Case::done(name, Outcome::error(FORMULA, format!("an input of `{input}`")));
        }
        Case::new(name, move || check(&kernel).unwrap_or_else(|failed| failed))
    };
    Ok(kernels.into_iter().map(case).collect())
}

fn check(kernel: &Kernel) -> Result<Outcome, Outcome> {
    let mut program = Program::default();
    for cell in &kernel.cells {
        program.cells.insert(Place { row: cell.row, col: cell.col }, hexadecimal(&cell.words)?);
    }
    let failed = |error: &dyn std::fmt::Display| Outcome::error("a run", error.to_string());
    let mut machine = Machine::new(&fabric(&kernel.arch)?, &program).map_err(|error| failed(&error))?;
    machine.set_input(&input()).map_err(|error| failed(&error))?;
    let run = machine.run(DEFAULT_LIMIT, &mut ()).map_err(|error| failed(&error))?;
    same(&format!("{:?}", kernel.released_rows), &format!("{:?}", machine.output_image()))?;
    same(&format!("{} cycles", kernel.released_cycles), &format!("{} cycles", run.cycles))?;
    Ok(Outcome::Passed)
}

/// Returns a built-in fabric or one in the short form, as the released circuit.
fn fabric(name: &str) -> Result<Fabric, Outcome> {
    if let Some(fabric) = preset(name) {
        return Ok(fabric);
    }
    from_short(name).map_err(|error| Outcome::error(name, error))
}

fn input() -> Image {
    let word = |index: u32| ((index.wrapping_mul(40503).wrapping_add(12345) & 0xffff) >> 3) % 363;
    let row = |row: u32| -> Row { std::array::from_fn(|index| word(row * 16 + index as u32) as i16 - 181) };
    (0..INPUT_ROWS).map(|number| (number, row(number))).collect()
}
