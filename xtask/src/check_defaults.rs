//! `cargo xtask check-defaults`: checks that defaults in code that computes numbers have a reason.
//!
//! In the folders and files of [`PLACES`], each `unwrap_or_default()`, `unwrap_or(LITERAL)` and
//! `let _ =` needs a comment on its line or directly above. It begins with [`REASON`], and
//! explains why the default is the right value. `let _ = write!(..)` to a `String` cannot fail and
//! needs no reason. For broken invariants, use an index, an `expect("why it holds")` or an error.

use crate::source::{SourceFile, source_files};
use crate::{Count, Error, root};

/// Summary for the help.
pub const ABOUT: &str = "Lists defaults without a reason where programs are made, run and timed";

/// Names of the searched files (without `.rs`) and folders, in every crate and target.
const PLACES: &[&str] = &["exec", "lower", "schedule", "clock", "numeric"];

/// Start of a comment that gives the reason for a default.
const REASON: &str = "// Default:";

/// Prints every default without a reason.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::Argument { chore: "check-defaults", argument: argument.clone() });
    }
    let files = source_files(&root())?;
    let searched: Vec<&SourceFile> = files.iter().filter(|file| is_searched(&file.path)).collect();
    let silent: Vec<String> = searched.iter().flat_map(|file| silent_defaults(file)).collect();
    silent.iter().for_each(|place| println!("{place}"));
    if silent.is_empty() {
        println!("every default of {} files has its reason", searched.len());
        return Ok(());
    }
    Err(Error::Found(Count(silent.len())))
}

/// Whether a file is Rust code of the product, outside its tests, and in one of [`PLACES`].
fn is_searched(path: &str) -> bool {
    let Some(stem) = path.strip_suffix(".rs") else { return false };
    let mut parts = stem.split('/');
    let is_product = matches!(parts.next(), Some("crates" | "targets"));
    is_product && stem.contains("/src/") && parts.any(|part| PLACES.contains(&part))
}

/// Defaults of a file without a reason, in the form `path:line: code`.
fn silent_defaults(file: &SourceFile) -> Vec<String> {
    let lines: Vec<&str> = file.code().lines().collect();
    let silent = (0..lines.len()).filter(|&index| {
        is_default(code(lines[index])) && !has_reason(&lines, index) && !writes_text(&lines, index)
    });
    silent.map(|index| format!("{}:{}: {}", file.path, index + 1, lines[index].trim())).collect()
}

/// Returns the line without its comment.
fn code(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

fn is_default(code: &str) -> bool {
    let literal = code.split(".unwrap_or(").skip(1).any(is_literal);
    literal || code.contains(".unwrap_or_default()") || code.contains("let _ =")
}

/// Whether an argument is a literal or an empty value, followed by its end: `0)`, `&[])`,
/// `f32::NAN)`.
fn is_literal(argument: &str) -> bool {
    let argument = argument.trim_start_matches(['&', '-']);
    let number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let is_number = argument.starts_with(|c: char| c.is_ascii_digit())
        && argument.trim_start_matches(number).starts_with(')');
    let known = ["true)", "false)", "\"\")", "[])", "\"\".", "String::new())", "Vec::new())"];
    is_number || known.iter().any(|known| argument.starts_with(known))
}

/// Whether the statement of `let _ =` formats into a `String`, on its line or on the next one.
fn writes_text(lines: &[&str], index: usize) -> bool {
    let Some((_, value)) = lines[index].split_once("let _ =") else { return false };
    let next = || lines.get(index + 1).map_or("", |line| line.trim());
    let value = if value.trim().is_empty() { next() } else { value.trim() };
    value.starts_with("write!(") || value.starts_with("writeln!(")
}

/// Whether the line, or a comment directly above its statement, gives the reason.
fn has_reason(lines: &[&str], index: usize) -> bool {
    let comment = |line: &&&str| line.trim_start().starts_with("//");
    let above = lines[..index].iter().rev().take_while(comment);
    lines[index].contains(REASON) || above.into_iter().any(|line| line.trim_start().starts_with(REASON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        if is_searched(path) { silent_defaults(&file) } else { Vec::new() }
    }

    #[test]
    fn text_is_written_without_a_reason_and_nothing_else() {
        let text = "fn f() {\n    let _ = writeln!(text, \"a\");\n    let _ =\n        write!(text, \"b\");\n    let _ = run();\n}\n";
        assert_eq!(
            found("targets/a/src/lower/print.rs", text),
            ["targets/a/src/lower/print.rs:5: let _ = run();"]
        );
    }

    #[test]
    fn defaults_without_a_reason_are_found_with_their_line() {
        let text = "fn f() {\n    let x = y.get(1).copied().unwrap_or(0);\n}\n";
        let line = "targets/tcu/src/machine/exec/simd.rs:2: let x = y.get(1).copied().unwrap_or(0);";
        assert_eq!(found("targets/tcu/src/machine/exec/simd.rs", text), [line]);
        for code in [
            "x.unwrap_or_default();",
            "let _ = f();",
            "x.unwrap_or(false)",
            "x.unwrap_or(-1.5)",
            "x.unwrap_or(&0)",
            "x.unwrap_or(&[])",
            "x.unwrap_or(1 << 4).unwrap_or(7_u64)",
            "x.unwrap_or(\"\")",
        ] {
            assert_eq!(found("crates/lower/src/place.rs", code).len(), 1, "{code}");
        }
    }

    #[test]
    fn a_reason_stands_on_the_line_or_right_above() {
        for text in [
            "x.unwrap_or(0) // Default: the largest of none",
            "// Default: the largest of none is 0,\n// as of no numbers.\nx.unwrap_or(0)",
            "// About x.\n    // Default: none.\n    x.unwrap_or_default()",
        ] {
            assert_eq!(found("targets/opu/src/clock.rs", text), [""; 0], "{text}");
        }
        for text in ["// Default: for f.\nf();\nx.unwrap_or(0)", "// By default: 0.\nx.unwrap_or(0)"] {
            assert_eq!(found("targets/opu/src/clock.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn values_that_are_said_are_no_silent_defaults() {
        for code in [
            "x.unwrap_or(width)",
            "x.unwrap_or(0.max(y))",
            "x.unwrap_or(u64::MAX)",
            "// x.unwrap_or(0)",
            "let _guard = f();",
            "#[cfg(test)]\nmod tests { fn f() { x.unwrap_or(0) } }",
        ] {
            assert_eq!(found("targets/opu/src/clock.rs", code), [""; 0], "{code}");
        }
    }

    #[test]
    fn only_what_makes_runs_and_times_programs_is_searched() {
        for path in [
            "targets/pccx/src/machine/exec.rs",
            "targets/drra/src/isa/pasm/schedule/search.rs",
            "crates/numeric/src/npy.rs",
            "crates/lower/src/place.rs",
        ] {
            assert_eq!(found(path, "x.unwrap_or(0)").len(), 1, "{path}");
        }
        for path in [
            "targets/pccx/tests/main/exec.rs",
            "targets/pccx/src/program/artifact.rs",
            "targets/pccx/src/lowering.rs",
            "xtask/src/lower/x.rs",
            "targets/pccx/src/machine/exec/README.md",
        ] {
            assert_eq!(found(path, "x.unwrap_or(0)"), [""; 0], "{path}");
        }
    }
}
