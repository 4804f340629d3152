//! The verb `npu run` for assembly and binary programs.

use std::path::{Path, PathBuf};

use npukit::verbs::run::{AsmReport, AsmRunOptions, Expectations, Request, run_asm};
use npukit::{DumpRequest, Limits, MemoryDump};

use super::waves;
use crate::answer::Answer;
use crate::commands::run::RunArgs;
use crate::disk::{check_apart, write_all};
use crate::failure::Failure;
use crate::printable::line;
use crate::requests::context;
use crate::table::{Column, counted, facts, table, thousands};
use crate::text::layers::{calculated, latency};
use crate::text::{remarks, written};
use crate::verbosity::is_quiet;

/// Maximum number of addresses that are shown of a memory.
const SHOWN: usize = 64;

/// Returns the options that only apply to such programs.
pub fn asm_options(args: &RunArgs) -> Result<AsmRunOptions, Failure> {
    let limits =
        Limits { instructions: args.asm_options.max_instructions, cycles: args.asm_options.max_cycles };
    let dump = |text: &String| DumpRequest::parse(text).ok_or_else(|| Failure::Dump { text: text.clone() });
    let dumps = args.dump.iter().map(dump).collect::<Result<_, _>>()?;
    Ok(AsmRunOptions {
        mem: args.asm_options.mem.clone(),
        dumps,
        motion: args.asm_options.motion.clone(),
        limits,
    })
}

pub fn run(args: &RunArgs, mut request: Request) -> Result<Answer, Failure> {
    request.asm_options = asm_options(args)?;
    request.dump = false;
    let files = request.asm_options.dumps.iter().filter_map(|dump| dump.path.as_ref()).map(Path::new);
    let motion = request.asm_options.motion.as_ref().map(|motion| PathBuf::from(&motion.path));
    check_apart(args.output.iter().chain(&args.waves).chain(&motion).map(PathBuf::as_path).chain(files))?;
    let (report, files) = run_asm(&request, context())?;
    let outputs = args.output.iter().map(|path| (path.clone(), &files.outputs[..]));
    let dumps = files.dumps.iter().map(|(path, bytes)| (PathBuf::from(path), &bytes[..]));
    let drawn = motion.iter().cloned().zip(files.motion.as_deref().map(str::as_bytes));
    let waves: Vec<_> = waves(args, files.waves.as_ref()).collect();
    // A dumped memory names its file itself.
    let message = args.output.iter().chain(&motion).chain(waves.iter().map(|(path, _)| path));
    let end = written(message.map(PathBuf::as_path));
    write_all(&outputs.chain(dumps).chain(drawn).chain(waves.iter().cloned()).collect::<Vec<_>>())?;
    Ok(Answer::new(text(&report) + &end, &report).with_success(report.expectations.failed.is_empty()))
}

fn text(report: &AsmReport) -> String {
    let mut lines = vec![
        ("program", report.name.clone()),
        ("target", report.target.clone()),
        ("instructions", thousands(report.instructions)),
    ];
    lines.extend(report.cycles.map(|cycles| ("cycles", thousands(cycles))));
    if report.speed.latency_ms.is_some() {
        lines.push(("latency", latency(&report.speed, 0)));
    }
    lines.extend(expectations(&report.expectations));
    lines.push(("seconds", format!("{:.3}", report.seconds)));
    let mut text = facts(lines);
    for held in report.outputs.iter().chain(&report.dumps) {
        text += &memory(held);
    }
    text += &calculated(&report.speed);
    text += &remarks(&report.notes, &[]);
    // A warning is followed by its line of the program.
    let warnings = report.warnings.iter().filter(|_| !is_quiet());
    text.extend(
        warnings.flat_map(|warning| format!("warning: {warning}").lines().map(line).collect::<Vec<_>>()),
    );
    let failed = report.expectations.failed.iter();
    text.extend(failed.map(|failed| format!("failed: {}\n", failed.message)));
    text
}

/// Formats the number of expectations that are met; `None` without expectations.
fn expectations(found: &Expectations) -> Option<(&'static str, String)> {
    let all = found.passed + found.failed.len();
    let text = match (all, found.failed.len()) {
        (0, _) => return None,
        (_, 0) => format!("all {all} hold"),
        (_, failed) => format!("{failed} of {all} failed"),
    };
    Some(("expectations", text))
}

/// Formats the contents of a memory range, one address per line: its numbers, and next to them
/// their real values.
fn memory(held: &MemoryDump) -> String {
    if let Some(file) = &held.file {
        return line(&format!("wrote {file}: {}, {}", held.name, counted(held.count as u64, "number")));
    }
    let lanes = held.lanes.max(1);
    let real = |row: usize| {
        let real = held.real.as_ref()?.get(row * lanes..(row + 1) * lanes)?;
        Some(real.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    let row = |(row, raw): (usize, &[i64])| {
        let mut cells = vec![(held.start + row as u64).to_string()];
        cells.push(raw.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        // Default: a memory of integers has no real values, and no column for them.
        cells.extend(held.real.is_some().then(|| real(row).unwrap_or_default()));
        cells
    };
    let mut columns = vec![Column::right(&held.name), Column::text("raw")];
    columns.extend(held.real.is_some().then_some(Column::text("real")));
    let rows = held.raw.chunks(lanes).take(SHOWN).enumerate().map(row);
    let addresses = (held.end - held.start) as usize;
    let more = match addresses.saturating_sub(SHOWN) {
        0 => String::new(),
        more => {
            let more = thousands(more as u64);
            format!("addresses that are not shown: {more}; `--dump NAME[A:B]=FILE` writes them\n")
        }
    };
    format!("\n{}{more}", table(&columns, rows))
}
