//! Rules of files for other programs: names in them must pass through the escape function of the
//! format.
//!
//! [`WRITERS`] has one row per source that writes such files. Each value that its macros insert
//! into a text must be escaped there, have a numeric precision, or be in the row's list of values
//! that are not names. A source with a keyword of such a format, but without a row, is also
//! reported.

mod macros;

use super::{Problem, SourceFile};
use macros::{Binding, Macro, bindings, macros};

/// A source that writes files of a format.
struct Writer {
    path: &'static str,
    /// Functions that escape a name for the format.
    escapes: &'static [&'static str],
    /// Text that occurs in every text of the format; other texts of the source are ignored. Empty
    /// if all texts are checked.
    markup: &'static str,
    /// Values that need no escaping: numbers, our keywords, identifiers, and texts that are already
    /// escaped.
    plain: &'static [&'static str],
}

#[rustfmt::skip] // A table.
const WRITERS: &[Writer] = &[
    // Lists of files, FuseSoC, Yosys. Names of circuits, modules, files and buses are identifiers.
    Writer { path: "crates/target/src/rtl/lists.rs", escapes: &["comment", "yaml"], markup: "", plain: &[
        "self.name", "source.name", "modules", "YOSYS", "ending", "self.top()", "self.names().join(\"\\n\")", "file", "p.name", "p.value", "header.name",
        "module", "name", "files", "source", "headers", "harness", "top", "bench", "names", "values", "version", "family",
        "synthesis", "self.names().join(\" \")", "names.join(\", \")", "bench.module",
        "env!(\"CARGO_PKG_VERSION\")",
    ] },
    // Yosys. Names of a system are checked to be plain before.
    Writer { path: "crates/npukit/src/boards/ecp5.rs", escapes: &[], markup: "read_verilog", plain: &["language", "source"] },
    // TCL. Names of circuits, modules, files, ports and buses are identifiers; boards are ours.
    Writer { path: "crates/target/src/rtl/vivado/package.rs", escapes: &["comment", "tcl"], markup: "", plain: &[
        "name", "file", "bus", "clock", "reset", "names", "part", "top", "module", "buses",
    ] },
    Writer { path: "crates/target/src/rtl/vivado.rs", escapes: &["comment"], markup: "", plain: &[
        "self.name", "title", "name", "top", "module", "part", "board_files", "mhz", "clock", "reset", "bank0", "bank1",
        "instructions", "samples", "stream_bits", "dma_bits", "LENGTH_BITS", "instruction_registers", "sample_registers",
        "register_bytes", "first", "bytes", "bus", "signal", "banks.len()", "self.buses.join(\", \")",
    ] },
    // SystemVerilog. Names of modules, ports and parameters are identifiers.
    Writer { path: "crates/target/src/rtl/top.rs", escapes: &["comment"], markup: "", plain: &[
        "port.declaration()", "name", "value", "port.name", "module", "top", "ports.join(\",\\n\")",
        "parameters.join(\",\\n\")", "connections.join(\",\\n\")",
    ] },
    // SVG.
    Writer { path: "crates/report/src/figure.rs", escapes: &["escaped"], markup: "<", plain: &[
        "width", "height", "STYLE", "anchor", "top", "bottom", "left", "right", "side", "turned", "color",
    ] },
    Writer { path: "crates/report/src/figure/stacked.rs", escapes: &["escaped"], markup: "<", plain: &[
        "EDGE", "bottom", "color", "BAR",
    ] },
    Writer { path: "crates/report/src/figure/diagram.rs", escapes: &["escaped"], markup: "<", plain: &[
        "class", "line", "start", "x", "y", "width", "height", "middle",
    ] },
    // The style has numbers and colors only.
    Writer { path: "crates/report/src/figure/motion.rs", escapes: &["escaped"], markup: "<", plain: &[
        "class", "width", "height", "fill", "x", "EDGE", "cycle", "short(value)", "clock.style(motion)",
    ] },
    Writer { path: "crates/report/src/figure/roofline.rs", escapes: &["escaped"], markup: "<", plain: &["right", "color"] },
    Writer { path: "crates/report/src/figure/scatter.rs", escapes: &["escaped"], markup: "<", plain: &[
        "steps", "class", "style",
    ] },
    Writer { path: "crates/report/src/figure/timeline.rs", escapes: &["escaped"], markup: "<", plain: &[
        "EDGE", "color", "path",
    ] },
    // HTML: the page consists of parts. The title is escaped and data are JSON.
    Writer { path: "crates/report/src/page.rs", escapes: &["escaped"], markup: "<", plain: &[] },
    // CSV.
    Writer { path: "crates/npukit/src/verbs/time.rs", escapes: &["quoted"], markup: ",", plain: &[
        "index", "kind", "cycles",
    ] },
    Writer { path: "crates/npukit/src/explore/table.rs", escapes: &["quoted"], markup: "", plain: &[] },
];

