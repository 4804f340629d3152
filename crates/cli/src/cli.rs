//! The command line: [`Cli`]. Inputs are `String`s, outputs are `PathBuf`s: by that a test finds all outputs.

use clap::{Arg, ArgAction, ColorChoice, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::ArgValueCandidates;

use crate::args::GLOBAL;
use crate::commands::asm::{AsmArgs, DisasmArgs, FormatArgs};
use crate::commands::bench::BenchArgs;
use crate::commands::check::CheckArgs;
use crate::commands::compile::CompileArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::conform::ConformArgs;
use crate::commands::cosim::CosimArgs;
use crate::commands::debug::DebugArgs;
use crate::commands::demo::DemoArgs;
use crate::commands::diff::DiffArgs;
use crate::commands::eval::EvalArgs;
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
use crate::commands::targets::TargetsArgs;
use crate::commands::time::TimeArgs;
use crate::commands::trace::TraceArgs;
use crate::commands::verify::VerifyArgs;
use crate::commands::zoo::ZooArgs;
use crate::examples;
use crate::verbosity::Verbosity;

/// One toolchain for open neural-network accelerators.
///
/// `-` in place of a file is standard input or, for an output, standard output. Where content does not say what it is, an
/// ending does: `--input=-.csv`, `npu run -- -.pcp`. A file of that name is `./-`.
#[derive(Debug, Parser)]
#[command(name = "npu", version, propagate_version = true)]
// The flag of our own says more than the parser's, and does not end the parse.
#[command(disable_help_flag = true, disable_version_flag = true, override_usage = "npu [OPTIONS] <COMMAND>")]
pub struct Cli {
    /// Print help (see more with '--help')
    #[arg(short, long, global = true, action = ArgAction::Help, help_heading = GLOBAL)]
    #[arg(long_help = "Print help (see a summary with '-h')")]
    pub help: Option<bool>,
    /// Print a report for programs instead of tables
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// When to colour: a terminal has colours unless told otherwise
    ///
    /// `NO_COLOR` and `TERM=dumb` say no, `CLICOLOR_FORCE` yes.
    #[arg(long, global = true, value_name = "WHEN", alias = "colour", hide_short_help = true)]
    #[arg(help_heading = GLOBAL)]
    #[arg(value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
    /// Lay tables out for lines of N characters
    ///
    /// Without it the terminal says how many; without a terminal there is no end.
    #[arg(long, global = true, value_name = "N", hide_short_help = true, help_heading = GLOBAL)]
    #[arg(value_parser = clap::value_parser!(u16).range(20..))]
    pub width: Option<u16>,
    /// Search anew for what an earlier compilation has found
    ///
    /// Programs are the same with and without: what is kept is how they were found. It lies below the user's cache folder,
    /// at most 64 MiB, or in the folder that `NPU_CACHE` names; where that is empty, it ends with the command.
    #[arg(long, global = true, hide_short_help = true, help_heading = GLOBAL)]
    pub no_cache: bool,
    /// Print the version; with --verbose also what this command is built of
    #[arg(short = 'V', long, help_heading = GLOBAL)]
    pub version: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub verbosity: Verbosity,
    /// What to do
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The command line, with the examples of each verb.
pub fn command() -> clap::Command {
    with_paths(examples::attach(Cli::command()))
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a model to the files the board's driver loads
    Compile(CompileArgs),
    /// Run a model or an artifact bit-exactly; a model is compared with float
    Run(Box<RunArgs>),
    /// Compute a model in float alone
    Eval(EvalArgs),
    /// Tell how long a model or an artifact takes, and where the time goes (also `npu profile`)
    #[command(alias = "profile")] // a visible one is offered by shells instead of the name
    Time(Box<TimeArgs>),
    /// Write every tensor of a run as an array: of a model in float, or of a program on the machine
    Trace(TraceArgs),
    /// Step through a program, forwards and backwards, and look into its memories
    Debug(Box<DebugArgs>),
    /// List every node of a model that the target cannot take, and what to change
    Check(CheckArgs),
    /// Prove that a program computes its model, for all inputs
    Verify(VerifyArgs),
    /// Show what a model or an artifact does on a page for a browser, or in figures
    Report(Box<ReportArgs>),
    /// Compile models for many machines, and tell which no other beats
    Explore(Box<ExploreArgs>),
    /// Check golden vectors, all that are found in the paths
    Conform(ConformArgs),
    /// Run the embedded network over its held-out images
    Demo(DemoArgs),
    /// Let a language model continue a text, token by token
    Generate(GenerateArgs),
    /// List the reference networks, or write one of them as an ONNX file
    Zoo(ZooArgs),
    /// Measure programs and the simulator beside published figures
    Bench(BenchArgs),
    /// Assemble a program
    Asm(AsmArgs),
    /// Disassemble a program
    Disasm(DisasmArgs),
    /// Find what is wrong with a program or an artifact without running it
    Lint(LintArgs),
    /// Lay out the text of a program
    Format(FormatArgs),
    /// Serve an editor: a language server for program text, on standard input and output
    Lsp(LspArgs),
    /// Print an instruction set, or one of its instructions
    Isa(IsaArgs),
    /// Write an accelerator as a circuit: SystemVerilog, and lists of files for tools
    Rtl(RtlArgs),
    /// Run a program on the circuit of its machine, and compare all with the machine and its clock
    Cosim(Box<CosimArgs>),
    /// Tell what a host writes and reads: registers, commands, status, completion
    Host(HostArgs),
    /// Explain the terms of the field, of npukit and of its targets
    Glossary(GlossaryArgs),
    /// List the targets and their instances, or the options of a target
    Targets(TargetsArgs),
    /// Compare reports printed with --json, or values: tensor by tensor, in the order of layers
    Diff(Box<DiffArgs>),
    /// Print the script that lets a shell complete this command
    Completions(CompletionsArgs),
    /// Write the manual pages of this command
    Man(ManArgs),
}

/// The command line with what a shell completes as a path: values that are called a file, a folder or what is written.
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
#[expect(dead_code, reason = "the fault suite in `tests` has use for all of it")]
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

    /// What `-h` prints of a verb fits a screen.
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

    /// A verb that writes what a simulator of circuits gives, which is not everywhere: its test is in `tests/main/rtl.rs`.
    const NEEDS_SIMULATOR: &str = "cosim";

    /// Every verb that writes is in the fault suite with every option that names an output.
    #[test]
    fn every_output_has_a_row_of_the_fault_suite() {
        let lines: Vec<Vec<&str>> =
            table::ROWS.iter().flat_map(|row| [row.makes(), row.replaces()]).collect();
        let mut verbs = Vec::new();
        for verb in Cli::command().get_subcommands() {
            let is_output = |arg: &&Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            for output in verb.get_arguments().filter(is_output) {
                let name = verb.get_name().to_owned();
                if name == NEEDS_SIMULATOR {
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
                "compile", "run", "eval", "time", "trace", "verify", "report", "explore", "generate", "zoo",
                "targets", "asm", "disasm", "format", "rtl", "host", "man"
            ]
        );
    }
}
