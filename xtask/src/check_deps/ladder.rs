//! Ladder of allowed dependencies between our crates. `ARCHITECTURE.md` explains it.

use super::Problem;
use super::metadata::{Edge, Kind};
use crate::root;

/// Position of a crate on the ladder.
#[derive(Clone, Copy)]
struct Rung<'a> {
    /// Package name of the crate.
    name: &'a str,
    /// Line of the crate. It may depend on all crates of lower lines...
    line: u8,
    /// ...or, if present, on these crates only.
    only: Option<&'static [&'static str]>,
}

const fn rung(line: u8, name: &str) -> Rung<'_> {
    Rung { name, line, only: None }
}

const fn only<'a>(line: u8, name: &'a str, only: &'static [&'static str]) -> Rung<'a> {
    Rung { name, line, only: Some(only) }
}

/// Line of the targets, which are the folders of `targets`.
pub const TARGETS: u8 = 4;

/// Crates that the suite of the targets may use.
const TESTING: &[&str] = &[
    "npukit-base",
    "npukit-shared",
    "npukit-isa",
    "npukit-numeric",
    "npukit-graph",
    "npukit-asm",
    "npukit-target",
];

/// All other crates. A crate that is not listed must not be in the workspace.
const LADDER: &[Rung<'_>] = &[
    only(0, "npukit-base", &[]),
    only(0, "npukit-needs", &[]),
    only(1, "npukit-shared", &["npukit-needs"]),
    only(1, "npukit-isa", &["npukit-base"]),
    only(1, "npukit-numeric", &["npukit-base"]),
    only(1, "npukit-graph", &["npukit-base", "npukit-numeric"]),
    rung(2, "npukit-asm"),
    rung(2, "npukit-lower"),
    rung(2, "npukit-import"),
    rung(2, "npukit-trace"),
    rung(3, "npukit-target"),
    only(3, "npukit-models", &["npukit-numeric", "npukit-graph", "npukit-import"]),
    rung(4, "npukit-report"),
    rung(4, "npukit-verify"),
    rung(4, "npukit-debug"),
    only(TARGETS, "npukit-testing", TESTING),
    rung(TARGETS, "npukit-skeleton"),
    rung(5, "npukit"),
    only(5, "npukit-editor", &["npukit-base", "npukit-isa", "npukit-asm", "npukit-target", "npukit-debug"]),
    rung(6, "npukit-fuzzing"),
    rung(6, "npukit-board-sim"),
    only(6, "npukit-cli", &["npukit", "npukit-debug"]),
    only(6, "npukit-python", &["npukit"]),
    only(6, "xtask", &[]),
    only(
        7,
        "npukit-interactive",
        &["npukit", "npukit-cli", "npukit-debug", "npukit-editor", "npukit-target"],
    ),
];

/// Returns every dependency that the ladder does not allow.
pub fn check(edges: &[Edge]) -> Vec<Problem> {
    edges.iter().filter_map(|edge| broken(edge).map(|m| problem(edge, m))).collect()
}

/// Dev-dependencies that only tests may have, printed for information.
pub fn notes(edges: &[Edge]) -> Vec<String> {
    let tests_only = |edge: &&Edge| {
        let as_normal = Edge { kind: Kind::Normal, ..(*edge).clone() };
        edge.kind == Kind::Dev && broken(edge).is_none() && broken(&as_normal).is_some()
    };
    let say = |edge: &Edge| format!("tests of {} use {}, which its code may not", edge.from, edge.to);
    edges.iter().filter(tests_only).map(say).collect()
}

fn problem(edge: &Edge, message: String) -> Problem {
    let what = match edge.kind {
        Kind::Normal => "dependency",
        Kind::Dev => "dev-dependency",
        Kind::Build => "build-dependency",
    };
    Problem { place: edge.from.clone(), message: format!("{what} on {}: {message}", edge.to) }
}

