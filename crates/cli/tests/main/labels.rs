//! Labels that reports print: `npu explain` explains each of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use npukit::Context;
use npukit::verbs::explain::explain;

use super::filetests::ROOT;
use super::npu::{ASSETS, DIGITS, IMAGES, Npu};

/// Tables whose rows have names of the machine: the heading of their first column.
const NAMED_ROWS: [&str; 3] = ["unit", "memory", "instruction"];
/// Verdicts, the longer ones first.
const VERDICTS: [&str; 5] = ["does not fit", "fits", "not proved", "proved", "refuted"];
/// Headings that their rows explain.
const PLAIN: [&str; 1] = ["is"];
/// Beginnings of lines that are sentences.
const SENTENCES: [&str; 4] = ["note: ", "warning: ", "assumed: ", "wrote "];

/// Labels, each with a command or a file that prints it.
type Labels = BTreeMap<String, String>;

/// Returns the parts of a line that two or more spaces separate.
fn fields(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|field| !field.is_empty()).collect()
}

/// Whether a field is made of words, without numbers.
fn is_words(field: &str) -> bool {
    let has_digit = field.replace("2^", "").contains(|letter: char| letter.is_ascii_digit());
    field.starts_with(|letter: char| letter.is_alphabetic()) && !has_digit
}

/// Whether `line` has the headings of a table whose first row is `next`.
fn is_heading(line: &str, next: Option<&&str>) -> bool {
    let fields = fields(line);
    let is_above_numbers = next.is_some_and(|next| {
        next.chars().count() == line.chars().count() && next.ends_with(|end: char| end.is_ascii_digit())
    });
    fields.iter().all(|field| is_words(field)) && (fields.len() > 2 || fields.len() == 2 && is_above_numbers)
}

/// Returns the labels of a report: names of facts, headings of columns, names of parts of the
/// machine in rows, and the words of headlines.
fn labels(report: &str) -> Vec<String> {
    report.split("\n\n").flat_map(|paragraph| of_paragraph(paragraph.trim_matches('\n'))).collect()
}

fn of_paragraph(paragraph: &str) -> Vec<String> {
    let lines: Vec<&str> = paragraph.lines().collect();
    let (mut found, mut table): (Vec<String>, Option<&str>) = (Vec::new(), None);
    for (place, line) in lines.iter().enumerate() {
        let is_sentence = SENTENCES.iter().any(|beginning| line.starts_with(beginning));
        let parts = fields(line);
        if is_sentence || line.starts_with(' ') || parts.len() < 2 {
            continue;
        }
        if is_heading(line, lines.get(place + 1)) {
            // Names with an underscore are parameters, which `npu targets` lists.
            found.extend(parts.iter().filter(|part| !part.contains('_')).map(|part| (*part).to_owned()));
            table = parts.first().copied();
        } else if let Some(heading) = table {
            found.extend(NAMED_ROWS.contains(&heading).then(|| parts[0].to_owned()));
        } else if is_words(parts[0]) || parts[0].starts_with("memory ") {
            found.push(parts[0].to_owned());
            found.extend(of_headline(parts[0], &parts[1..].join("  ")));
        }
    }
    found
}

/// Returns the words in the value of a fact that people have to know.
fn of_headline(label: &str, value: &str) -> Vec<String> {
    let is_in = |word: &&str| value.contains(word);
    match label {
        "cycles" | "cycles per image" => {
            let models = value.split('(').skip(1);
            models.filter_map(|model| Some(model.split_once(')')?.0.to_owned())).collect()
        }
        "chosen" => value.split(", ").filter_map(|one| Some(one.split_once(' ')?.0.to_owned())).collect(),
        "latency" => {
            ["frames/s", "host step", "at most"].iter().copied().filter(is_in).map(str::to_owned).collect()
        }
        "verdict" => {
            let verdict = VERDICTS.into_iter().find(|verdict| value.starts_with(verdict));
            vec![verdict.unwrap_or(value).to_owned()]
        }
        _ => Vec::new(),
    }
}

/// Returns the text files of a folder and its subfolders.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { texts(&path) } else { vec![path] }).collect()
}

