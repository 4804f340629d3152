//! The verb `npu cosim`.

use std::path::PathBuf;

use clap::Args;
use npukit::report::{CosimCycles, CosimPart};
use npukit::verbs::cosim::{Report, Request, cosim};

use crate::answer::Answer;
use crate::args::{CalibrationArgs, INPUTS, OUTPUT, PreprocessArgs, SamplesArgs, SourceArgs, TARGET};
use crate::color::Mark;
use crate::disk::{check_apart, write_all};
use crate::endings::named;
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::printable::line;
use crate::requests::{calibration_with, context, input_files, preprocess_samples, source};
use crate::table::{Cell, Column, Row, facts, table, thousands};
use crate::text::{remarks, written};
use crate::verbosity::TimingsArgs;
use crate::verilator::Verilator;

/// Arguments of `npu cosim`.
#[derive(Debug, Args)]
pub struct CosimArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub source: SourceArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    /// Arrays, images, audio files, `random:SEED`; by default one generated sample
    ///
    /// As for `npu run`. All samples are run, each after a reset, up to the first that differs.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub samples: SamplesArgs,
    /// Use the circuit as it was released, with its defects, and a machine with them
    #[arg(long, help_heading = TARGET)]
    pub released: bool,
    /// Cycles from the address of a read to its data; by default the board's
    #[arg(long, value_name = "N", help_heading = TARGET, value_parser = clap::value_parser!(u64).range(1..=65535))]
    pub latency: Option<u64>,
    /// Cycles from written data to the response; by default as for reads
    #[arg(long, value_name = "N", help_heading = TARGET, value_parser = clap::value_parser!(u64).range(1..=65535))]
    pub response_latency: Option<u64>,
    /// Let memory and streams wait at random, with this seed
    ///
    /// Then values are compared, but cycles are not, since the clock assumes a constant memory
    /// latency.
    #[arg(long, value_name = "SEED", help_heading = TARGET)]
    pub stalls: Option<u64>,
    /// Other circuit: a folder in the format of `npu rtl`
    ///
    /// Its file list, `NAME.f`, determines the files that are read. A testbench in it
    /// (`*_bench.sv`, `harness.cpp`) is used, too.
    #[arg(long, value_name = "DIR", help_heading = TARGET)]
    pub rtl: Option<String>,
    /// Write waveforms around the first difference, or of the start without one
    ///
    /// View settings for GTKWave (`.gtkw`) are written next to it.
    #[arg(long, value_name = "OUT.fst", help_heading = OUTPUT, value_parser = named(&["fst"]))]
    pub waves: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub timings: TimingsArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
}

pub fn run(args: &CosimArgs) -> Result<Answer, Failure> {
    let preprocessing = preprocess_samples(&args.preprocess, &args.samples, &args.calibration.range);
    let calibration = calibration_with(&args.calibration, &args.inputs, &preprocessing);
    let request = Request {
        source: source(&args.source, &args.lowering, calibration)?,
        inputs: input_files(&args.inputs),
        preprocess: preprocessing,
        is_released: args.released,
        latency: args.latency,
        response_latency: args.response_latency,
        stalls: args.stalls,
        rtl: args.rtl.clone(),
        waves: args.waves.as_ref().map(|path| path.display().to_string()),
    };
    check_apart(args.waves.iter().map(PathBuf::as_path))?;
    let (report, waves) = cosim(&request, &Verilator, context())?;
    let mut end = String::new();
    if let (Some(path), Some(waves)) = (&args.waves, &waves) {
        let save = path.with_extension("gtkw");
        write_all(&[(path.clone(), &waves.fst[..]), (save.clone(), &waves.gtkwave[..])])?;
        end = written([&**path, &*save]);
    }
    end += &next(&report, args);
    Ok(Answer::new(text(&report) + &end, &report).with_success(report.equal))
}

/// Formats how to look at the first difference, if the debugger can go there.
fn next(report: &Report, args: &CosimArgs) -> String {
    let difference = report.difference.as_ref().filter(|difference| difference.segment.is_none());
    let Some(instruction) = difference.and_then(|difference| difference.instruction) else {
        return String::new();
    };
    let target = args.source.target.iter().map(|target| format!(" --target {target}"));
    let inputs = args.inputs.iter().map(|input| format!(" --input {input}"));
    let options: String = target.chain(inputs).collect();
    line(&format!("next: npu debug {}{options}, then `goto instruction {instruction}`", args.source.path))
}

fn text(report: &Report) -> String {
    let CosimCycles { rtl, model, compared } = report.cycles;
    let cycles = if compared {
        format!("{} by the circuit, {} by the clock", thousands(rtl), thousands(model))
    } else {
        format!("{} by the circuit, not compared with the {} by the clock", thousands(rtl), thousands(model))
    };
    let speed = format!(
        "{} cycles in {:.1} s, {} per second",
        thousands(report.simulated_cycles),
        report.seconds,
        thousands(report.cycles_per_second as u64)
    );
    let mut text = facts([
        ("program", report.name.clone()),
        ("target", report.target.clone()),
        ("circuit", report.circuit.clone()),
        ("simulator", report.simulator.clone()),
        ("instructions", thousands(report.instructions as u64)),
        ("segments", report.segments.to_string()),
        ("samples", report.samples.to_string()),
        ("cycles", cycles),
        ("simulated", speed),
    ]);
    text += &format!("\n{}\n", parts(&report.compared));
    text += &remarks(&report.notes, &report.warnings);
    text += &match &report.difference {
        None => Mark::Success.first_line("equal\n"),
        Some(difference) => {
            Mark::Fault.first_line(&line(&format!("first difference: {}", difference.message)))
        }
    };
    text
}

fn parts(parts: &[CosimPart]) -> String {
    let row = |part: &CosimPart| {
        let cells = vec![part.what.as_str().into(), Cell::count(part.numbers), Cell::count(part.different)];
        Row::new(cells, (part.different > 0).then_some(Mark::Fault))
    };
    let columns = [Column::left("compared"), Column::right("numbers"), Column::right("different")];
    table(&columns, parts.iter().map(row))
}
