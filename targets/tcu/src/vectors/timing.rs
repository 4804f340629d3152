//! `rtl_timing*.json`, `rtl_occupancy.json`: measurements of hardware.
//!
//! The cases check the cycles of published programs; for programs found below the file's folder,
//! also the estimator's totals and the outputs. Tables of single instructions and short sequences
//! are covered by `cycles*.json`, which contain the instructions.

use std::sync::Arc;

use npukit_target::{Case, Outcome, folder, sha256};

use super::programs::{csv_inputs, estimator_text, load, outputs};
use super::{Golden, cycles};
use crate::clock::timing::estimate;
use crate::config::ClockParams;
use crate::config::json_fields::{JsonFields, KeyError};
use crate::isa::op::Op;
use crate::program::Program;
use crate::program::run::run;

const COVERED: &str = "describes its instructions in prose; tests/golden/tcu/cycles*.json have these measurements with instructions";
const ABSENT: &str = "the program is not among the files";

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let keys = &golden.keys;
    let mut cases = Vec::new();
    cases.extend(covered("", keys, &["steady_state_cycles", "single_instruction", "hangs"])?);
    let programs = programs(golden);
    for entry in keys.list("full_program")? {
        cases.extend(full_program(&entry, &programs)?);
    }
    if keys.has("public_programs") {
        for entry in keys.list("public_programs")? {
            cases.push(public_program(&entry, &programs)?);
        }
    }
    if keys.has("resnet20v2_cifar_zcu104_outputs") {
        cases.extend(images(keys, &programs)?);
    }
    Ok(cases)
}

/// Skips the measurements in tables whose instructions are described in prose.
fn covered(instance: &str, keys: &JsonFields<'_>, tables: &[&str]) -> Result<Vec<Case>, KeyError> {
    let mut cases = Vec::new();
    for table in tables {
        let names = keys.keys(table)?;
        cases.extend(names.names().map(|name| Case::skipped(format!("{instance}{table}: {name}"), COVERED)));
    }
    Ok(cases)
}

/// Returns the cases of `rtl_occupancy.json`, which has only cycles, by instance.
pub(super) fn occupancy_cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let mut cases = Vec::new();
    for (instance, tables) in golden.keys.objects_only() {
        cases.extend(covered(&format!("{instance} "), &tables, &["occupancy", "short_sequences_lat1"])?);
    }
    Ok(cases)
}

/// A published program found below the folder, with its path.
struct Published {
    manifest_path: String,
    prog_bytes: usize,
    prog_sha256: String,
    program: Program,
    inputs: Vec<Vec<Vec<i32>>>,
}

/// Returns every artifact below the folder of the file.
fn programs(golden: &Golden<'_>) -> Vec<Arc<Published>> {
    let here = folder(golden.path);
    let listed = golden.files.list(if here.is_empty() { "." } else { here }).unwrap_or_default();
    let published = |path: &String| {
        let name = path.strip_prefix(folder(path))?;
        let program = load(path, name, golden.files).ok()?;
        let prog = golden.files.read(&format!("{}.tprog", path.strip_suffix(".tmodel")?)).ok()?;
        Some(Arc::new(Published {
            manifest_path: path.clone(),
            prog_bytes: prog.len(),
            prog_sha256: sha256(&prog),
            inputs: csv_inputs(path, golden.files, &program),
            program,
        }))
    };
    listed.iter().filter(|path| path.ends_with(".tmodel")).filter_map(published).collect()
}

fn find<'a>(programs: &'a [Arc<Published>], name: &str) -> Option<&'a Arc<Published>> {
    programs.iter().find(|p| p.manifest_path.ends_with(&format!("{name}.tmodel")))
}

/// Checks measured cycles, the estimator's total, and the output of an image if given.
fn full_program(entry: &JsonFields<'_>, programs: &[Arc<Published>]) -> Result<Vec<Case>, KeyError> {
    let name = entry.string("program")?;
    let found = find(programs, name.trim_end_matches(".tprog"));
    let prepended = entry.number("config_instructions_prepended")? as usize;
    let mut cases = Vec::new();
    let measured = entry.keys("rtl_cycles")?;
    for at in measured.names() {
        let latency = at.strip_prefix("lat").and_then(|digits| digits.parse().ok());
        let latency = latency.ok_or_else(|| measured.error(at, "must be named latN"))?;
        let case_name = format!("{name} cycles at {at}");
        let params = ClockParams::with_latency(latency);
        cases.push(timed(case_name, measured.number(at)?, params, prepended, found.cloned()));
    }
    if entry.has(EARLY_RESPONSES) {
        let params = ClockParams { write_response_latency: 1, ..ClockParams::with_latency(28) };
        let case_name = format!("{name} cycles at lat28, responses after 1");
        cases.push(timed(case_name, entry.number(EARLY_RESPONSES)?, params, prepended, found.cloned()));
    }
    if entry.has("estimator_cycles_aggregate") {
        cases.push(estimator(&format!("{name} estimator"), entry, found.cloned())?);
    }
    if entry.has("output_raw_lane0_to_9") {
        let (image, expected) = (entry.number("image")? as usize, entry.integers("output_raw_lane0_to_9")?);
        cases.push(image_case(format!("{name} image {image}"), image, expected, found.cloned()));
    }
    Ok(cases)
}

