//! `npu check`, and [`text`]: what it says, also where another command is refused for it.

use clap::Args;
use npukit::report::{MemoryFill, Risk, SaturationRisk, Verdict};
use npukit::verbs::check::{Group, Report, check, check_program};

use crate::answer::Answer;
use crate::args::{CalibrationArgs, ModelSourceArgs, OUTPUT, PreprocessArgs};
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::printable::line;
use crate::requests::{context, model_source};
use crate::table::{counted, facts, percent, thousands};
use crate::text::comparison::{quantisation, rescaling};
use crate::text::layers::{host_steps, latency, listing, on_chip};
use crate::text::remarks;
use crate::verbosity::TimingsArgs;

/// `npu check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: ModelSourceArgs,
    /// Compile the model: memories, cycles and latency are those of a program
    ///
    /// `--calibrate` does so too, and measures values on its samples.
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

/// The whole report: the verdict, then what stands in the way or is left to the host.
pub fn text(report: &Report) -> String {
    let mut text = facts(verdict(report));
    text.extend(report.groups.iter().map(group));
    text += &host_steps(&report.host_steps);
    text += &rescaling(report.rescaling.as_ref());
    text += &quantisation(report.quantisation.as_ref());
    text + &remarks(&report.notes, &report.warnings)
}

/// The verdict, as facts. What is not known of a model that does not fit is left out.
fn verdict(report: &Report) -> Vec<(String, String)> {
    let Verdict { fits, is_idle, memories, speed, cycles, cost_model, saturation, .. } = &report.verdict;
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut lines = vec![fact("verdict", if *fits { fitting(report, *is_idle) } else { refusal(report) })];
    lines.extend(macs(&report.verdict).map(|text| fact("MACs on the chip", text)));
    lines.extend(memories.iter().map(|memory| fact(&format!("memory {}", memory.name), fill(memory))));
    let by = cost_model.iter().map(|model| format!(" ({model})")).collect::<String>();
    lines.extend(cycles.map(|cycles| fact("cycles", thousands(cycles) + &by)));
    lines.extend(cycles.filter(|_| !is_idle).map(|_| fact("latency", latency(speed))));
    let untimed = report.supported && !report.is_compiled;
    lines.extend(untimed.then(|| fact("cycles", "those of a program: `--compile` makes one".to_owned())));
    let steps = Some(report.host_steps.len() as u64).filter(|&steps| steps > 0);
    lines.extend(steps.map(|steps| fact("left to the host", counted(steps, "step"))));
    lines.extend(saturation.as_ref().map(|risk| fact("saturation", saturation_risk(risk))));
    lines
}

/// That it fits, and what that is worth where the chip is idle.
fn fitting(report: &Report, is_idle: bool) -> String {
    let fits = on_chip("fits", &report.on_chip);
    let idle = if is_idle { ", but nothing runs on the chip: all of it is left to the host" } else { "" };
    format!("{fits}{idle}")
}

/// How much stands in the way.
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

/// How much of the model's work the chip does, or would do.
fn macs(verdict: &Verdict) -> Option<String> {
    let (on_chip, all) = (verdict.macs_on_chip?, verdict.macs?);
    let share = verdict.share_of_macs_on_chip.map(|share| format!(" ({})", part(share)));
    let would = if verdict.fits { "" } else { ", of nodes that it takes" };
    let share = share?;
    Some(format!("{} of {}{share}{would}", thousands(on_chip), thousands(all)))
}

/// A share of which something is told where it is little.
fn part(share: f64) -> String {
    const LITTLE: f64 = 0.0005;
    if share > 0.0 && share < LITTLE { "under 0.1 %".to_owned() } else { percent(share) }
}

fn fill(memory: &MemoryFill) -> String {
    let MemoryFill { used, of, unit, share, .. } = memory;
    // Default: a memory without a size has no share of it.
    let share = share.map(|share| format!(" ({})", part(share))).unwrap_or_default();
    format!("{} of {} {unit}{share}", thousands(*used), thousands(*of))
}

fn saturation_risk(found: &SaturationRisk) -> String {
    let risk = match found.risk {
        Risk::None => "no risk",
        Risk::Low => "low risk",
        Risk::High => "high risk",
        _ => "unknown risk",
    };
    format!("{risk}: {}", found.reason)
}

/// What is wrong, the nodes it is wrong with, and what to do.
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
        text += &line(&format!("    refused for this alone, {count}: {}", listing(consequences)));
    }
    text
}
