//! `npu check`, and [`text`]: what it says, also where another command is refused for it.

use npukit::verbs::check::{Group, Report, check};

use super::comparison::quantisation;
use super::layers::{host_steps, listing};
use super::{model_source, remarks, without_bar};
use crate::answer::Answer;
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::printable::line;
use crate::table::{counted, thousands};

pub fn run(args: &CheckArgs) -> Result<Answer, Failure> {
    let source = model_source(&args.source, &args.calibration);
    let report = without_bar(|context| check(&source, context))?;
    Ok(Answer::new(text(&report), &report).with_success(report.supported))
}

/// The whole report.
pub fn text(report: &Report) -> String {
    verdict(report) + &remarks(&report.notes, &report.warnings)
}

fn verdict(report: &Report) -> String {
    if report.supported {
        let quantisation = quantisation(report.quantisation.as_ref());
        return format!("{}{quantisation}supported\n", host_steps(&report.host_steps));
    }
    let text: String = report.groups.iter().map(group).collect();
    let (all, kinds) = (report.problems.len(), report.groups.len());
    let consequences: usize = report.groups.iter().map(|group| group.consequences.len()).sum();
    let of_kinds = match kinds {
        kinds if kinds == all - consequences => String::new(),
        kinds => format!(" of {}", counted(kinds as u64, "kind")),
    };
    let folded = match consequences {
        0 => String::new(),
        count => format!(", {} of them consequences", thousands(count as u64)),
    };
    text + &format!("not supported: {}{of_kinds}{folded}\n", counted(all as u64, "problem"))
}

/// What is wrong, the nodes it is wrong with, and what to do.
fn group(group: &Group) -> String {
    let Group { op, reason, hint, nodes, consequences, .. } = group;
    let mut text = match &nodes[..] {
        [node] => line(&format!("{node} ({op}): {reason}")),
        nodes => {
            let count = thousands(nodes.len() as u64);
            line(&format!("{op}: {reason}")) + &line(&format!("    {count} nodes: {}", listing(nodes)))
        }
    };
    if !hint.is_empty() {
        text += &line(&format!("    help: {hint}"));
    }
    if !consequences.is_empty() {
        let count = thousands(consequences.len() as u64);
        text += &line(&format!("    refused for this alone, {count}: {}", listing(consequences)));
    }
    text
}
