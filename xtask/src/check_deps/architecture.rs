//! `cargo xtask architecture`: draws `docs/images/architecture.svg`.
//!
//! The upper part has the stages of a model with their verbs. The lower part has the crates: rows
//! are the lines of the ladder, arrows are dependencies of the manifests. Dependencies that follow
//! from others are left out. `check-deps` fails if the file is not current.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::ladder;
use super::metadata::{Edge, Kind, edges};
use crate::files::write;
use crate::{Error, root};

/// Summary for the help.
pub const ABOUT: &str =
    "Draws docs/images/architecture.svg: stages with their verbs, and crates with their dependencies";

/// Path of the drawing from the root.
pub const PATH: &str = "docs/images/architecture.svg";

/// Color of a box.
#[derive(Clone, Copy)]
enum Class {
    Value,
    Command,
    Library,
    Target,
    Base,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Command => "command",
            Self::Library => "library",
            Self::Target => "target",
            Self::Base => "base",
        }
    }
}

/// A crate of the drawing. Its row is its line of the ladder.
struct Drawn {
    name: &'static str,
    column: usize,
    class: Class,
    about: &'static str,
}

const fn drawn(name: &'static str, column: usize, class: Class, about: &'static str) -> Drawn {
    Drawn { name, column, class, about }
}

/// Box of all targets.
const TARGETS: &str = "targets";

/// All drawn crates, without `npukit-`.
const CRATES: &[Drawn] = &[
    drawn("interactive", 3, Class::Command, "terminal, editors"),
    drawn("python", 0, Class::Command, "Python package"),
    drawn("cli", 2, Class::Command, "npu: files, tables"),
    drawn("npukit", 1, Class::Library, "verbs as functions"),
    drawn("editor", 3, Class::Library, "LSP and DAP servers"),
    drawn("verify", 0, Class::Library, "proofs of programs"),
    drawn(TARGETS, 1, Class::Target, "one folder each"),
    drawn("report", 2, Class::Library, "page, SVG figures"),
    drawn("debug", 3, Class::Library, "steps both ways"),
    drawn("models", 0, Class::Library, "reference networks"),
    drawn("target", 2, Class::Target, "contract of a target"),
    drawn("import", 0, Class::Base, "ONNX, TF, TFLite"),
    drawn("lower", 1, Class::Base, "parts of compilers"),
    drawn("asm", 2, Class::Base, "text to words, and back"),
    drawn("trace", 3, Class::Base, "events, waveforms"),
    drawn("graph", 0, Class::Base, "operators, passes"),
    drawn("numeric", 1, Class::Base, "formats, tensors"),
    drawn("isa", 2, Class::Base, "instructions as values"),
    drawn("base", 1, Class::Base, "texts, bits"),
];

/// Crates for tests and chores.
const OMITTED: &[&str] = &["testing", "shared", "needs", "fuzzing", "board-sim", "xtask", "skeleton"];

/// A stage of a model, with the verbs that use it.
const STAGES: [(&str, &str); 4] = [
    ("model", "check, compile"),
    ("graph", "eval, verify"),
    ("program", "run, time, debug"),
    ("results", "report, diff"),
];
/// Crates that lead from each stage to the next.
const STEPS: [&str; 3] = ["import", "targets", "machine"];

const BOX: (f64, f64) = (172.0, 48.0);
const SPACE: (f64, f64) = (40.0, 34.0);
const EDGE: f64 = 24.0;
/// Height of the part with the stages.
const TOP: f64 = 232.0;
/// Highest line of the ladder that is drawn.
const LINES: usize = 7;

const STYLE: &str = "svg{color:#1b1f24;background:#fff;font:13px sans-serif}text{fill:currentColor}\
    .about{font-size:12px}.part{font-weight:bold;font-size:14px}rect{stroke:currentColor;stroke-opacity:.5}\
    .value{fill:#8882}.command{fill:#cc79a7}.library{fill:#56b4e9}.target{fill:#e69f00}.base{fill:#f3f4f6}\
    .command,.library,.target{fill-opacity:.35}.back{fill:#fff;stroke:none}\
    .path{fill:none;stroke:currentColor;stroke-width:1.3;stroke-opacity:.75}\
    @media(prefers-color-scheme:dark){svg{color:#e6e9ed;background:#15181c}.back{fill:#15181c}.base{fill:#262b33}}";