/// Reason why the ladder does not allow `edge`; `None` if it does.
fn broken(edge: &Edge) -> Option<String> {
    let (from, to) = match (find(&edge.from), find(&edge.to)) {
        (Some(from), Some(to)) => (from, to),
        (None, _) => return Some(unknown(&edge.from)),
        (_, None) => return Some(unknown(&edge.to)),
    };
    match (edge.kind, from.only) {
        (Kind::Dev, _) if to.line <= from.line => None,
        (Kind::Dev, _) => Some(higher(from, to, "at most")),
        (_, Some(allowed)) if allowed.contains(&to.name) => None,
        (_, Some([])) => Some(format!("{} must not use any of our crates", from.name)),
        (_, Some(allowed)) => Some(format!("{} may only use {}", from.name, allowed.join(" and "))),
        (_, None) if to.line < from.line => None,
        (_, None) => Some(higher(from, to, "below")),
    }
}

fn higher(from: Rung<'_>, to: Rung<'_>, relation: &str) -> String {
    format!("it is on line {}, but must be on a line {relation} {}", to.line, from.line)
}

fn unknown(name: &str) -> String {
    format!("{name} is not on the ladder; add it in xtask/src/check_deps/ladder.rs")
}

fn find(name: &str) -> Option<Rung<'_>> {
    let known = LADDER.iter().copied().find(|rung| rung.name == name);
    known.or_else(|| is_target(name).then(|| rung(TARGETS, name)))
}

/// Returns the line of a crate; `None` if it is not on the ladder.
pub fn line(name: &str) -> Option<u8> {
    find(name).map(|rung| rung.line)
}

/// Whether a crate is one of the folders of `targets`.
pub fn is_target(name: &str) -> bool {
    let folder = name.strip_prefix("npukit-").filter(|folder| !folder.contains(['/', '\\', '.']));
    folder.is_some_and(|folder| root().join("targets").join(folder).join("Cargo.toml").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, kind: Kind) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), kind }
    }

    fn messages(from: &str, to: &str, kind: Kind) -> Vec<String> {
        check(&[edge(from, to, kind)]).into_iter().map(|p| p.to_string()).collect()
    }

    #[test]
    fn lower_lines_are_allowed() {
        for (from, to) in [
            ("npukit-graph", "npukit-numeric"),
            ("npukit-asm", "npukit-isa"),
            ("npukit-tcu", "npukit-target"),
            ("npukit", "npukit-tcu"),
            ("npukit-cli", "npukit"),
        ] {
            assert_eq!(messages(from, to, Kind::Normal), [""; 0]);
        }
    }

    #[test]
    fn equal_and_higher_lines_are_refused() {
        for (from, to) in [
            ("npukit-base", "npukit-numeric"),
            ("npukit-isa", "npukit-numeric"),
            ("npukit-asm", "npukit-lower"),
            ("npukit-target", "npukit-tcu"),
            ("npukit-tcu", "npukit-opu"),
            ("npukit-verify", "npukit-tcu"),
            ("npukit-verify", "npukit-testing"),
            ("npukit-cli", "npukit-graph"),
            ("xtask", "npukit-base"),
        ] {
            assert_eq!(messages(from, to, Kind::Normal).len(), 1, "{from} -> {to}");
            assert_eq!(messages(from, to, Kind::Build).len(), 1, "{from} -> {to}");
        }
    }

    #[test]
    fn tests_may_use_their_own_line_and_it_is_said() {
        assert_eq!(messages("npukit-verify", "npukit-tcu", Kind::Dev), [""; 0]);
        let notes = notes(&[edge("npukit-verify", "npukit-tcu", Kind::Dev)]);
        assert_eq!(notes, ["tests of npukit-verify use npukit-tcu, which its code may not"]);
        let higher = messages("npukit-graph", "npukit-import", Kind::Dev);
        let reported =
            "npukit-graph: dev-dependency on npukit-import: it is on line 2, but must be on a line at most 1";
        assert_eq!(higher, [reported]);
    }

    #[test]
    fn a_crate_without_a_line_is_refused() {
        let reported = messages("npukit-tcu", "npukit-new", Kind::Normal);
        assert!(reported[0].contains("npukit-new is not on the ladder"), "{reported:?}");
    }
}
