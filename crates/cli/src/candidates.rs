//! Completions that a shell offers for arguments: names that the library lists.

use std::collections::BTreeSet;

use clap_complete::engine::CompletionCandidate;
use npukit::Instance;
use npukit::options::{OptionSpec, Values};
use npukit::verbs::{glossary, lint, list, zoo};

use crate::disk::Disk;

/// Returns completions for `--target`: the targets, and each with its instances.
pub fn targets() -> Vec<CompletionCandidate> {
    let all = list::list();
    let names = all.iter().map(|target| candidate(target.name.clone(), &target.summary));
    let instances = all.iter().flat_map(list::TargetReport::instances);
    let instances = instances.map(|(name, summary)| candidate(name, summary));
    names.chain(instances).collect()
}

/// Returns the names of the targets without instances.
pub fn target_names() -> Vec<CompletionCandidate> {
    list::list().into_iter().map(|target| candidate(target.name, &target.summary)).collect()
}

/// Returns the stages of all compilers.
pub fn stages() -> Vec<CompletionCandidate> {
    let stages = instances().flat_map(|instance| instance.info().stages.to_vec());
    let all: BTreeSet<&str> = stages.chain(["graph"]).collect();
    all.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the instructions of all targets.
pub fn instructions() -> Vec<CompletionCandidate> {
    let sets = instances().filter_map(|instance| instance.isa().ok());
    let all: BTreeSet<String> = sets.flat_map(|set| set.instructions).map(|spec| spec.name).collect();
    all.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the words that are values of a target option.
pub fn choices(specs: &[(&str, &OptionSpec)]) -> BTreeSet<&'static str> {
    let words = specs.iter().flat_map(|(_, spec)| match spec.values {
        Values::Choice(words) => words,
        Values::Whole { .. } | Values::Real { .. } => &[],
    });
    words.copied().collect()
}

/// Returns the default instance of each target.
fn instances() -> impl Iterator<Item = Box<dyn Instance>> {
    npukit::targets().iter().filter_map(|target| npukit::resolve(target.name, &Disk).ok())
}

/// Returns the reference networks.
pub fn networks() -> Vec<CompletionCandidate> {
    zoo::list().into_iter().map(|network| candidate(network.name, &network.summary)).collect()
}

/// Returns the terms of the glossary that are a single word for the shell.
pub fn terms() -> Vec<CompletionCandidate> {
    let terms = glossary::terms().map(|(_, term)| candidate(term.word.replace(' ', "-"), term.meaning));
    terms.collect()
}

/// Returns names that `npu explain` explains.
pub fn explained() -> Vec<CompletionCandidate> {
    let codes = crate::failure::codes().into_iter().map(|code| candidate(code.name.to_owned(), code.meaning));
    terms().into_iter().chain(codes).chain(lints()).chain(instructions()).collect()
}

/// Returns the codes of lint findings.
pub fn lints() -> Vec<CompletionCandidate> {
    // Default: no target is named, so none can be unknown.
    let lints = lint::lints(None).unwrap_or_default();
    lints.into_iter().map(|one| candidate(one.lint.code.to_owned(), one.lint.meaning)).collect()
}

fn candidate(value: String, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.to_owned().into()))
}
