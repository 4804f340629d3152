//! The verb `npu targets`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::first_instance;
use npukit::options::OptionSpec;
use npukit::verbs::list::{Parameter, TargetReport, drawing, list, list_one, options, parameters_of, tools};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::candidates::target_names;
use crate::disk::write_all;
use crate::endings::named;
use crate::failure::Failure;
use crate::printable::line;
use crate::requests::context;
use crate::table::{Column, table};

/// Arguments of `npu targets`.
#[derive(Debug, Args)]
pub struct TargetsArgs {
    /// Only this target; for an instance, the parameters that its name may set
    #[arg(value_name = "TARGET", add = ArgValueCandidates::new(target_names))]
    pub target: Option<String>,
    /// List its options instead of its instances
    #[arg(long, requires = "target")]
    pub options: bool,
    /// Draw the units, memories and data paths of the instance
    #[arg(long, value_name = "FILE.svg", requires = "target", conflicts_with = "options", value_parser = named(&["svg"]))]
    pub svg: Option<PathBuf>,
}

pub fn run(args: &TargetsArgs) -> Result<Answer, Failure> {
    let Some(name) = &args.target else {
        let targets = list();
        let texts: Vec<String> = targets.iter().map(instances).collect();
        return Ok(Answer::new(texts.join("\n"), &json!({ "targets": targets })));
    };
    if args.options {
        let specs = options(name, context())?;
        return Ok(Answer::new(option_table(specs), &json!({ "options": specs })));
    }
    if let Some(path) = &args.svg {
        write_all(&[(path.clone(), drawing(name, context())?.as_bytes())])?;
        let artifact = path.display().to_string();
        return Ok(Answer::new(format!("wrote {artifact}\n"), &json!({ "artifacts": [artifact] })));
    }
    if name.contains(':') {
        let parameters = parameters_of(name, context())?;
        return Ok(Answer::new(parameter_table(&parameters), &json!({ "parameters": parameters })));
    }
    let target = list_one(name)?;
    Ok(Answer::new(instances(&target), &json!({ "targets": [target] })))
}

/// Note on the tools of the table of instances.
const TOOLS: &str =
    "bitstream by: tools for a system that `npu rtl INSTANCE --board` writes; no board has run one yet";

/// Formats a target and its instances.
fn instances(target: &TargetReport) -> String {
    let (first, has_tools) = (first_instance(), target.instances().any(|(name, _)| tools(&name).is_some()));
    let row = |(name, summary): (String, &str)| {
        let mark = if name == first { "(start here) " } else { "" };
        let summary = format!("{mark}{summary}");
        // Default: a dash without tools.
        let tools = has_tools.then(|| tools(&name).unwrap_or("-").to_owned());
        [Some(name), tools, Some(summary)].into_iter().flatten().collect::<Vec<_>>()
    };
    let tools_column = has_tools.then_some(Column::left("bitstream by"));
    let columns = [Some(Column::left("--target")), tools_column, Some(Column::text("instance"))];
    let columns: Vec<_> = columns.into_iter().flatten().collect();
    let text = line(&format!("{}: {}", target.name, target.summary)) + "\n";
    let text = text + &table(&columns, target.instances().map(row));
    match has_tools {
        true => text + &line(TOOLS),
        false => text,
    }
}

/// Formats one line per parameter.
fn parameter_table(parameters: &[Parameter]) -> String {
    let value = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    };
    let rows = parameters.iter().map(|parameter| vec![parameter.name.clone(), value(&parameter.value)]);
    table(&[Column::left("parameter"), Column::text("value")], rows)
}

/// Formats one line per option.
fn option_table(specs: &[OptionSpec]) -> String {
    let row = |spec: &OptionSpec| {
        let cells = [spec.key, spec.stage.name(), &spec.values.to_string(), spec.default, spec.doc];
        cells.map(str::to_owned).to_vec()
    };
    let columns = [
        Column::left("option"),
        Column::left("stage").minor(2),
        Column::text("values"),
        Column::left("default").minor(1),
        Column::text("effect"),
    ];
    table(&columns, specs.iter().map(row))
}
