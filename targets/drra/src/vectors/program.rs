//! Programs: words of their text, memory, cycles, and accesses to the buffers.

use std::collections::BTreeMap;

use npukit_target::{Case, Outcome};
use serde::Deserialize;
use serde_json::Value;

use crate::config::fabric::{Fabric, Place, Row};
use crate::config::from_short;
use crate::config::revision::Revision;
use crate::isa::asm::assemble;
use crate::isa::program::Program;
use crate::machine::{Access, DEFAULT_LIMIT, Machine};
use crate::program::binary::Image;

#[derive(Deserialize)]
struct File {
    name: String,
    arch: String,
    cells: Vec<Cell>,
    input_rows: BTreeMap<u32, Row>,
    expected_rows: BTreeMap<u32, Row>,
    expected_cycles: Option<u64>,
    expected_cycles_per_cell: Option<u64>,
    #[serde(default)]
    call_skew_cycles_per_column: u32,
    io_trace: Option<Vec<Io>>,
    /// Accesses in the hardware's simulation, which starts column c after c cycles.
    io_trace_rtl: Option<Vec<Io>>,
}

#[derive(Deserialize)]
struct Cell {
    row: usize,
    col: usize,
    words: Vec<String>,
    asm: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
struct Io {
    cycle: u64,
    op: String,
    col: usize,
    row: usize,
}

impl From<&Access> for Io {
    fn from(access: &Access) -> Self {
        let op = if access.is_write { "write" } else { "read" };
        Self { cycle: access.cycle, op: op.to_owned(), col: access.col, row: access.row }
    }
}

pub(super) fn cases(file: Value) -> Result<Vec<Case>, serde_json::Error> {
    let file: File = serde_json::from_value(file)?;
    Ok(vec![Case::new(file.name.clone(), move || check(&file).unwrap_or_else(|failed| failed))])
}

/// Checks a vector. An error is an outcome as well.
fn check(file: &File) -> Result<Outcome, Outcome> {
    let fabric = from_short(&file.arch).map_err(|error| Outcome::error(&file.arch, error))?;
    // Expected values follow the specification.
    let mut fabric = fabric.of_revision(Revision::Text);
    let program = words(file, &fabric)?;
    if let Some(trace) = &file.io_trace_rtl {
        fabric.options.call_skew = 1;
        let ran = run(file, &fabric, &program)?;
        same(&format!("{trace:?}"), &format!("{:?}", ran.trace))?;
    }
    fabric.options.call_skew = file.call_skew_cycles_per_column;
    let ran = run(file, &fabric, &program)?;
    same(&format!("{:?}", file.expected_rows), &format!("{:?}", ran.rows))?;
    if let Some(cycles) = file.expected_cycles {
        same(&format!("{cycles} cycles"), &format!("{} cycles", ran.cycles))?;
    }
    if let Some(cycles) = file.expected_cycles_per_cell {
        let wanted = vec![cycles; ran.cell_cycles.len()];
        same(&format!("cycles {wanted:?}"), &format!("cycles {:?}", ran.cell_cycles))?;
    }
    if let Some(trace) = &file.io_trace {
        same(&format!("{trace:?}"), &format!("{:?}", ran.trace))?;
    }
    Ok(Outcome::Passed)
}

pub(super) fn same(wanted: &str, got: &str) -> Result<(), Outcome> {
    match Outcome::compare(wanted, got) {
        Outcome::Passed => Ok(()),
        failed => Err(failed),
    }
}

/// Returns the words, after checking that the text assembles to them.
fn words(file: &File, fabric: &Fabric) -> Result<Program, Outcome> {
    let (mut text, mut program) = (String::new(), Program::default());
    for cell in &file.cells {
        text += &format!("cell (row={}, col={})\n{}\n", cell.row, cell.col, cell.asm.join("\n"));
        program.cells.insert(Place { row: cell.row, col: cell.col }, hexadecimal(&cell.words)?);
    }
    let source = assemble(fabric, &file.name, &text).map_err(|error| Outcome::error("the words", error))?;
    same(&format!("{:x?}", program.cells), &format!("{:x?}", source.program.cells))?;
    Ok(program)
}

/// Parses words in the form `0x20005001`.
pub(super) fn hexadecimal(words: &[String]) -> Result<Vec<u32>, Outcome> {
    let words = words.iter().map(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16));
    words.collect::<Result<_, _>>().map_err(|error| Outcome::error("words", error))
}

/// Result of a run.
struct VectorRun {
    rows: Image,
    cycles: u64,
    cell_cycles: Vec<u64>,
    trace: Vec<Io>,
}

fn run(file: &File, fabric: &Fabric, program: &Program) -> Result<VectorRun, Outcome> {
    let failed = |error: &dyn std::fmt::Display| Outcome::error("a run", error.to_string());
    let mut machine = Machine::new(fabric, program).map_err(|error| failed(&error))?;
    machine.set_input(&file.input_rows).map_err(|error| failed(&error))?;
    let mut trace: Vec<Access> = Vec::new();
    let run = machine.run(DEFAULT_LIMIT, &mut trace).map_err(|error| failed(&error))?;
    Ok(VectorRun {
        rows: machine.output_image(),
        cycles: run.cycles,
        cell_cycles: run.cell_cycles,
        trace: trace.iter().map(Io::from).collect(),
    })
}
