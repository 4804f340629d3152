//! Commands, one module each: they convert arguments to a request, and the report to text.

pub mod asm;
pub mod bench;
pub mod bug_report;
pub mod build;
pub mod check;
pub mod compile;
pub mod completions;
pub mod conform;
pub mod cosim;
pub mod debug;
pub mod demo;
pub mod diff;
pub mod embed;
pub mod eval;
pub mod explain;
pub mod explore;
pub mod generate;
pub mod glossary;
pub mod host;
pub mod isa;
pub mod lint;
pub mod lsp;
pub mod man;
pub mod report;
pub mod rtl;
pub mod run;
pub mod serve;
pub mod targets;
pub mod time;
pub mod trace;
pub mod verify;
mod version;
pub mod zoo;

use clap::CommandFactory;

use crate::answer::Answer;
use crate::cli::{self, Cli, Command};
use crate::failure::Failure;
use crate::parts::Parts;
use crate::watch::Watch;

/// Executes the command line.
pub fn run(cli: &Cli, parts: Option<&Parts>, watch: &Watch) -> Result<Answer, Failure> {
    let Some(command) = cli.command.as_ref().filter(|_| !cli.version) else {
        return Ok(version::run(cli.verbosity.verbose > 0));
    };
    match command {
        Command::Compile(args) => compile::run(args),
        Command::Run(args) => run::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Time(args) => time::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Debug(args) => debug::run(args, cli.json, parts, watch),
        Command::Check(args) => check::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Report(args) => report::run(args),
        Command::Explore(args) => explore::run(args),
        Command::Conform(args) => conform::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Embed(args) => embed::run(args),
        Command::Generate(args) => generate::run(args, cli.json),
        Command::Serve(args) => serve::run(args, cli.json, parts),
        Command::Asm(args) => asm::asm(args),
        Command::Disasm(args) => asm::disasm(args),
        Command::Lint(args) => lint::run(args),
        Command::Format(args) => asm::format(args),
        Command::Lsp(args) => lsp::run(args, parts, cli::command),
        Command::Isa(args) => isa::run(args),
        Command::Build(args) => build::run(args, watch),
        Command::Rtl(args) => rtl::run(args),
        Command::Cosim(args) => cosim::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Glossary(args) => glossary::run(args),
        Command::Host(args) => host::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Zoo(args) => zoo::run(args),
        Command::Targets(args) => targets::run(args),
        Command::Diff(args) => diff::run(args),
        Command::BugReport(args) => bug_report::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args, Cli::command()),
    }
}

pub use check::text as refusal;
pub use completions::answer as complete;
pub use verify::text as proof;
