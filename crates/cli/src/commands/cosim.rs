//! `npu cosim`

use npukit::report::{CosimCycles, CosimPart};
use npukit::verbs::cosim::{Report, Request, cosim};

use super::{calibration_with, context, input_files, preprocess, remarks, source};
use crate::answer::Answer;
use crate::args::CosimArgs;
use crate::colour::Mark;
use crate::disk::{check_apart, write_all};
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{Cell, Column, Row, facts, table, thousands};
use crate::verilator::Verilator;

pub fn run(args: &CosimArgs) -> Result<Answer, Failure> {
    let preprocessing = preprocess(&args.preprocess);
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
        waves: args.waves.is_some(),
    };
    check_apart(args.waves.iter().map(std::path::PathBuf::as_path))?;
    let (report, waves) = cosim(&request, &Verilator, context())?;
    let mut end = String::new();
    if let (Some(path), Some(waves)) = (&args.waves, &waves) {
        write_all(&[(path.clone(), waves)])?;
        end = format!("wrote {}\n", path.display());
    }
    Ok(Answer::new(text(&report) + &end, &report).with_success(report.equal))
}

fn text(report: &Report) -> String {
    let CosimCycles { rtl, model, compared } = report.cycles;
    let cycles = if compared {
        format!("{} by the circuit, {} by the clock", thousands(rtl), thousands(model))
    } else {
        format!("{} by the circuit, not compared with the {} by the clock", thousands(rtl), thousands(model))
    };
    let speed = format!(
        "{} cycles in {:.1} s, {} a second",
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
        None => "equal\n".to_owned(),
        Some(difference) => line(&format!("first difference: {}", difference.message)),
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
