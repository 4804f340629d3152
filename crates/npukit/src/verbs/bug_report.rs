//! `npu bug-report`: the facts that a report of a bug needs, without private data.
//!
//! Weights and samples are never part of it. Names of nodes and tensors, and paths, are replaced
//! unless they are asked for.

use std::collections::BTreeSet;
use std::path::Path;

use npukit_graph::Graph;
use npukit_import::onnx::operators;
use serde_json::{Value, json};

use super::check::check_program;
use super::version::{Build, version};
use crate::Context;
use crate::model::source::Source;
use crate::targets::resolve;

/// Words that many models use as names. They do not identify a model.
const COMMON: [&str; 8] = ["input", "inputs", "output", "outputs", "data", "model", "graph", "node"];

/// Keys of reports whose values are names of nodes.
const NODE_KEYS: [&str; 3] = ["node", "nodes", "consequences"];

/// Maximum length in bytes of a name that is kept: a replacement would also change ordinary text.
const SHORT: usize = 2;

/// Text of a report of a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BugReport {
    /// Versions, platform, instance, options, and the report or the error of `npu check`; as JSON.
    pub facts: String,
    /// Structure of the model: operators, attributes, shapes and types, without elements of
    /// tensors. `None` if the model cannot be read.
    pub graph: Option<String>,
}

/// Checks a model like `npu check --compile`, and collects the facts. Errors of the check are part
/// of the report. Without `has_names`, names and paths are replaced.
pub fn bug_report(source: &Source, build: Build, has_names: bool, context: Context<'_>) -> BugReport {
    let graph = source.graph(context).ok();
    let outcome = match check_program(source, context) {
        Ok(report) => json!({ "check": report }),
        Err(error) => json!({ "error": error.json() }),
    };
    let names = if has_names { Names::default() } else { Names::of(source, graph.as_ref(), &outcome) };
    let hides_quotes = graph.is_none() && !has_names;
    let hidden = |text: &str| {
        let text = names.replaced(text);
        if hides_quotes { without_quotes(&text) } else { text }
    };
    let facts = json!({
        "npukit": version(build),
        "has_names": has_names,
        "target": source.target.as_deref().map(|spec| names.replaced(spec)),
        "instance": instance(source, context),
        "options": source.options,
        "outcome": mapped(outcome, &hidden),
    });
    let graph = graph.map(|graph| if has_names { graph } else { numbered(graph) }.to_string());
    BugReport { facts: format!("{facts:#}\n"), graph }
}

/// Returns the parameters and the system of the instance; null if it cannot be read.
fn instance(source: &Source, context: Context<'_>) -> Value {
    let instance = source.target.as_ref().and_then(|spec| resolve(spec, context.reader).ok());
    instance.map_or(
        Value::Null,
        |instance| json!({ "parameters": instance.info().parameters, "system": instance.info().system }),
    )
}

/// Returns the graph with numbers as names.
fn numbered(mut graph: Graph) -> Graph {
    graph.name = "model".to_owned();
    graph.values.iter_mut().enumerate().for_each(|(index, value)| value.name = format!("v{index}"));
    graph.nodes.iter_mut().enumerate().for_each(|(index, node)| node.name = format!("n{index}"));
    graph
}

/// Applies a function to every text of a JSON value, except the keys of objects.
fn mapped(value: Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(values) => values.into_iter().map(|value| mapped(value, change)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, mapped(value, change))).collect()
        }
        other => other,
    }
}

/// Private names and their replacements, the longest first.
#[derive(Default)]
struct Names(Vec<(String, String)>);

