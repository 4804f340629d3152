//! `cargo xtask check-budgets`: figures of the code that may only decrease, compared with
//! `xtask/budgets.toml`.
//!
//! - [`packages`]: packages, crates in the lock file, crates below `npukit-base`, crates compiled
//!   for a first run;
//! - [`lines`]: lines of the product without its tests;
//! - [`circles`]: circular imports between files;
//! - [`contract`]: methods of the traits that an accelerator implements;
//! - [`top_names`]: names at the top of the targets.
//!
//! A figure above its budget is a problem. A figure below it is printed; `--lower` makes it the new
//! budget.

mod circles;
mod contract;
mod imports;
mod lines;
mod modules;
mod packages;
mod top_names;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::budgets::lowered;
use crate::source::{SourceFile, source_files};
use crate::{Count, Error, files, root};

/// Summary for the help.
pub const ABOUT: &str = "Compares figures of the code with xtask/budgets.toml; --lower stores lower ones";

/// A figure of the code, for example a number of lines.
#[derive(Debug, PartialEq)]
struct Figure {
    /// Key in the file of budgets.
    key: &'static str,
    /// Current value.
    value: usize,
    /// Parts of the value, to explain an exceeded budget.
    parts: Vec<String>,
}

impl Figure {
    fn new(key: &'static str, value: usize) -> Self {
        Self { key, value, parts: Vec::new() }
    }

    /// Creates a figure whose value is the number of its parts.
    fn of(key: &'static str, parts: Vec<String>) -> Self {
        Self { key, value: parts.len(), parts }
    }
}

/// Computes all figures and compares them with the budgets.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let lowers = match arguments {
        [] => false,
        [flag] if flag == "--lower" => true,
        [argument, ..] => {
            return Err(Error::Argument { chore: "check-budgets", argument: argument.clone() });
        }
    };
    let text = files::read(&path())?;
    let budgets: BTreeMap<String, usize> = toml::from_str(&text).map_err(Error::Budgets)?;
    let figures = figures(&source_files(&root())?)?;
    if lowers {
        let figure = |key: &str| figures.iter().find(|figure| figure.key == key);
        // A budget without a figure is a problem of its own.
        let count = |_: &str, key: &str| figure(key).map_or(usize::MAX, |figure| figure.value);
        return files::write(&path(), &lowered(&text, count));
    }
    let problems = problems(&budgets, &figures);
    problems.iter().for_each(|problem| println!("{problem}"));
    if problems.is_empty() {
        println!("{} figures are within their budgets", figures.len());
        return Ok(());
    }
    Err(Error::Found(Count(problems.len())))
}

fn path() -> PathBuf {
    root().join("xtask/budgets.toml")
}

/// Computes every figure of the workspace.
fn figures(files: &[SourceFile]) -> Result<Vec<Figure>, Error> {
    let product = lines::product(files);
    let mut figures = packages::figures()?;
    figures.push(lines::figure(&product)?);
    figures.extend(circles::figures(&product)?);
    figures.extend(contract::figures(&product)?);
    figures.push(top_names::figure(files));
    Ok(figures)
}

/// Figures above their budget, which is 0 if absent, and budgets without a figure.
fn problems(budgets: &BTreeMap<String, usize>, figures: &[Figure]) -> Vec<String> {
    let mut problems = Vec::new();
    for Figure { key, value, parts } in figures {
        let budget = budgets.get(*key).map_or(0, |&budget| budget);
        if *value > budget {
            problems.extend(parts.iter().map(|part| format!("  {key}: {part}")));
            problems.push(format!("`{key}` is {value}, above its budget of {budget}"));
        } else if *value < budget {
            println!("note: `{key}` is {value}, below its budget of {budget}");
        }
    }
    let unknown = budgets.keys().filter(|key| figures.iter().all(|figure| figure.key != key.as_str()));
    problems.extend(unknown.map(|key| format!("budget `{key}` does not belong to a figure")));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budgets(text: &str) -> BTreeMap<String, usize> {
        toml::from_str(text).expect("a table of numbers")
    }

    #[test]
    fn a_figure_above_its_budget_is_a_problem_with_its_parts() {
        let figures = [Figure::of("circles", vec!["a b".to_owned(), "c d".to_owned()])];
        assert_eq!(
            problems(&budgets("circles = 1"), &figures),
            ["  circles: a b", "  circles: c d", "`circles` is 2, above its budget of 1"]
        );
        assert_eq!(problems(&budgets("circles = 2"), &figures), [""; 0]);
    }

    #[test]
    fn figures_and_budgets_belong_together() {
        let problems = problems(&budgets("lines = 1"), &[Figure::new("packages", 1)]);
        assert_eq!(
            problems,
            ["`packages` is 1, above its budget of 0", "budget `lines` does not belong to a figure"]
        );
    }
}
