//! What a shell offers for an argument: names that the library lists.

use clap_complete::engine::CompletionCandidate;
use npukit::verbs::{glossary, list, zoo};

/// What `--target` takes: the targets, and each with its instances.
pub fn targets() -> Vec<CompletionCandidate> {
    let all = list::list();
    let names = all.iter().map(|target| candidate(target.name.clone(), &target.summary));
    let instances = all.iter().flat_map(list::TargetReport::instances);
    let instances = instances.map(|(name, summary)| candidate(name, summary));
    names.chain(instances).collect()
}

/// The targets without instances.
pub fn target_names() -> Vec<CompletionCandidate> {
    list::list().into_iter().map(|target| candidate(target.name, &target.summary)).collect()
}

/// The reference networks.
pub fn networks() -> Vec<CompletionCandidate> {
    zoo::list().into_iter().map(|network| candidate(network.name, &network.summary)).collect()
}

/// The words of the glossary, each one word of a shell's.
pub fn terms() -> Vec<CompletionCandidate> {
    let terms = glossary::terms().map(|(_, term)| candidate(term.word.replace(' ', "-"), term.meaning));
    terms.collect()
}

fn candidate(value: String, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.to_owned().into()))
}
