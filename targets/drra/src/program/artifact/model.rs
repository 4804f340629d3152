//! Compiled model in files, for drivers and for `npu run`: [`write()`] and [`read`].
//!
//! | file | content |
//! |---|---|
//! | `NAME.plan.json` | the plan: tensors, steps and their calls, and the names of the other files |
//! | `NAME.arch.json` | the fabric, as an elaborated architecture |
//! | `NAME.constants.bin` | integers of the model: 16 bits each, low byte first |
//! | `NAME_N.bin`, `NAME_N.pasm` | kernel N as words, and its PASM source |
//!
//! A gather's `source` is the index of a value of the plan. Indices above the last value are
//! constants.

use std::sync::{Arc, OnceLock};

use npukit_target::{ArtifactFile, Checked, ModelReading, Parts, ProgramInfo, Reader, Seal, TargetError};
use serde::{Deserialize, Serialize};

use super::check;
use super::folder::{Folder, wrong};
use crate::config::column::columns;
use crate::config::fabric::Fabric;
use crate::config::{from_json, to_json};
use crate::isa::pasm::epoch::EpochReport;
use crate::isa::pasm::kernel;
use crate::program::binary::{read_program, write_program};
use crate::program::call::{Call, Load, Results};
use crate::program::executable::{Executable, Ready, StepCalls};
use crate::program::gather::Source;
use crate::program::kernels::Kernel;
use crate::program::plan::Plan;

/// Extension of plan files.
pub const EXTENSION: &str = "plan.json";
/// Current version of the format.
const FORMAT: &str = "npukit-drra-2";
/// Previous version of the format, in which vectors are not followed by zeros.
const FORMAT_BEFORE: &str = "npukit-drra-1";
/// Note for drivers on the end of a call.
const END_OF_CALL: &str =
    "count the cycles of the kernel: after the first call the fabric's return line stays high until a reset";

/// Compiled model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name of the model.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// Plan and kernels.
    pub executable: Executable,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// Options with which the model was read.
    pub reading: ModelReading,
    /// Program information, computed on first use.
    pub(crate) info: OnceLock<ProgramInfo>,
}

