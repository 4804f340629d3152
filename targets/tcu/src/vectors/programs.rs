//! `outputs.json` next to a `.tmodel`: a published program, its inputs and exact results.
//!
//! There is one case each for the files, the instruction statistics, the estimator, and every run.
//! A run checks all lanes of the output, the hashes of the final state, and, if the file requires
//! it, that nothing saturated.

use std::sync::Arc;

use npukit_target::{Case, Outcome, Reader, folder, sha256, sibling};

use super::{Golden, execute};
use crate::clock::timing;
use crate::clock::timing::estimate;
use crate::config::json_fields::{JsonFields, KeyError};
use crate::isa::codec::encode_program;
use crate::isa::op::Memory;
use crate::program::artifact::{self, raw_to_bytes};
use crate::program::run::{RunOutcome, run};
use crate::program::{Program, csv};

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let keys = &golden.keys;
    let manifest = format!("{}.tmodel", keys.string("model")?);
    let program = match load(golden.path, &manifest, golden.files) {
        Ok(program) => Arc::new(program),
        Err(error) => return Ok(vec![Case::done("program", Outcome::error(manifest, error))]),
    };
    let mut cases =
        vec![files_case(keys, &program)?, statistics_case(keys, &program)?, estimator_case(keys, &program)?];
    let hashes = keys.strings("input_raw_sha256")?;
    let inputs = inputs(golden, &program, hashes.first().copied().unwrap_or_default());
    for run in keys.list("runs")? {
        cases.push(run_case(keys, &run, &program, &inputs, &hashes)?);
    }
    Ok(cases)
}

/// Loads the program of a manifest in the folder of `path`.
pub(super) fn load(path: &str, manifest: &str, files: &dyn Reader) -> Result<Program, String> {
    let at = |name: &str| sibling(path, name).and_then(|path| files.read(&path));
    let bytes = at(manifest).map_err(|error| error.to_string())?;
    artifact::read(manifest, &bytes, &mut |name| at(name)).map_err(|error| error.to_string())
}

/// Checks bytes, hashes and numbers of the program's files.
fn files_case(keys: &JsonFields<'_>, program: &Arc<Program>) -> Result<Case, KeyError> {
    let expected = format!(
        "program of {} bytes, {} instructions of {} bytes, {}; constants of {} bytes, {}; loaded to local: {}",
        keys.number("program_bytes")?,
        keys.number("instructions")?,
        keys.number("instruction_bytes")?,
        keys.string("program_sha256")?,
        keys.number("constants_bytes")?,
        keys.string("constants_sha256")?,
        keys.flag("load_consts_to_local")?,
    );
    let program = Arc::clone(program);
    Ok(Case::new("files", move || {
        let prog = encode_program(&program.config, &program.instructions).unwrap_or_default();
        let consts = raw_to_bytes(program.config.data_type, &program.constants);
        let got = format!(
            "program of {} bytes, {} instructions of {} bytes, {}; constants of {} bytes, {}; loaded to local: {}",
            prog.len(),
            program.instructions.len(),
            program.config.layout().instruction_bytes(),
            sha256(&prog),
            consts.len(),
            sha256(&consts),
            program.load_consts_to_local,
        );
        Outcome::compare(&expected, &got)
    }))
}

fn statistics_case(keys: &JsonFields<'_>, program: &Arc<Program>) -> Result<Case, KeyError> {
    let line = |(kind, entry): (&str, JsonFields<'_>)| {
        Ok(format!("{kind} {} of {} vectors", entry.number("instructions")?, entry.number("vectors")?))
    };
    let kinds = keys.keys("instruction_statistics")?.objects()?;
    let mut expected = kinds.into_iter().map(line).collect::<Result<Vec<_>, KeyError>>()?;
    expected.sort();
    let program = Arc::clone(program);
    Ok(Case::new("instruction statistics", move || {
        let kinds = estimate(&program.config, &program.instructions).kinds;
        let line = |(kind, cost): (&&str, &timing::Cost)| {
            format!("{kind} {} of {} vectors", cost.instructions, cost.vectors)
        };
        let mut got: Vec<String> = kinds.iter().map(line).collect();
        got.sort();
        Outcome::compare(&expected.join(", "), &got.join(", "))
    }))
}

fn estimator_case(keys: &JsonFields<'_>, program: &Arc<Program>) -> Result<Case, KeyError> {
    let expected = keys.keys("estimator")?;
    let program = Arc::clone(program);
    let expected = estimator_text(
        expected.number("cycles_aggregate")?,
        expected.number("cycles_undrained")?,
        expected.number("energy")?,
    );
    Ok(Case::new("estimator", move || {
        let got = estimate(&program.config, &program.instructions);
        Outcome::compare(&expected, &estimator_text(got.cycles, got.undrained, got.energy))
    }))
}

/// Formats figures of the estimator for comparison.
pub(super) fn estimator_text(cycles: u64, undrained: u64, energy: u64) -> String {
    format!("{cycles} cycles, {undrained} undrained, energy {energy}")
}