impl Names {
    /// Collects the paths of a source, and the names of its model: from the graph or, if it cannot
    /// be read, from the outcome of the check.
    fn of(source: &Source, graph: Option<&Graph>, outcome: &Value) -> Self {
        let path = source.path.as_str();
        // Default: a file without an extension.
        let extension = Path::new(path).extension().unwrap_or_default().to_string_lossy();
        let mut all = vec![(path.to_owned(), format!("model.{extension}"))];
        let target = source.target.as_deref().and_then(|spec| spec.split_once(':'));
        all.extend(target.and_then(|(_, instance)| folder(instance)).map(|folder| (folder, String::new())));
        let operators: BTreeSet<&str> = operators().collect();
        let is_private = |name: &str| {
            let tells = name.len() > SHORT && !name.bytes().all(|byte| byte.is_ascii_digit());
            tells && !COMMON.contains(&name) && !operators.contains(name)
        };
        let of_model = graph.map_or_else(|| of_outcome(outcome), of_graph);
        all.extend(of_model.into_iter().filter(|(name, _)| is_private(name)));
        all.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self(all)
    }

    fn replaced(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, number)| text.replace(name, number))
    }
}

/// Returns all names of a graph, with numbers.
fn of_graph(graph: &Graph) -> Vec<(String, String)> {
    let nodes = graph.nodes.iter().enumerate().map(|(index, node)| (&node.name, format!("n{index}")));
    let values = graph.values.iter().enumerate().map(|(index, value)| (&value.name, format!("v{index}")));
    let model = std::iter::once((&graph.name, "model".to_owned()));
    model.chain(nodes).chain(values).map(|(name, number)| (name.clone(), number)).collect()
}

/// Returns the nodes that the outcome of a check names, with numbers.
fn of_outcome(outcome: &Value) -> Vec<(String, String)> {
    let mut names = BTreeSet::new();
    add_nodes(outcome, false, &mut names);
    names.into_iter().enumerate().map(|(index, name)| (name, format!("n{index}"))).collect()
}

/// Adds the texts of a JSON value that are names of nodes. `is_name` states whether texts directly
/// in the value are.
fn add_nodes(value: &Value, is_name: bool, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_name => drop(names.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| add_nodes(value, is_name, names)),
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| add_nodes(value, NODE_KEYS.contains(&key.as_str()), names))
        }
        _ => {}
    }
}

/// Returns the folder of a path, with its last separator.
fn folder(path: &str) -> Option<String> {
    path.rfind(['/', '\\']).map(|end| path[..=end].to_owned())
}

/// Replaces quoted texts, which may be names of a model that cannot be read. Operators, options and
/// the replaced path remain.
fn without_quotes(text: &str) -> String {
    let operators: BTreeSet<&str> = operators().collect();
    let mut hidden = String::new();
    let mut rest = text;
    while let Some((before, quote, quoted, after)) = quoted(rest) {
        let is_kept = operators.contains(quoted) || quoted.starts_with("--") || quoted.starts_with("model.");
        hidden += &format!("{before}{quote}{}{quote}", if is_kept { quoted } else { "..." });
        rest = after;
    }
    hidden + rest
}

/// Splits a text at its first quoted part: text before it, quote, part, text after it.
fn quoted(text: &str) -> Option<(&str, char, &str, &str)> {
    let start = text.find(['`', '"'])?;
    let quote = if text[start..].starts_with('`') { '`' } else { '"' };
    let (part, after) = text[start + 1..].split_once(quote)?;
    Some((&text[..start], quote, part, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_an_unreadable_model_have_numbers() {
        let outcome =
            json!({ "groups": [{ "nodes": ["b/frob", "a/conv"], "op": "Frob" }], "node": "a/conv" });
        let names: Vec<String> = of_outcome(&outcome).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a/conv", "b/frob"]);
    }

    #[test]
    fn quoted_names_are_hidden() {
        let message = "Conv \"secret/conv\": `Foo` of `model.onnx`, add `--batch`; `Relu` and it's `open";
        let wanted = "Conv \"...\": `...` of `model.onnx`, add `--batch`; `Relu` and it's `open";
        assert_eq!(without_quotes(message), wanted);
    }
}
