//! The verb `npu check`, and [`text`], its report, which is also printed if another command fails
//! for this reason.

use clap::Args;
use npukit::report::{MemoryFill, Risk, SaturationRisk, Verdict};
use npukit::verbs::check::{Group, Report, check, check_program};

use crate::answer::Answer;
use crate::args::{CalibrationArgs, ModelSourceArgs, OUTPUT, PreprocessArgs};
use crate::color::Mark;
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::printable::line;
use crate::requests::{context, model_source};
use crate::table::{counted, facts, percent, thousands};
use crate::text::comparison::{quantization, rescaling};
use crate::text::layers::{calculated, host_steps, latency, listing, on_chip};
use crate::text::remarks;
use crate::verbosity::{TimingsArgs, is_quiet};

/// Arguments of `npu check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    /// Compile the model to get memories, cycles and latency of a program
    ///
    /// `--calibrate` does this too, and measures values on its samples; so does `--range`, for
    /// generated inputs.
    #[arg(long, help_heading = OUTPUT)]
    pub compile: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

pub fn run(args: &CheckArgs) -> Result<Answer, Failure> {
    let source = model_source(&args.source, &args.lowering, &args.calibration, &args.preprocess)?;
    let report = if args.compile { check_program(&source, context()) } else { check(&source, context()) }?;
    Ok(Answer::new(text(&report), &report).with_success(report.supported))
}

/// Formats the whole report: the verdict, then the problems or the steps on the host.
pub fn text(report: &Report) -> String {
    let lines = facts(verdict(report));
    // Default: without a second line, the target is the only fact.
    let (target, rest) = lines.split_at(lines.find('\n').map_or(0, |end| end + 1));
    let mut text = target.to_owned() + &Mark::of_verdict(report.verdict.fits).first_line(rest);
    text.extend(report.groups.iter().map(group));
    text += &host_steps(&report.host_steps);
    text += &rescaling(report.rescaling.as_ref());
    text += &quantization(report.quantization.as_ref());
    text += &calculated(&report.verdict.speed);
    text + &remarks(&report.notes, &report.warnings) + &next(report)
}

/// Returns the verdict as facts. Unknown values of a model that does not fit are omitted.
/// Names the command after a check with a program; empty with `--quiet`.
fn next(report: &Report) -> String {
    if is_quiet() || !report.is_compiled || !report.supported {
        return String::new();
    }
    line("next: npu compile with the same arguments, except --compile, writes the files for the board")
}

fn verdict(report: &Report) -> Vec<(String, String)> {
    let Verdict { fits, is_idle, memories, speed, cycles, cost_model, saturation, .. } = &report.verdict;
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let answer = if *fits { fitting(report, *is_idle) } else { refusal(report) };
    let mut lines = vec![fact("target", report.target.clone()), fact("verdict", answer)];
    lines.extend(macs(&report.verdict).map(|text| fact("MACs on the accelerator", text)));
    lines.extend(memories.iter().map(|memory| fact(&format!("memory {}", memory.name), fill(memory))));
    let by = cost_model.iter().map(|model| format!(" ({model})")).collect::<String>();
    lines.extend(cycles.map(|cycles| fact("cycles", thousands(cycles) + &by)));
    lines.extend(
        cycles.filter(|_| !is_idle).map(|_| fact("latency", latency(speed, report.host_steps.len()))),
    );
    let untimed = report.supported && !report.is_compiled;
    lines.extend(untimed.then(|| fact("cycles", "not known: add --compile".to_owned())));
    lines.extend(saturation.as_ref().map(|risk| fact("saturation", saturation_risk(risk))));
    lines
}

/// Formats that the model fits, with a warning if the accelerator is idle.
fn fitting(report: &Report, is_idle: bool) -> String {
    let steps = match report.host_steps.len() {
        0 => "fits".to_owned(),
        steps => format!("fits, with {} on the host", counted(steps as u64, "step")),
    };
    let fits = on_chip(&steps, &report.on_chip);
    let idle =
        if is_idle { ", but nothing runs on the accelerator: the host computes everything" } else { "" };
    format!("{fits}{idle}")
}

/// Formats the number of problems.
fn refusal(report: &Report) -> String {
    let (all, kinds) = (report.problems.len(), report.groups.len());
    let consequences: usize = report.groups.iter().map(|group| group.consequences.len()).sum();
    let of_kinds = match kinds {
        kinds if kinds == all - consequences => String::new(),
        kinds => format!(" of {}", counted(kinds as u64, "kind")),
    };
    let folded = match consequences {
        0 => String::new(),
        count => format!(", {} of them consequences", thousands(count as u64)),
    };
    format!("does not fit: {}{of_kinds}{folded}", counted(all as u64, "problem"))
}

/// Formats the share of the model's work that the accelerator does, or would do.
fn macs(verdict: &Verdict) -> Option<String> {
    let (on_chip, all) = (verdict.macs_on_chip?, verdict.macs?);
    let share = verdict.share_of_macs_on_chip.map(|share| format!(" ({})", part(share)));
    let would = if verdict.fits { "" } else { ", of supported nodes" };
    let share = share?;
    Some(format!("{} of {}{share}{would}", thousands(on_chip), thousands(all)))
}

/// Formats a share, with more digits if it is small.
fn part(share: f64) -> String {
    const LITTLE: f64 = 0.0005;
    if share > 0.0 && share < LITTLE { "under 0.1 %".to_owned() } else { percent(share) }
}

fn fill(memory: &MemoryFill) -> String {
    let MemoryFill { used, of, unit, share, .. } = memory;
    // Default: a memory without a size has no share.
    let share = share.map(|share| format!(" ({})", part(share))).unwrap_or_default();
    format!("{} of {} {unit}{share}", thousands(*used), thousands(*of))
}

fn saturation_risk(found: &SaturationRisk) -> String {
    let risk = match found.risk {
        Risk::None => "no risk",
        Risk::Low => "low risk",
        Risk::High => "high risk",
        _ => "unknown",
    };
    format!("{risk}: {}", found.reason)
}

/// Formats a problem, its nodes, and what to do.
fn group(group: &Group) -> String {
    let Group { op, reason, hint, nodes, consequences, .. } = group;
    let mut text = match &nodes[..] {
        [node] => line(&format!("{node} ({op}): {reason}")),
        nodes => {
            let count = thousands(nodes.len() as u64);
            line(&format!("{op}: {reason}")) + &line(&format!("    {count} nodes: {}", listing(nodes)))
        }
    };
    if !hint.is_empty() {
        text += &line(&format!("    help: {hint}"));
    }
    if !consequences.is_empty() {
        let count = thousands(consequences.len() as u64);
        text += &line(&format!("    unsupported only for this reason, {count}: {}", listing(consequences)));
    }
    text
}