/// Adds the labels of the reports in filetests: each is what the command prints.
fn add_recorded(all: &mut Labels) {
    const VERBS: [&str; 7] = ["check", "compile", "explore", "report", "run", "time", "verify"];
    let folders = VERBS.iter().map(|verb| Path::new(ROOT).join("tests/filetests").join(verb));
    for path in folders.flat_map(|folder| texts(&folder)) {
        let text = fs::read_to_string(&path).unwrap();
        let (commands, output) = text.split_once("; OUT:\n").unwrap();
        let runs: Vec<&str> = commands.lines().filter_map(|line| line.strip_prefix("; RUN: npu ")).collect();
        // Other output, and tables with folded headings.
        let is_other = |run: &&str| {
            ["--json", "--emit", "--dump", "--width", "--trace", ".s ", "-o -"]
                .iter()
                .any(|other| run.contains(other))
                || !VERBS.iter().any(|verb| run.starts_with(verb))
        };
        if !runs.iter().any(is_other) {
            all.extend(labels(output).into_iter().map(|label| (label, path.display().to_string())));
        }
    }
}

/// Adds the labels of the reports on the embedded network, on the default instance of a target.
fn add_printed(target: &str, all: &mut Labels) {
    let npu = Npu::new();
    let images = ["--input", IMAGES, "--samples", "9"];
    let truth = format!("{ASSETS}/digits_labels.npy");
    let commands: [(&str, &[&str]); 7] = [
        ("demo", &[]),
        ("check", &[DIGITS, "--compile"]),
        ("time", &[DIGITS, "-v"]),
        ("compile", &[DIGITS, "--verify", "-o", "out"]),
        ("run", &[&[DIGITS, "--compare", "--labels", &truth], &images[..]].concat()),
        ("verify", &[DIGITS, "--bounds", "--random", "3"]),
        ("report", &[&[DIGITS, "-o", "r.html"], &images[..]].concat()),
    ];
    for (verb, arguments) in commands {
        let output = npu.run(&[&[verb, "--target", target], arguments].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        // Some targets have no bounds.
        assert!(!text.is_empty() || verb == "verify", "{target}: {verb}");
        all.extend(labels(&text).into_iter().map(|label| (label, format!("npu {verb} --target {target}"))));
    }
}

/// Returns the names by which `npu explain` may know a label: it, and its part without a variant or
/// the sizes of a kernel.
fn names(label: &str) -> [&str; 3] {
    let name = label.strip_prefix("memory ").unwrap_or(label);
    let plain = name.split(['(', ',']).next().unwrap_or(name);
    [name, plain, name.trim_end_matches(|end: char| end.is_ascii_digit() || ['_', 'x'].contains(&end))]
}

/// Whether `npu explain` knows a label, and not only another word with the same beginning.
fn is_explained(label: &str) -> bool {
    let Ok(found) = explain(label, None, &[], Context::new(&npukit::NoFiles)) else { return false };
    let is_called = |name: &str| found.terms.iter().any(|entry| entry.term.is_called(name));
    names(label).into_iter().any(is_called) || !found.instructions.is_empty()
}

#[test]
fn every_printed_label_is_explained() {
    let mut all = Labels::new();
    add_recorded(&mut all);
    for target in npukit::targets() {
        add_printed(target.name, &mut all);
    }
    for label in ["frames/s", "hw clock", "fits", "proved", "vs roofline", "local memory port A", "memory L2"]
    {
        assert!(all.contains_key(label), "{label} is not found: {all:#?}");
    }
    let unknown: Vec<_> = all
        .iter()
        .filter(|(label, _)| !PLAIN.contains(&label.as_str()) && !is_explained(label))
        .map(|(label, place)| format!("`{label}` of {place}"))
        .collect();
    assert!(unknown.is_empty(), "the glossary lacks:\n{}", unknown.join("\n"));
    assert!(all.len() > 150, "{} labels were found", all.len());
}

#[test]
fn labels_are_found_in_every_part_of_a_report() {
    let report = "\
verdict  fits, all of it
cycles   1,193 (hw clock)
latency  1 ms, at most 7 frames/s at 50 MHz (2 host steps not counted)
note: some  note

unit         busy cycles  waits
DRAM0 read             3  1 array
ALUs                  12

saturated in  results
conv              123
";
    let wanted = [
        "verdict",
        "fits",
        "cycles",
        "hw clock",
        "latency",
        "frames/s",
        "host step",
        "at most",
        "unit",
        "busy cycles",
        "waits",
        "DRAM0 read",
        "ALUs",
        "saturated in",
        "results",
    ];
    assert_eq!(labels(report), wanted);
    assert!(!is_explained("hovercraft") && !is_explained("utiliz"));
}
