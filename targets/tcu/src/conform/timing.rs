//! `rtl_timing*.json`, `rtl_occupancy.json`, `rtl_sequences*_trace.json`: measurements of hardware.
//!
//! Checked here: the forms that hang, the estimator's totals and the outputs of published programs
//! found below the file's folder. Measured cycles are skipped, each by name, until there is a
//! cycle-exact model.

use std::sync::Arc;

use npukit_target::{Case, Outcome, folder};
use sha2::{Digest, Sha256};

use super::programs::{csv_inputs, estimator_text, load, outputs};
use super::{Golden, hex};
use crate::config::Config;
use crate::keys::{KeyError, Keys};
use crate::op::{Op, SimdOp, SimdSub};
use crate::program::Program;
use crate::run::run;
use crate::timing::estimate;
use crate::validate::{Severity, validate};

const NO_MODEL: &str = "there is no cycle-exact model yet";

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let keys = &golden.keys;
    let mut cases = Vec::new();
    for list in ["steady_state_cycles", "single_instruction"] {
        cases.extend(skipped(keys, list)?);
    }
    cases.extend(hangs(&keys.keys("hangs")?)?);
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

/// `rtl_occupancy.json`: nothing but cycles.
pub(super) fn occupancy_cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let mut cases = Vec::new();
    for (array, tables) in golden.keys.objects_only() {
        for (table, entries) in tables.objects_only() {
            let name = |entry: &str| format!("{array} {table}: {entry}");
            cases.extend(entries.names().map(|entry| Case::skipped(name(entry), NO_MODEL)));
        }
    }
    Ok(cases)
}

/// `rtl_sequences*_trace.json`: nothing but cycles.
pub(super) fn trace_cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let programs = golden.keys.list("programs")?;
    programs.iter().map(|keys| Ok(Case::skipped(format!("{} trace", keys.string("id")?), NO_MODEL))).collect()
}

fn skipped(keys: &Keys<'_>, list: &str) -> Result<Vec<Case>, KeyError> {
    let names = keys.keys(list)?;
    Ok(names.names().map(|name| Case::skipped(format!("{list}: {name}"), NO_MODEL)).collect())
}

/// The forms of the table by name: read, write, operation, left, right.
#[rustfmt::skip] // A table: one form a line.
const FORMS: [(&str, bool, bool, SimdOp, u8, u8); 10] = [
    ("unary Move L=R1,R=0(Input), flags W only", false, true,  SimdOp::Move, 1, 0),
    ("unary Move L=R1,R=R1, flags W only",       false, true,  SimdOp::Move, 1, 1),
    ("R flag, L=R=R1, op Move",                  true,  false, SimdOp::Move, 1, 1),
    ("RW flags, L=R=R1, op Move",                true,  true,  SimdOp::Move, 1, 1),
    ("R flag, op Zero",                          true,  false, SimdOp::Zero, 0, 0),
    ("RW flag, op Zero L=R=0",                   true,  true,  SimdOp::Zero, 0, 0),
    ("no flags, op Max L=0,R=R1",                false, false, SimdOp::Max,  0, 1),
    ("no flags, op NoOp",                        false, false, SimdOp::NoOp, 0, 0),
    ("R flag, op NoOp",                          true,  false, SimdOp::NoOp, 0, 0),
    ("W flag, op NoOp",                          false, true,  SimdOp::NoOp, 0, 0),
];

fn hangs(table: &Keys<'_>) -> Result<Vec<Case>, KeyError> {
    let case = |name: &str| {
        let expected = table.flag(name)?;
        let case_name = format!("hangs: {name}");
        Ok(match FORMS.iter().find(|form| form.0 == name) {
            Some(&(_, read, write, op, left, right)) => Case::new(case_name, move || {
                Outcome::compare(
                    &expected,
                    &hangs_here(read, write, SimdSub { op, left, right, destination: 0 }),
                )
            }),
            None => Case::skipped(case_name, "a form this runner does not know"),
        })
    };
    table.names().map(case).collect()
}

/// Whether the validator finds an error.
fn hangs_here(read: bool, write: bool, sub: SimdSub) -> bool {
    let op = Op::Simd { read, write, accumulate: false, write_address: 0, read_address: 0, sub };
    let Some(config) = Config::preset("speech_robot") else { return false };
    validate(&config, &[op]).iter().any(|problem| problem.severity == Severity::Error)
}

/// A published program found on the way, and how to find it.
struct Published {
    manifest_path: String,
    prog_bytes: usize,
    prog_sha256: String,
    program: Program,
    inputs: Vec<Vec<Vec<i32>>>,
}

/// Every artifact below the folder of the file.
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
            prog_sha256: hex(&Sha256::digest(&prog)),
            inputs: csv_inputs(path, golden.files, &program),
            program,
        }))
    };
    listed.iter().filter(|path| path.ends_with(".tmodel")).filter_map(published).collect()
}

fn find<'a>(programs: &'a [Arc<Published>], name: &str) -> Option<&'a Arc<Published>> {
    programs.iter().find(|p| p.manifest_path.ends_with(&format!("{name}.tmodel")))
}

/// The estimator's total, the output of an image where given; the measured cycles are skipped.
fn full_program(entry: &Keys<'_>, programs: &[Arc<Published>]) -> Result<Vec<Case>, KeyError> {
    let name = entry.string("program")?;
    let cycles = entry.keys("rtl_cycles")?;
    let mut cases: Vec<Case> =
        cycles.names().map(|at| Case::skipped(format!("{name} cycles at {at}"), NO_MODEL)).collect();
    let found = find(programs, name.trim_end_matches(".tprog"));
    if entry.has("estimator_cycles_aggregate") {
        cases.push(estimator(&format!("{name} estimator"), entry, found.cloned())?);
    }
    if entry.has("output_raw_lane0_to_9") {
        let (image, expected) = (entry.number("image")? as usize, entry.integers("output_raw_lane0_to_9")?);
        cases.push(image_case(format!("{name} image {image}"), image, expected, found.cloned()));
    }
    Ok(cases)
}

fn public_program(entry: &Keys<'_>, programs: &[Arc<Published>]) -> Result<Case, KeyError> {
    let name = format!("{} {} estimator", entry.string("model")?, entry.string("variant")?);
    let (bytes, prefix) = (entry.number("program_bytes")? as usize, entry.string("sha256_prefix")?);
    let is_it = |p: &&Arc<Published>| p.prog_bytes == bytes && p.prog_sha256.starts_with(prefix);
    estimator(&name, entry, programs.iter().find(is_it).cloned())
}

fn estimator(name: &str, entry: &Keys<'_>, found: Option<Arc<Published>>) -> Result<Case, KeyError> {
    let Some(published) = found else {
        return Ok(Case::skipped(name, "the program is not among the files"));
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

fn images(keys: &Keys<'_>, programs: &[Arc<Published>]) -> Result<Vec<Case>, KeyError> {
    let found = find(programs, "resnet20v2_cifar_onnx_zcu104");
    let case = |entry: &Keys<'_>| {
        let (image, expected) = (entry.number("image")? as usize, entry.integers("raw_output_lane0_to_9")?);
        Ok(image_case(format!("resnet20v2_cifar zcu104 image {image}"), image, expected, found.cloned()))
    };
    keys.list("resnet20v2_cifar_zcu104_outputs")?.iter().map(case).collect()
}

/// The first lanes of the output for input number `image`.
fn image_case(name: String, image: usize, expected: Vec<i32>, found: Option<Arc<Published>>) -> Case {
    let Some(published) = found else {
        return Case::skipped(name, "the program is not among the files");
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
