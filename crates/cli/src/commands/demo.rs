//! The verb `npu demo`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::demo::{Language, Report, demo};

use super::generate;
use crate::answer::Answer;
use crate::args::TARGET;
use crate::candidates::targets;
use crate::failure::Failure;
use crate::printable::line;
use crate::requests::context;
use crate::table::{View, counted, facts, percent, thousands};
use crate::text::comparison::quantization;
use crate::text::layers::{
    calculated, choices, cycles, decibels, latency, layers, saturations, share_of_range,
};
use crate::text::remarks;
use crate::verbosity::is_quiet;

/// Arguments of `npu demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` after a preset or a file selects one of its systems,
    /// `,NAME=VALUE` sets a parameter. Without the option, `NPU_TARGET` or npu.toml selects the
    /// target.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
}

pub fn run(args: &DemoArgs) -> Result<Answer, Failure> {
    let report = demo(args.target.as_deref(), context())?;
    Ok(Answer::new(text(&report), &report))
}

fn text(report: &Report) -> String {
    let comparison = &report.comparison;
    let chosen =
        if report.choices.is_empty() { String::new() } else { format!("{}, ", choices(&report.choices)) };
    let instructions = counted(report.instructions as u64, "instruction");
    let compiled = format!("{instructions}, {chosen}in {:.3} s", report.compile_seconds);
    let accuracy = |share: f64| format!("{:.2} %", share * 100.0);
    let lines = facts([
        ("network", format!("{}: handwritten digits, 8x8 pixels", report.model)),
        ("target", report.target.clone()),
        ("compiled to", compiled),
        ("images", format!("{}, not seen in training", report.images)),
        ("accuracy, float", accuracy(report.accuracy_float)),
        ("accuracy, fixed point", accuracy(report.accuracy)),
        ("argmax agrees with float", comparison.argmax_agree.map_or_else(String::new, percent)),
        ("largest difference", format!("{:.4}", comparison.max_abs_error)),
        ("of the range", share_of_range(comparison)),
        ("RMS difference", format!("{:.4}", comparison.rms_error)),
        ("signal to noise", decibels(comparison.signal_to_noise_db)),
        ("saturation events", thousands(report.saturations)),
        ("cycles per image", cycles(&report.target, &report.cycles, &report.cost_model)),
        ("latency", latency(&report.speed, report.host_steps.len())),
        ("utilization", report.utilization.map_or_else(|| "unknown".to_owned(), percent)),
        ("seconds", format!("{:.2}", report.seconds)),
    ]);
    lines
        + &saturations(&report.saturations_by_layer)
        + &layers(&report.layers, &View::default())
        + &quantization(report.quantization.as_ref())
        + &calculated(&report.speed)
        + &remarks(&report.notes, &report.warnings)
        + &report.language.as_ref().map(language).unwrap_or_default()
        + &next(&report.target)
}

/// Names commands for the user's own network; empty with `--quiet`.
fn next(target: &str) -> String {
    if is_quiet() {
        return String::new();
    }
    let words = line("words: npu explain WORD explains each word above, as in npu explain utilization");
    words
        + &line(&format!(
            "next: npu check MODEL.onnx --target {target} --compile, with your own network (does it fit, how long does \
             it take?), then npu compile MODEL.onnx --target {target}, which writes the files for the board; \
             npu zoo lists networks to begin with"
        ))
}

fn language(language: &Language) -> String {
    let Language { text, accuracy, .. } = language;
    let heading = "\nA language model that adds (`npu generate`)\n";
    format!(
        "{heading}{}{}\n{}\n{}",
        text.prompt,
        text.answer,
        generate::text(text),
        generate::accuracy_text(accuracy)
    )
}