impl Model {
    /// Creates a model without cached information.
    pub fn new(name: String, target: String, executable: Executable, macs: u64) -> Self {
        Self { name, target, executable, macs, reading: ModelReading::new(), info: OnceLock::new() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: String,
    /// Digest of this file.
    digest: Seal,
    name: String,
    target: String,
    macs: u64,
    /// Options with which the model was read.
    #[serde(default, skip_serializing_if = "ModelReading::is_empty")]
    reading: ModelReading,
    architecture: String,
    /// Note for drivers.
    #[serde(default)]
    end_of_call: String,
    /// Digests of the other files.
    sha256: Parts,
    constants: Constants,
    kernels: Vec<KernelEntry>,
    plan: Plan,
    /// Calls of each task of each step.
    calls: Vec<Vec<Vec<CallEntry>>>,
}

/// Constants, one after the other in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Constants {
    file: String,
    /// Number of words of each constant.
    words: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelEntry {
    name: String,
    program: String,
    pasm: String,
    cycles: u64,
    kernel: Kernel,
    epochs: Vec<EpochReport>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    kernel: usize,
    loads: Vec<Load>,
    results: Vec<Results>,
}

/// Returns the files of a model, plan first.
///
/// # Errors
///
/// A kernel cannot be encoded in the fabric's encoding.
pub fn write(model: &Model) -> Result<Vec<ArtifactFile>, TargetError> {
    let Model { name, target, executable, macs, reading, .. } = model;
    let of = |ending: &str| format!("{name}.{ending}");
    let mut plan = executable.plan.clone();
    let constants = take_constants(&mut plan);
    let words = constants.iter().flat_map(|words| words.iter());
    let mut files = vec![
        ArtifactFile { name: of("arch.json"), bytes: json(&to_json(&executable.fabric))? },
        ArtifactFile {
            name: of("constants.bin"),
            bytes: words.flat_map(|word| word.to_le_bytes()).collect(),
        },
    ];
    let mut kernels = Vec::new();
    for (number, ready) in executable.kernels.iter().enumerate() {
        let (kernel, own) = kernel_files(&executable.fabric, ready, &format!("{name}_{number}"))?;
        kernels.push(kernel);
        files.extend(own);
    }
    let entry = |(call, kernel): &(Call, usize)| CallEntry {
        kernel: *kernel,
        loads: call.loads.clone(),
        results: call.results.clone(),
    };
    let calls = executable.calls.iter().map(|step| {
        let tasks = step.iter().map(|task| task.iter().map(entry).collect());
        tasks.collect()
    });
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        digest: Seal::default(),
        name: name.clone(),
        target: target.clone(),
        macs: *macs,
        reading: reading.clone(),
        architecture: of("arch.json"),
        end_of_call: END_OF_CALL.to_owned(),
        sha256: Parts::of(&files),
        constants: Constants {
            file: of("constants.bin"),
            words: constants.iter().map(|words| words.len()).collect(),
        },
        kernels,
        plan,
        calls: calls.collect(),
    };
    files.insert(0, ArtifactFile { name: of(EXTENSION), bytes: sealed(&manifest)? });
    Ok(files)
}

/// Returns the files of a kernel, its text and its words, and their entry.
fn kernel_files(
    fabric: &Fabric,
    ready: &Ready,
    name: &str,
) -> Result<(KernelEntry, [ArtifactFile; 2]), TargetError> {
    let (program, pasm) = (format!("{name}.bin"), format!("{name}.pasm"));
    let words = fabric.encoded(&ready.compiled.program).map_err(TargetError::failed)?;
    let files = [
        ArtifactFile { name: pasm.clone(), bytes: ready.pasm.clone().into_bytes() },
        ArtifactFile { name: program.clone(), bytes: write_program(&words).into_bytes() },
    ];
    let entry = KernelEntry {
        name: ready.kernel.kind.name(),
        program,
        pasm,
        cycles: ready.cycles(),
        kernel: ready.kernel.clone(),
        epochs: ready.compiled.epochs.clone(),
    };
    Ok((entry, files))
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, TargetError> {
    serde_json::to_vec_pretty(value).map_err(TargetError::failed)
}

/// Returns the plan as JSON with its digest.
fn sealed(manifest: &Manifest) -> Result<Vec<u8>, TargetError> {
    let text = serde_json::to_string_pretty(manifest).map_err(TargetError::failed)?;
    Ok(manifest.digest.put(&text).into_bytes())
}

/// Replaces each constant by an index, and returns the constants.
fn take_constants(plan: &mut Plan) -> Vec<Arc<[i16]>> {
    let mut constants: Vec<Arc<[i16]>> = Vec::new();
    let values = plan.values.len();
    for operand in plan.steps.iter_mut().flat_map(|step| &mut step.tasks).flat_map(|task| task.operands_mut())
    {
        if let Source::Constant(words) = &operand.source {
            let number = constants.iter().position(|known| Arc::ptr_eq(known, words)).unwrap_or_else(|| {
                constants.push(words.clone());
                constants.len() - 1
            });
            operand.source = Source::Value(values + number);
        }
    }
    constants
}

/// Replaces the indices of constants by the constants.
fn give_constants(plan: &mut Plan, constants: &[Arc<[i16]>]) {
    let values = plan.values.len();
    for operand in plan.steps.iter_mut().flat_map(|step| &mut step.tasks).flat_map(|task| task.operands_mut())
    {
        if let Source::Value(number) = operand.source
            && let Some(words) = number.checked_sub(values).and_then(|number| constants.get(number))
        {
            operand.source = Source::Constant(words.clone());
        }
    }
}

/// Reads the model whose plan is at `path`; `files` reads the other files.
///
/// Every kernel is called once with zeros, and must take the number of cycles in the plan.
///
/// # Errors
///
/// [`ArtifactError`](super::ArtifactError), with the file and the position in it.
pub fn read(path: &str, files: &dyn Reader) -> Result<Model, TargetError> {
    let folder = Folder { path, files };
    let text = folder.own()?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| folder.wrong(&error))?;
    let Manifest { format, name, target, macs, mut plan, .. } = manifest;
    if format != FORMAT && format != FORMAT_BEFORE {
        return Err(folder.wrong(&format!("`format` is `{format}`; this version of npukit reads `{FORMAT}`")));
    }
    manifest.digest.check(path, &text).map_err(TargetError::failed)?;
    let files = Checked { files, manifest: path, parts: &manifest.sha256 };
    let folder = Folder { path, files: &files };
    let architecture = folder.text(&manifest.architecture)?;
    let fabric = from_json(&architecture).map_err(|error| wrong(&manifest.architecture, &error))?;
    let constants = read_constants(&folder, &manifest.constants)?;
    check::plan(&plan, &constants).map_err(|error| folder.wrong(&error))?;
    give_constants(&mut plan, &constants);
    let kernels = manifest.kernels.into_iter().map(|entry| read_kernel(&folder, &fabric, entry));
    let kernels = kernels.collect::<Result<Vec<_>, _>>()?;
    let calls = calls(manifest.calls, &kernels).map_err(|error| folder.wrong(&error))?;
    // Default: a model with only driver steps needs no columns.
    let columns = columns(&fabric).unwrap_or_default();
    let executable = Executable { fabric, columns, plan, kernels, calls };
    check::calls(&executable).map_err(|error| folder.wrong(&error))?;
    Ok(Model { reading: manifest.reading, ..Model::new(name, target, executable, macs) })
}

fn read_constants(folder: &Folder<'_>, constants: &Constants) -> Result<Vec<Arc<[i16]>>, TargetError> {
    let bytes = folder.bytes(&constants.file)?;
    let all: Vec<i16> = bytes.chunks_exact(2).map(|word| i16::from_le_bytes([word[0], word[1]])).collect();
    let expected = constants.words.iter().fold(0_usize, |sum, words| sum.saturating_add(*words));
    if all.len() != expected || bytes.len() % 2 != 0 {
        let reason = format!("{} bytes; the plan has {expected} words of 2", bytes.len());
        return Err(wrong(&constants.file, &reason));
    }
    let mut rest = all.as_slice();
    let parts = constants.words.iter().map(|words| {
        let (part, after) = rest.split_at(*words);
        rest = after;
        part.into()
    });
    Ok(parts.collect())
}

fn read_kernel(folder: &Folder<'_>, fabric: &Fabric, entry: KernelEntry) -> Result<Ready, TargetError> {
    let KernelEntry { name, program: file, pasm, cycles, kernel, epochs } = entry;
    check::kernel(fabric, &kernel).map_err(|error| folder.wrong(&format!("kernel `{name}`: {error}")))?;
    let program = read_program(&folder.text(&file)?).map_err(|error| wrong(&file, &error))?;
    let program = fabric.decoded(&program).map_err(|error| wrong(&file, &error))?;
    check::program(fabric, &kernel, &program, cycles).map_err(|error| wrong(&file, &error))?;
    let compiled = kernel::Kernel { program, epochs, texts: Vec::new(), cycles: i64::try_from(cycles).ok() };
    Ok(Ready { kernel, pasm: folder.text(&pasm)?, compiled })
}

/// Returns calls with their kernels. Errors: a kernel index out of range.
fn calls(entries: Vec<Vec<Vec<CallEntry>>>, kernels: &[Ready]) -> Result<Vec<StepCalls>, String> {
    let call = |CallEntry { kernel: number, loads, results }: CallEntry| {
        let ready = kernels.get(number);
        let ready = ready
            .ok_or_else(|| format!("a call is of kernel {number}; the plan has {} kernels", kernels.len()))?;
        Ok((Call { kernel: ready.kernel.clone(), loads, results }, number))
    };
    let task = |calls: Vec<CallEntry>| calls.into_iter().map(call).collect();
    let step = |tasks: Vec<Vec<CallEntry>>| tasks.into_iter().map(task).collect();
    entries.into_iter().map(step).collect()
}
