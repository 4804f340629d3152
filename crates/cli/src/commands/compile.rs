//! The verb `npu compile`.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::Preprocess;
use npukit::verbs::compile::{Report, Request, compile_with, emit};
use serde_json::json;

use super::verify;
use crate::answer::Answer;
use crate::args::{CalibrationArgs, ModelSourceArgs, OUTPUT, PreprocessArgs};
use crate::candidates::stages;
use crate::chosen;
use crate::disk::{is_standard, write_all};
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::printable::line;
use crate::requests::{context, input_files, model_source, preprocess};
use crate::table::{Column, facts, table, thousands};
use crate::text::comparison::{quantization, rescaling};
use crate::text::layers::{calculated, choices, cycles, host_steps, latency, on_chip};
use crate::text::remarks;
use crate::verbosity::{TimingsArgs, is_quiet};

/// Arguments of `npu compile`.
#[derive(Debug, Args)]
pub struct CompileArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    /// Folder for the files, by default MODEL_TARGET
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Print the result of a compiler stage
    ///
    /// Stages are `graph` and the target's own stages; for an unknown name, the message lists them.
    #[arg(long, value_name = "STAGE", help_heading = OUTPUT, conflicts_with_all = ["output", "timings"])]
    #[arg(add = ArgValueCandidates::new(stages))]
    pub emit: Option<String>,
    /// Write test vectors next to the program: samples and their bit-exact results
    ///
    /// The samples come from the files; without a file, one is generated. Samples and bit-exact
    /// results are written as `.npy` files and in the format of the target's drivers.
    #[arg(long, value_name = "[NAME=]FILE", help_heading = OUTPUT, num_args = 0.., conflicts_with = "emit")]
    pub test_vectors: Option<Vec<String>>,
    /// Prove the program, and write a certificate next to it
    ///
    /// Proves the program in the written files, like `npu verify`. The certificate is
    /// `NAME.certificate.json`, which `npu verify --certificate` checks. If the program is not
    /// proved, nothing is written and the exit status is 1.
    #[arg(long, help_heading = OUTPUT, conflicts_with = "emit")]
    pub verify: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

pub fn run(args: &CompileArgs) -> Result<Answer, Failure> {
    let mut source = model_source(&args.source, &args.lowering, &args.calibration, &args.preprocess)?;
    if let Some(stage) = &args.emit {
        let text = emit(&source, stage, context())?;
        let json = json!({ "stage": stage, "text": text });
        return Ok(Answer::new(text, &json));
    }
    let test_vectors = args.test_vectors.as_deref().map(input_files);
    let preprocess = preprocess(&args.preprocess);
    if args.calibration.calibrate.is_empty() && test_vectors.as_ref().is_some_and(|files| !files.is_empty()) {
        // The options only apply to the test samples.
        source.calibration.preprocess = Preprocess::default();
    }
    let request = Request { source, test_vectors, preprocess, verify: args.verify };
    let (mut report, files) = compile_with(&request, context())?;
    let chosen = || chosen::of_target(&args.source.model, args.source.target.as_deref()).into();
    let folder: PathBuf = args.output.clone().unwrap_or_else(chosen);
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.name)).collect();
    let contents: Vec<(PathBuf, &[u8])> =
        paths.iter().cloned().zip(files.iter().map(|file| &file.bytes[..])).collect();
    write_all(&contents)?;
    let mut written = paths.iter().map(|path| path.display().to_string());
    report.artifacts = written.by_ref().take(report.artifacts.len()).collect();
    report.test_vectors = written.collect();
    let certificate = report.verification.as_mut().and_then(|proof| proof.certificate.as_mut());
    certificate.into_iter().for_each(|entry| entry.file = report.artifacts.last().cloned());
    Ok(Answer::new(text(&report) + &next(&args.source.model, &report), &report))
}

fn text(report: &Report) -> String {
    let mut text = facts([
        ("model", on_chip(&report.name, &report.on_chip)),
        ("target", report.target.clone()),
        ("chosen", choices(&report.choices)),
        ("layers", report.layers.to_string()),
        ("instructions", thousands(report.instructions as u64)),
        ("cycles", cycles(&report.target, &report.cycles, &report.cost_model)),
        ("latency", latency(&report.speed, report.host_steps.len())),
        ("MACs", report.macs.map_or_else(|| "unknown".to_owned(), thousands)),
        ("constants saturated", report.saturated_constants.map_or_else(|| "unknown".to_owned(), thousands)),
        ("compile time", format!("{:.3} s", report.seconds)),
    ]);
    let rows = report.memory.iter().map(|(name, memory)| {
        let numbers = [memory.maximum, memory.aggregate, memory.depth];
        let unit = std::iter::once(memory.unit.clone());
        std::iter::once(name.clone()).chain(numbers.map(thousands)).chain(unit).collect::<Vec<_>>()
    });
    let columns = [
        Column::left("memory"),
        Column::right("peak"),
        Column::right("total writes"),
        Column::right("size"),
        Column::left("unit"),
    ];
    let numbers = rescaling(report.rescaling.as_ref()) + &quantization(report.quantization.as_ref());
    if !report.memory.is_empty() {
        // There is an empty line before the numbers.
        let end = if numbers.is_empty() { "\n" } else { "" };
        text += &format!("\n{}{end}", table(&columns, rows));
    }
    text += &numbers;
    text += &host_steps(&report.host_steps);
    if let Some(proof) = &report.verification {
        let end = if text.ends_with("\n\n") { "" } else { "\n" };
        text += &format!("{end}{}\n", verify::proof(proof));
    }
    text += &calculated(&report.speed);
    text += &remarks(&report.notes, &report.warnings);
    text.extend(report.artifacts.iter().chain(&report.test_vectors).map(|path| format!("wrote {path}\n")));
    text
}

/// Names a command that runs the artifact, and the contents of a file for it; empty with `--quiet`.
fn next(model: &str, report: &Report) -> String {
    let Some(artifact) = report.artifacts.first().filter(|_| !is_quiet()) else { return String::new() };
    // A model with shapes from options does not fit the artifact when it is read without them.
    let model = match report.is_as_in_file && !is_standard(model.as_ref()) {
        true => format!(" --model {}", word(model)),
        false => String::new(),
    };
    let inputs: Vec<String> =
        report.inputs.iter().map(|port| format!("`{}` of shape {}", port.name, shape(&port.shape))).collect();
    let kind = if inputs.len() > 1 { "npz" } else { "npy" };
    line(&format!("next: npu run {}{model} --input random:1", word(artifact)))
        + &line(&format!(
            "    for your own input, FILE.{kind} instead of random:1, with {}",
            inputs.join(", ")
        ))
}

/// Formats a shape as `1x3x32x32`.
fn shape(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    if sizes.is_empty() { "(one number)".to_owned() } else { sizes.join("x") }
}

/// Quotes a word for a shell, if it needs quotes.
fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,+@%=\\".contains(letter);
    match text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_splits_them() {
        assert_eq!(word("out/m_onnx.toml"), "out/m_onnx.toml");
        assert_eq!(word("my model's.onnx"), r"'my model'\''s.onnx'");
        assert_eq!(shape(&[1, 1, 124, 129]), "1x1x124x129");
    }
}