/// Writes the drawing.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::Argument { chore: "architecture", argument: argument.clone() });
    }
    let path = file();
    let svg = drawing(&edges()?)?;
    write(&path, &svg)?;
    println!("wrote {PATH}");
    Ok(())
}

/// Whether the drawing shows these dependencies.
pub fn is_current(edges: &[Edge]) -> Result<bool, Error> {
    let svg = drawing(edges)?;
    // Default: a drawing that does not exist is not current.
    Ok(fs::read_to_string(file()).unwrap_or_default() == svg)
}

fn file() -> PathBuf {
    root().join(PATH)
}

/// Returns the drawing as SVG.
fn drawing(edges: &[Edge]) -> Result<String, Error> {
    let size = (4.0 * (BOX.0 + SPACE.0) - SPACE.0 + 2.0 * EDGE, row(LINES + 1) - SPACE.1 + EDGE + 20.0);
    let title = "architecture of npukit: stages of a model, and crates with their dependencies";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{title}\">\n\
         <style>{STYLE}</style>\n<title>{title}</title>\n\
         <defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>\n",
        size.0, size.1
    );
    stages(&mut svg);
    part(
        &mut svg,
        TOP - 16.0,
        "Crates: an arrow leads to a crate that is used; arrows that follow from others are left out",
    );
    for (from, to) in reduced(edges)? {
        dependency(&mut svg, from, to);
    }
    for one in CRATES {
        boxed(&mut svg, corner(one), one.class, (one.name, one.about));
    }
    let note = format!("Not drawn, as only tests and chores use them: {}.", OMITTED.join(", "));
    text(&mut svg, (EDGE, size.1 - EDGE), "start", ("about", &note));
    Ok(svg + "</svg>\n")
}

/// Draws the way of a model to its results.
fn stages(svg: &mut String) {
    part(
        svg,
        EDGE + 8.0,
        "Stages: the verbs of npu below each, the crate that leads to the next on the arrow",
    );
    let place = |index: usize| EDGE + index as f64 * (BOX.0 + SPACE.0);
    let (first, second) = (EDGE + 42.0, EDGE + 42.0 + BOX.1 + 26.0);
    for (index, stage) in STAGES.into_iter().enumerate() {
        boxed(svg, (place(index), first), Class::Value, stage);
    }
    for (index, step) in STEPS.into_iter().enumerate() {
        let (from, to) = (place(index) + BOX.0, place(index + 1));
        let y = first + BOX.1 / 2.0;
        arrow(svg, &format!("M{from:.1} {y:.1}H{to:.1}"));
        text(svg, ((from + to) / 2.0, first - 5.0), "middle", ("about", step));
    }
    boxed(svg, (place(1), second), Class::Value, ("instance", "targets, isa, rtl"));
    boxed(svg, (place(2), second), Class::Value, ("assembly text", "asm, lint, format"));
    let middle = place(1) + BOX.0;
    arrow(
        svg,
        &format!(
            "M{middle:.1} {:.1}H{:.1}V{:.1}",
            second + 24.0,
            middle + SPACE.0 / 2.0,
            first + BOX.1 / 2.0
        ),
    );
    arrow(svg, &format!("M{:.1} {second:.1}V{:.1}", place(2) + BOX.0 / 2.0, first + BOX.1));
}

/// Draws a dependency between two crates.
fn dependency(svg: &mut String, from: &Drawn, to: &Drawn) {
    let ((from_x, from_y), (to_x, to_y)) = (corner(from), corner(to));
    if from_y.to_bits() == to_y.to_bits() {
        let y = from_y + BOX.1 / 2.0;
        let (start, end) = if to_x > from_x { (from_x + BOX.0, to_x) } else { (from_x, to_x + BOX.0) };
        return arrow(svg, &format!("M{start:.1} {y:.1}H{end:.1}"));
    }
    let toward = |x: f64, other: f64| x + BOX.0 * (0.5 + 0.3 * (other - x).clamp(-1.0, 1.0));
    let (start, end) = (toward(from_x, to_x), toward(to_x, from_x));
    // Vertical past other rows, then through the space above the crate that is used.
    let (top, bend) = (from_y + BOX.1, to_y - SPACE.1);
    let middle = (bend + to_y) / 2.0;
    let curve = format!("C{start:.1} {middle:.1} {end:.1} {middle:.1} {end:.1} {to_y:.1}");
    arrow(svg, &format!("M{start:.1} {top:.1}V{bend:.1}{curve}"));
}