/// Key of the only measurement with unequal latencies.
const EARLY_RESPONSES: &str = "rtl_cycles_lat28_write_response_1";

/// Checks the cycles of a whole program after some Configure instructions.
fn timed(
    name: String,
    expected: u64,
    params: ClockParams,
    prepended: usize,
    found: Option<Arc<Published>>,
) -> Case {
    let Some(published) = found else { return Case::skipped(name, ABSENT) };
    Case::new(name, move || {
        let Program { config, instructions, .. } = &published.program;
        let mut ops = vec![Op::Configure { register: 0, value: 0 }; prepended.min(MAX_PREPENDED)];
        ops.extend(instructions);
        let timeline = cycles::run(config, params, &ops);
        let got = timeline.map(|timeline| cycles::compare(&[expected], &[timeline.total]));
        cycles::outcome("a run to the end", got)
    })
}

/// Maximum number of Configure instructions before a program: the driver writes the registers of
/// both banks.
const MAX_PREPENDED: usize = 16;

fn public_program(entry: &JsonFields<'_>, programs: &[Arc<Published>]) -> Result<Case, KeyError> {
    let name = format!("{} {} estimator", entry.string("model")?, entry.string("variant")?);
    let (bytes, prefix) = (entry.number("program_bytes")? as usize, entry.string("sha256_prefix")?);
    let is_it = |p: &&Arc<Published>| p.prog_bytes == bytes && p.prog_sha256.starts_with(prefix);
    estimator(&name, entry, programs.iter().find(is_it).cloned())
}

fn estimator(name: &str, entry: &JsonFields<'_>, found: Option<Arc<Published>>) -> Result<Case, KeyError> {
    let Some(published) = found else {
        return Ok(Case::skipped(name, ABSENT));
    };
    let cycles = entry.number("estimator_cycles_aggregate")?;
    let undrained = entry.number("estimator_cycles_undrained_execution")?;
    let energy = if entry.has("estimator_energy") { Some(entry.number("estimator_energy")?) } else { None };
    Ok(Case::new(name, move || {
        let got = estimate(&published.program.config, &published.program.instructions);
        let expected = estimator_text(cycles, undrained, energy.unwrap_or(got.energy));
        Outcome::compare(&expected, &estimator_text(got.cycles, got.undrained, got.energy))
    }))
}

fn images(keys: &JsonFields<'_>, programs: &[Arc<Published>]) -> Result<Vec<Case>, KeyError> {
    let found = find(programs, "resnet20v2_cifar_onnx_zcu104");
    let case = |entry: &JsonFields<'_>| {
        let (image, expected) = (entry.number("image")? as usize, entry.integers("raw_output_lane0_to_9")?);
        Ok(image_case(format!("resnet20v2_cifar zcu104 image {image}"), image, expected, found.cloned()))
    };
    keys.list("resnet20v2_cifar_zcu104_outputs")?.iter().map(case).collect()
}

/// Checks the first lanes of the output for input number `image`.
fn image_case(name: String, image: usize, expected: Vec<i32>, found: Option<Arc<Published>>) -> Case {
    let Some(published) = found else {
        return Case::skipped(name, ABSENT);
    };
    Case::new(name, move || {
        let Some(raw) = published.inputs.iter().find_map(|runs| runs.get(image)) else {
            return Outcome::Skipped { reason: "its input is not among the files".to_owned() };
        };
        let got = run(&published.program, std::slice::from_ref(raw))
            .map_err(|error| error.to_string())
            .and_then(|finished| outputs(&published.program, &finished));
        match got {
            Ok(mut lanes) => {
                lanes.truncate(expected.len());
                Outcome::compare(&format!("{expected:?}"), &format!("{lanes:?}"))
            }
            Err(error) => Outcome::error(format!("{expected:?}"), error),
        }
    })
}