/// Returns the raw inputs of all runs, from the CSV file in the same folder whose first run has the
/// listed hash.
fn inputs(golden: &Golden<'_>, program: &Program, first_hash: &str) -> Result<Arc<Vec<Vec<i32>>>, String> {
    let all = csv_inputs(golden.path, golden.files, program);
    let wanted =
        |runs: &Vec<Vec<i32>>| runs.first().is_some_and(|raw| input_sha256(program, raw) == first_hash);
    let found = all.into_iter().find(wanted);
    found
        .map(Arc::new)
        .ok_or_else(|| format!("no .csv file in the folder has an input with SHA-256 {first_hash}"))
}

fn input_sha256(program: &Program, raw: &[i32]) -> String {
    sha256(&raw_to_bytes(program.config.data_type, raw))
}

/// Returns the raw inputs of every CSV file in the folder of `path` that fits the program's only
/// input, split into runs.
pub(super) fn csv_inputs(path: &str, files: &dyn Reader, program: &Program) -> Vec<Vec<Vec<i32>>> {
    let here = folder(path);
    let listed = files.list(if here.is_empty() { "." } else { here }).unwrap_or_default();
    let [input] = &program.inputs[..] else { return Vec::new() };
    let lanes = program.config.array_size;
    let vectors = input.pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.size));
    let scalars = (vectors as usize).saturating_mul(lanes);
    let runs = |file: &String| {
        let tensor = csv::read(file, &files.read(file).ok()?, lanes).ok()?;
        let raw = artifact::quantize(program.config.data_type.format(), tensor.as_f32()?).raw;
        raw.len().is_multiple_of(scalars).then(|| raw.chunks(scalars).map(<[i32]>::to_vec).collect())
    };
    listed.iter().filter(|file| folder(file) == here && file.ends_with(".csv")).filter_map(runs).collect()
}

/// Expected results of a run.
struct Expected {
    output: Vec<i32>,
    dram0_vectors: u64,
    hashes: [String; 3],
    input_sha256: String,
    /// Whether the file requires that nothing saturates.
    no_saturation: bool,
}

fn run_case(
    keys: &JsonFields<'_>,
    run: &JsonFields<'_>,
    program: &Arc<Program>,
    inputs: &Result<Arc<Vec<Vec<i32>>>, String>,
    input_hashes: &[&str],
) -> Result<Case, KeyError> {
    let index = run.number("index")? as usize;
    let name = format!("run {index}");
    let inputs = match inputs {
        Ok(inputs) => Arc::clone(inputs),
        Err(reason) => return Ok(Case::skipped(name, reason.clone())),
    };
    let state = run.keys("final_state")?;
    let hash = |key: &str| state.string(key).map(str::to_owned);
    let expected = Expected {
        output: run.integers("output_raw")?,
        dram0_vectors: state.number("dram0_vectors_hashed")?,
        hashes: [hash("dram0_sha256")?, hash("local_sha256")?, hash("accumulators_sha256")?],
        input_sha256: input_hashes.get(index).copied().unwrap_or_default().to_owned(),
        no_saturation: keys.has("saturation_events") && keys.number("saturation_events")? == 0,
    };
    let program = Arc::clone(program);
    Ok(Case::new(name, move || match inputs.get(index) {
        Some(raw) => check_run(&program, raw, &expected).unwrap_or_else(|e| Outcome::error("a run", e)),
        None => Outcome::Skipped { reason: format!("the input file holds {} runs", inputs.len()) },
    }))
}

fn check_run(program: &Program, raw: &[i32], expected: &Expected) -> Result<Outcome, String> {
    let hash = input_sha256(program, raw);
    if hash != expected.input_sha256 {
        return Ok(Outcome::compare(&format!("input {}", expected.input_sha256), &format!("input {hash}")));
    }
    let finished = run(program, &[raw.to_vec()]).map_err(|error| chain(&error))?;
    let saturated = finished.saturated();
    let hashes = final_hashes(program, &finished, expected.dram0_vectors)?;
    let got = run_text(&outputs(program, &finished)?, &hashes, saturated);
    let listed = if expected.no_saturation { 0 } else { saturated };
    Ok(Outcome::compare(&run_text(&expected.output, &expected.hashes, listed), &got))
}

fn run_text(output: &[i32], [dram0, local, accumulators]: &[String; 3], saturated: u64) -> String {
    format!(
        "output {output:?}, DRAM0 {dram0}, local {local}, accumulators {accumulators}, {saturated} saturated"
    )
}

/// Returns all outputs, concatenated.
pub(super) fn outputs(program: &Program, finished: &RunOutcome) -> Result<Vec<i32>, String> {
    let parts = program.outputs.iter().map(|binding| finished.output(binding).map_err(|error| chain(&error)));
    Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
}

fn final_hashes(program: &Program, finished: &RunOutcome, dram0_vectors: u64) -> Result<[String; 3], String> {
    let hash = |memory, vectors| execute::sha256(&finished.machine, memory, vectors);
    Ok([
        hash(Memory::Dram0, dram0_vectors)?,
        hash(Memory::Local, program.config.local_depth)?,
        hash(Memory::Accumulators, program.config.accumulator_depth)?,
    ])
}

/// Joins an error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |e| e.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