/// Dependencies of the drawn crates that do not follow from others.
fn reduced(edges: &[Edge]) -> Result<Vec<(&'static Drawn, &'static Drawn)>, Error> {
    let mut uses: BTreeMap<&'static str, BTreeSet<&'static str>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.kind == Kind::Normal) {
        if let (Some(from), Some(to)) = (node(&edge.from)?, node(&edge.to)?)
            && from.name != to.name
        {
            uses.entry(from.name).or_default().insert(to.name);
        }
    }
    let needed = |from: &str, to: &str| {
        let others = uses.get(from).into_iter().flatten().filter(|other| **other != to);
        !others.into_iter().any(|other| reaches(&uses, other, to))
    };
    let all = CRATES.iter().flat_map(|from| CRATES.iter().map(move |to| (from, to)));
    let is_edge = |from: &str, to: &str| uses.get(from).is_some_and(|used| used.contains(to));
    Ok(all.filter(|(from, to)| is_edge(from.name, to.name) && needed(from.name, to.name)).collect())
}

/// Whether a crate uses another one, possibly through others.
fn reaches(uses: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    from == to || uses.get(from).into_iter().flatten().any(|next| reaches(uses, next, to))
}

/// Returns the box of a package; `None` if it is not drawn.
fn node(package: &str) -> Result<Option<&'static Drawn>, Error> {
    let short = package.strip_prefix("npukit-").unwrap_or(package); // Default: `npukit` and `xtask`.
    let name = if ladder::is_target(package) { TARGETS } else { short };
    let found = CRATES.iter().find(|one| one.name == name);
    match found {
        None if !OMITTED.contains(&name) => Err(Error::Undrawn(package.to_owned())),
        found => Ok(found),
    }
}

/// Upper side of a line of the ladder, where 0 is the top.
fn row(index: usize) -> f64 {
    TOP + index as f64 * (BOX.1 + SPACE.1)
}

fn corner(one: &Drawn) -> (f64, f64) {
    let package = if one.name == "npukit" { one.name.to_owned() } else { format!("npukit-{}", one.name) };
    // Default: the box of all targets.
    let line = ladder::line(&package).unwrap_or(ladder::TARGETS);
    (EDGE + one.column as f64 * (BOX.0 + SPACE.0), row(LINES.saturating_sub(line.into())))
}

fn boxed(svg: &mut String, (x, y): (f64, f64), class: Class, (name, about): (&str, &str)) {
    for class in ["back", class.name()] {
        let (width, height) = BOX;
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        );
    }
    let middle = x + BOX.0 / 2.0;
    text(svg, (middle, y + 20.0), "middle", ("part", name));
    text(svg, (middle, y + 37.0), "middle", ("about", about));
}

fn part(svg: &mut String, y: f64, title: &str) {
    text(svg, (EDGE, y), "start", ("about", title));
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, (class, text): (&str, &str)) {
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

fn arrow(svg: &mut String, line: &str) {
    let _ = writeln!(svg, "<path class=\"path\" d=\"{line}\" marker-end=\"url(#end)\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), kind: Kind::Normal }
    }

    #[test]
    fn dependencies_that_follow_from_others_are_left_out() -> Result<(), Error> {
        let edges = [
            edge("npukit", "npukit-tcu"),
            edge("npukit", "npukit-target"),
            edge("npukit-tcu", "npukit-target"),
            edge("npukit-testing", "npukit-target"),
        ];
        let names: Vec<_> = reduced(&edges)?.iter().map(|(from, to)| (from.name, to.name)).collect();
        assert_eq!(names, [("npukit", TARGETS), (TARGETS, "target")]);
        Ok(())
    }

    #[test]
    fn a_crate_without_a_place_is_refused() {
        assert!(matches!(node("npukit-new"), Err(Error::Undrawn(_))));
        assert!(matches!(node("npukit-shared"), Ok(None)));
    }
}