/// Keywords that only occur in sources that write such a format.
const WORDS: &[&str] =
    &["<svg", "<title", "<html", "read_verilog", "create_project", "CAPI=2", "endmodule", "fn csv("];

/// Sources with such a keyword that do not write files of the format.
const NO_WRITERS: &[&str] = &[
    "crates/import/src/foreign.rs", // It detects web pages in place of a model.
    "crates/npukit/src/verbs/explore.rs", // It passes on the text of `table.rs`.
    "xtask/src/check_deps/architecture.rs", // Its texts are constants.
];

/// Checks the writers, and searches for sources without a row.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let sources = files.iter().filter(|file| is_source(&file.path));
    sources
        .flat_map(|file| match WRITERS.iter().find(|writer| writer.path == file.path) {
            Some(writer) => unescaped(writer, file),
            None => unknown(file).into_iter().collect(),
        })
        .collect()
}

fn is_source(path: &str) -> bool {
    let mut parts = path.split('/');
    path.ends_with(".rs") && matches!([parts.next(), parts.nth(1)], [Some("crates" | "targets"), Some("src")])
}

/// Problem of a source that writes a format without a row in the table.
fn unknown(file: &SourceFile) -> Option<Problem> {
    if NO_WRITERS.contains(&&*file.path) {
        return None;
    }
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let found = file.code().lines().enumerate().find_map(|(index, line)| {
        let word = WORDS.iter().find(|word| is_code(&line) && line.contains(**word))?;
        Some((index, *word))
    });
    let (index, word) = found?;
    let message = format!(
        "it has `{word}`, as a writer of files for other programs: escape what it puts in by a function of that format, \
         and give it a row in xtask/src/check_deps/writers.rs"
    );
    Some(Problem::at_line(&file.path, index, message))
}

/// Values that a writer inserts without escaping and that are not in its row.
fn unescaped(writer: &Writer, file: &SourceFile) -> Vec<Problem> {
    let code = file.code();
    let known = bindings(code);
    let texts = macros(code).into_iter().filter(|found| found.format.contains(writer.markup));
    // The whole argument of an escape function may contain anything.
    let outer =
        texts.filter(|found| !writer.escapes.iter().any(|name| is_argument(&code[..found.start], name)));
    outer
        .flat_map(|found| {
            let seen: Vec<_> = known.iter().filter(|name| name.is_seen_from(found.start, code)).collect();
            let wrong = found.put_in().into_iter().filter(|(value, spec)| !is_fine(writer, &seen, &found, value, spec));
            let line = code[..found.start].matches('\n').count();
            let problem = |(value, _): (String, String)| {
                let message = format!(
                    "`{value}` goes into a file as it is: pass it through {}, or give it a place in the list of \
                     xtask/src/check_deps/writers.rs if it is not a name",
                    writer.escapes.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
                );
                Problem::at_line(&file.path, line, message)
            };
            wrong.map(problem).collect::<Vec<_>>()
        })
        .collect()
}

/// Whether the following text is the first argument of the function.
fn is_argument(before: &str, function: &str) -> bool {
    let before = before.trim_end().trim_end_matches('&').trim_end();
    before.strip_suffix('(').is_some_and(|before| before.ends_with(function))
}

