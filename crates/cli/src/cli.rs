//! The command line: [`Cli`]. Inputs are `String`s, outputs are `PathBuf`s; a test finds all
//! outputs by this rule.

use clap::{Arg, ArgAction, ColorChoice, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::ArgValueCandidates;

use crate::args::GLOBAL;
use crate::candidates::targets;
use crate::commands::asm::{AsmArgs, DisasmArgs, FormatArgs};
use crate::commands::bench::BenchArgs;
use crate::commands::bug_report::BugReportArgs;
use crate::commands::build::BuildArgs;
use crate::commands::check::CheckArgs;
use crate::commands::compile::CompileArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::conform::ConformArgs;
use crate::commands::cosim::CosimArgs;
use crate::commands::debug::DebugArgs;
use crate::commands::demo::DemoArgs;
use crate::commands::diff::DiffArgs;
use crate::commands::embed::EmbedArgs;
use crate::commands::eval::EvalArgs;
use crate::commands::explain::ExplainArgs;
use crate::commands::explore::ExploreArgs;
use crate::commands::generate::GenerateArgs;
use crate::commands::glossary::GlossaryArgs;
use crate::commands::host::HostArgs;
use crate::commands::isa::IsaArgs;
use crate::commands::lint::LintArgs;
use crate::commands::lsp::LspArgs;
use crate::commands::man::ManArgs;
use crate::commands::report::ReportArgs;
use crate::commands::rtl::RtlArgs;
use crate::commands::run::RunArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::targets::TargetsArgs;
use crate::commands::time::TimeArgs;
use crate::commands::trace::TraceArgs;
use crate::commands::verify::VerifyArgs;
use crate::commands::zoo::ZooArgs;
use crate::examples;
use crate::verbosity::Verbosity;

/// One toolchain for open neural-network accelerators.
///
/// `-` as a file is standard input or, for an output, standard output. If the contents do not
/// identify the format, add an extension: `--input=-.csv`, `npu run -- -.pcp`. A file named `-` is
/// `./-`.
#[derive(Debug, Parser)]
#[command(name = "npu", version, propagate_version = true)]
// Our flag has a better description than the parser's, and does not end parsing.
#[command(disable_help_flag = true, disable_version_flag = true, override_usage = "npu [OPTIONS] <COMMAND>")]
pub struct Cli {
    /// Print help (see more with '--help')
    #[arg(short, long, global = true, action = ArgAction::Help, help_heading = GLOBAL)]
    #[arg(long_help = "Print help (see a summary with '-h')")]
    pub help: Option<bool>,
    /// Target, also after the command
    #[arg(long, value_name = "TARGET", hide_short_help = true, help_heading = GLOBAL)]
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Print JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// When to use color: by default on terminals
    ///
    /// `NO_COLOR` and `TERM=dumb` turn it off, `CLICOLOR_FORCE` turns it on.
    #[arg(long, global = true, value_name = "WHEN", alias = "colour", hide_short_help = true)]
    #[arg(help_heading = GLOBAL)]
    #[arg(value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
    /// Format tables for lines of N characters
    ///
    /// The default is the width of the terminal; without a terminal there is no limit.
    #[arg(long, global = true, value_name = "N", hide_short_help = true, help_heading = GLOBAL)]
    #[arg(value_parser = clap::value_parser!(u16).range(20..))]
    pub width: Option<u16>,
    /// Do not reuse earlier search results
    ///
    /// Programs are the same with and without the cache, which contains search results. It is below
    /// the user's cache folder, with at most 64 MiB, or in the folder `NPU_CACHE`. If `NPU_CACHE`
    /// is empty, nothing is kept after the command.
    #[arg(long, global = true, hide_short_help = true, help_heading = GLOBAL)]
    pub no_cache: bool,
    /// Print the version; with --verbose also build information
    #[arg(short = 'V', long, help_heading = GLOBAL)]
    pub version: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub verbosity: Verbosity,
    /// Command to execute
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Returns the command line, with the examples of each verb.
pub fn command() -> clap::Command {
    with_paths(examples::attach(Cli::command()))
}

/// Commands of `npu`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a model to the files that the board's driver loads
    Compile(CompileArgs),
    /// Run a model or an artifact bit-exactly, or a model in float
    Run(Box<RunArgs>),
    /// Compute a model in float only, as `npu run --target float`
    #[command(hide = true)] // Older name, as all hidden verbs.
    Eval(EvalArgs),
    /// Show how long a model or an artifact takes, and where the time goes (also `npu profile`)
    #[command(alias = "profile")] // a visible one is offered by shells instead of the name
    Time(Box<TimeArgs>),
    /// Write every tensor of a run as an array, as `npu run --dump`
    #[command(hide = true)]
    Trace(TraceArgs),
    /// Step through a program, forwards and backwards, and inspect its memories
    Debug(Box<DebugArgs>),
    /// Check whether a model fits the target, and list what to change
    Check(CheckArgs),
    /// Prove that a program computes its model, for all inputs
    Verify(VerifyArgs),
    /// Show the behavior of a model or an artifact on an HTML page, or in figures
    Report(Box<ReportArgs>),
    /// Compile for many machines and find the Pareto front
    Explore(Box<ExploreArgs>),
    /// Check golden vectors, all that are found in the paths
    Conform(ConformArgs),
    /// Run the embedded network over its held-out images
    Demo(DemoArgs),
    /// Let a language model continue a text, token by token
    Generate(Box<GenerateArgs>),
    /// Serve a language model to programs that use the interface of OpenAI
    Serve(ServeArgs),
    /// Let an encoder make one vector of each text, in float
    Embed(EmbedArgs),
    /// List the reference networks, or write one of them as an ONNX file
    Zoo(ZooArgs),
    /// Measure programs and the simulator, compared with published figures
    Bench(BenchArgs),
    /// Assemble a program
    Asm(AsmArgs),
    /// Disassemble a program
    Disasm(DisasmArgs),
    /// Find errors in a program or an artifact without running it
    Lint(LintArgs),
    /// Format the text of a program
    Format(FormatArgs),
    /// Serve an editor: a language server for program text, on standard input and output
    Lsp(LspArgs),
    /// Print an instruction set, or one of its instructions
    Isa(IsaArgs),
    /// Write an accelerator as a circuit: SystemVerilog, and file lists for tools
    Rtl(RtlArgs),
    /// Make a bitstream of a system that `npu rtl --board` wrote
    Build(BuildArgs),
    /// Run a program on the circuit, and compare everything with the machine and its clock
    Cosim(Box<CosimArgs>),
    /// Encode and decode the host's registers, commands and status
    Host(HostArgs),
    /// Explain a word of a report, an error code, a lint finding or an instruction
    Explain(ExplainArgs),
    /// Explain the terms of the field, of npukit and of its targets, as `npu explain`
    #[command(hide = true)]
    Glossary(GlossaryArgs),
    /// List the targets and their instances, or the options of a target
    Targets(TargetsArgs),
    /// Compare reports printed with --json, or values: tensor by tensor, in layer order
    Diff(Box<DiffArgs>),
    /// Write what a report of a bug needs: versions, instance, structure of the model, and the
    /// result
    BugReport(Box<BugReportArgs>),
    /// Print the script for command completion in a shell
    Completions(CompletionsArgs),
    /// Write the manual pages of this command
    Man(ManArgs),
}

/// Marks the arguments that a shell completes as paths: values named as a file or a folder, and
/// outputs.
fn with_paths(command: clap::Command) -> clap::Command {
    let is_path = |name: &clap::builder::Str| {
        ["FILE", "DIR", "OUT", "MODEL", "PATH", "ARTIFACT", "json", "npz"]
            .iter()
            .any(|part| name.contains(part))
    };
    let hinted = |arg: Arg| {
        let names = arg.get_value_names().filter(|_| arg.get_action().takes_values()).unwrap_or_default();
        if arg.get::<ArgValueCandidates>().is_none() && names.iter().any(is_path) {
            arg.value_hint(ValueHint::FilePath)
        } else {
            arg
        }
    };
    command.mut_subcommands(|verb| verb.mut_args(hinted))
}

#[cfg(test)]
#[path = "../tests/main/faults/table.rs"]
#[expect(dead_code, reason = "the fault suite in `tests` uses all of it")]
mod table;

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    /// The output of `-h` for a verb fits on a screen.
    #[test]
    fn short_help_is_short() {
        let mut command = command().term_width(80);
        command.build();
        for verb in command.get_subcommands_mut() {
            let help = verb.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 56, "{}: {lines} lines\n{help}", verb.get_name());
        }
    }

    /// Verbs that write the results of tools for circuits, which are not always available; their
    /// tests are in `tests/main/rtl.rs` and `tests/main/build.rs`.
    const NEED_TOOLS: [&str; 2] = ["cosim", "build"];

    /// Every verb that writes is in the fault suite, with every option that names an output.
    #[test]
    fn every_output_has_a_row_of_the_fault_suite() {
        let lines: Vec<Vec<&str>> =
            table::ROWS.iter().flat_map(|row| [row.makes(), row.replaces()]).collect();
        let mut verbs = Vec::new();
        for verb in Cli::command().get_subcommands() {
            let is_output = |arg: &&Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            for output in verb.get_arguments().filter(is_output) {
                let name = verb.get_name().to_owned();
                if NEED_TOOLS.contains(&name.as_str()) {
                    continue;
                }
                let long = output.get_long().map(|long| format!("--{long}"));
                let short = output.get_short().map(|short| format!("-{short}"));
                let is_named =
                    |word: &&str| long.as_deref() == Some(*word) || short.as_deref() == Some(*word);
                let has_row = lines.iter().any(|line| line[0] == name && line.iter().any(&is_named));
                assert!(has_row, "{name} {long:?} is in no row of tests/main/faults/table.rs");
                verbs.push(name);
            }
        }
        verbs.dedup();
        assert_eq!(
            verbs,
            [
                "compile",
                "run",
                "eval",
                "time",
                "trace",
                "verify",
                "report",
                "explore",
                "generate",
                "embed",
                "zoo",
                "asm",
                "disasm",
                "format",
                "rtl",
                "host",
                "targets",
                "bug-report",
                "man"
            ]
        );
    }
}