/// Whether a value may be inserted: a precision marks it as a number, or it is escaped here or at
/// its definition.
fn is_fine(writer: &Writer, known: &[&Binding], found: &Macro, value: &str, spec: &str) -> bool {
    let is_safe = |value: &str| {
        let value = value.trim().trim_start_matches(['&', '*']);
        let is_escaped = |name: &&&str| value.strip_prefix(**name).is_some_and(|rest| rest.starts_with('('));
        writer.plain.contains(&value) || writer.escapes.iter().any(|name| is_escaped(&name))
    };
    let named = found.named(value);
    let mut bound = known.iter().filter(|binding| binding.name == value).peekable();
    spec.contains('.')
        || is_safe(named.unwrap_or(value))
        || (named.is_none() && bound.peek().is_some() && bound.all(|binding| is_safe(&binding.value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    const FIGURE: &str = "crates/report/src/figure.rs";

    #[test]
    fn names_that_are_not_escaped_are_found() {
        for text in [
            "fn a(name: &str) -> String { format!(\"<text>{name}</text>\") }",
            "fn a(name: &str) -> String { format!(\"<text>{}</text>\", name) }",
            "fn a(b: &B) -> String {\n    let name = b.name;\n    format!(\"<text>{name}</text>\")\n}",
            "fn a(b: &B) -> String { let (x, name) = (escaped(b.x), b.y); format!(\"<text>{name}{x}</text>\") }",
            "fn a(b: &B) { write!(out, \"<text>{name}</text>\", name = b.name) }",
            "fn a(b: &B) { write!(out, \"<text>{}{}</text>\", escaped(b.a), b.b.replace('\"', \"'\")) }",
            // Escaped in one place but not in the other.
            "fn a() { let name = escaped(x); } fn b() { let name = x; format!(\"<b>{name}\") }",
            "fn a() { let name = escaped(x); let name = x; format!(\"<b>{name}\") }",
            "fn a() { format!(\"<b>{0}{0:?}\", name) }",
        ] {
            assert!(!problems(FIGURE, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn escaped_names_and_numbers_are_fine() {
        for text in [
            "fn a(name: &str) -> String { format!(\"<text>{}</text>\", escaped(name)) }",
            "fn a(name: &str) -> String { let name = escaped(name); format!(\"<text>{name} {{x}}</text>\") }",
            "fn a(b: &B) { let (x, name) = (1, escaped(b.y)); format!(\"<text x=\\\"{x:.1}\\\">{name}</text>\") }",
            "fn a(b: &B) { write!(out, \"<text>{name}</text>\", name = escaped(b.name)) }",
            "fn a(b: &B) { format!(\"<text>{}</text>\", escaped(&format!(\"<{}>\", b.name))) }",
            "fn a(b: &B) -> String { format!(\"{} points\", b.name) }",
            "fn a() {}\n#[cfg(test)]\nmod tests { fn a(b: &B) -> String { format!(\"<b>{}\", b.name) } }",
        ] {
            assert_eq!(problems(FIGURE, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn writers_without_a_row_are_found() {
        let text = "fn a(name: &str) -> String { format!(\"read_verilog {name}\") }";
        assert_eq!(problems("targets/new/src/script.rs", text).len(), 1);
        assert_eq!(problems("targets/new/src/script.rs", &format!("#[cfg(test)]\n{text}")), [""; 0]);
        assert_eq!(problems("targets/new/tests/script.rs", text), [""; 0]);
    }

    /// Removes each escape function of each writer in turn.
    #[test]
    fn every_writer_is_looked_at() {
        let files = crate::source::source_files(&crate::root()).unwrap_or_default();
        assert_eq!(check(&files).iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
        for writer in WRITERS {
            let file = files.iter().find(|file| file.path == writer.path);
            let text = file.map(|file| file.code()).unwrap_or_default();
            assert!(!text.is_empty(), "{} is missing", writer.path);
            // These do not insert values with a macro, or refuse names; their tests check names.
            let others = [
                "crates/report/src/page.rs",
                "crates/npukit/src/explore/table.rs",
                "crates/npukit/src/boards/ecp5.rs",
            ];
            if others.contains(&writer.path) {
                continue;
            }
            let without = writer.escapes.iter().fold(text.to_owned(), |text, name| {
                text.replace(&format!(" {name}("), " other(").replace(&format!("({name}("), "(other(")
            });
            assert!(!problems(writer.path, &without).is_empty(), "{}", writer.path);
        }
    }
}
