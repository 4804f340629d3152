//! Information about a command's work: `--timings`, `-v`, `-q`, `RUST_LOG`, progress.

use std::process::Output;
use std::time::Instant;

use serde_json::Value;

use super::npu::{DIGITS, IMAGES, Npu, PERCEPTRON, command, text};

/// Verbs that have timings, and a phase of each.
const TIMED: [(&str, &[&str]); 4] = [
    ("schedule", &["compile", PERCEPTRON, "--target", "tcu", "-o", "out"]),
    ("clock", &["time", PERCEPTRON, "--target", "pccx"]),
    ("evaluate in float", &["run", DIGITS, "--target", "opu", "--input", IMAGES]),
    ("prove kernels", &["check", PERCEPTRON, "--target", "drra", "--compile"]),
];

/// Returns name, seconds and depth.
fn row(row: &Value) -> (&str, f64, u64) {
    let (phase, seconds, depth) = (&row["phase"], &row["seconds"], &row["depth"]);
    (phase.as_str().unwrap(), seconds.as_f64().unwrap(), depth.as_u64().unwrap())
}

fn rows(report: &Value) -> Vec<(&str, f64, u64)> {
    report["timings"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn timings_add_up_to_the_whole() {
    let npu = Npu::new();
    for (phase, line) in TIMED {
        let begin = Instant::now();
        let report = npu.json(0, &[line, &["--timings"]].concat());
        let most = begin.elapsed().as_secs_f64();
        let rows = rows(&report);
        assert!(rows.iter().any(|row| row.0 == phase), "{line:?}: {rows:?}");
        assert_eq!(rows.last().map(|row| (row.0, row.2)), Some(("other", 0)), "{line:?}");
        let top: f64 = rows.iter().filter(|row| row.2 == 0).map(|row| row.1).sum();
        // The command measures its own time; the test measures it from outside.
        let least = report["seconds"].as_f64().unwrap_or(0.0);
        assert!((least..=most).contains(&top), "{line:?}: {least} <= {top} <= {most}");
        for (at, &(name, seconds, depth)) in rows.iter().enumerate() {
            let within = rows[at + 1..].iter().take_while(|row| row.2 > depth);
            let within: f64 = within.filter(|row| row.2 == depth + 1).map(|row| row.1).sum();
            assert!(within <= seconds, "{line:?}: {within} s within the {seconds} s of {name}");
        }
    }
}

#[test]
fn timings_come_after_the_report_where_they_are_asked_for() {
    let npu = Npu::new();
    let line = ["check", DIGITS, "--target", "tcu", "--compile"];
    let (plain, _) = npu.text(0, &line);
    let (timed, error) = npu.text(0, &[&line[..], &["--timings"]].concat());
    let table = timed.strip_prefix(&plain).unwrap();
    assert!(table.starts_with("\nphase ") && table.contains("\n  schedule "), "{table}");
    assert!(table.lines().last().unwrap().starts_with("other "), "{table}");
    assert_eq!(error, "");
    assert_eq!(npu.json(0, &line).get("timings"), None);
    npu.text(2, &["compile", DIGITS, "--target", "tcu", "--emit", "graph", "--timings"]);
}

/// Runs a command with `RUST_LOG`.
fn with_variable(npu: &Npu, variable: &str, arguments: &[&str]) -> Output {
    command(&npu.path("")).env("RUST_LOG", variable).args(arguments).output().unwrap()
}

#[test]
fn each_v_logs_more_and_the_answer_stays() {
    let npu = Npu::new();
    let line = ["check", DIGITS, "--target", "tcu", "--compile"];
    let (answer, quiet) = npu.text(0, &line);
    assert_eq!(quiet, "");
    let log = |more: &[&str]| {
        let (found, log) = npu.text(0, &[more, &line[..]].concat());
        assert_eq!(found, answer, "{more:?}");
        log
    };
    let (info, debug, trace) = (log(&["-v"]), log(&["-vv"]), log(&["-v", "-vv"]));
    for (text, least) in [
        ("INFO npukit_cli::disk::read: file read path=", 1),
        ("INFO npukit::phase: import seconds=0.", 1),
        ("INFO npukit::model: graph optimized ", 1),
        ("DEBUG npukit::phase: time instructions seconds=", 2),
        ("INFO npukit_tcu::lower::schedule: strategy scheduled strategy=\"local-isolated\" cycles=", 1),
        ("DEBUG npukit_graph::pass: graph changed pass=\"", 2),
        ("DEBUG npukit_tcu::lower::schedule: layer scheduled layer=", 2),
        ("TRACE npukit_tcu::lower::schedule::timed: tiles tried ", 3),
    ] {
        let found = [&info, &debug, &trace].map(|log| log.contains(text));
        assert_eq!(found, [least <= 1, least <= 2, least <= 3], "{text}: {trace}");
    }
}

#[test]
fn files_written_are_logged_with_their_sizes() {
    let npu = Npu::new();
    let (_, log) = npu.text(0, &["zoo", "mlp", "-o", "m.onnx", "-v"]);
    let bytes = std::fs::metadata(npu.path("m.onnx")).unwrap().len();
    assert!(log.contains(&format!("file written path=m.onnx bytes={bytes}\n")), "{log}");
}

#[test]
fn the_variable_chooses_by_module() {
    let npu = Npu::new();
    let line = ["check", DIGITS, "--target", "tcu"];
    let output = with_variable(&npu, "npukit_graph=debug", &line);
    let log = text(&output.stderr);
    assert!(!log.is_empty() && log.lines().all(|line| line.starts_with("DEBUG npukit_graph::")), "{log}");
    // The command line takes precedence.
    let log = text(&with_variable(&npu, "off", &[&line[..], &["-v"]].concat()).stderr);
    assert!(log.contains("INFO npukit::phase: import"), "{log}");
}

#[test]
fn a_variable_that_is_not_legal_is_a_warning_with_what_is() {
    let npu = Npu::new();
    let line = ["check", PERCEPTRON, "--target", "tcu"];
    let output = with_variable(&npu, "npukit=loud\u{1b}[31m", &line);
    let (answer, warning) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && answer == npu.text(0, &line).0, "{answer}{warning}");
    let expected = [
        "warning: RUST_LOG is `npukit=loud\\u{1b}[31m`: ",
        "legal are off, error, warn, info, debug and trace",
    ];
    assert!(expected.iter().all(|part| warning.contains(part)) && warning.lines().count() == 1, "{warning}");
    let quiet = with_variable(&npu, "npukit=loud", &[&line[..], &["-q"]].concat());
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", text(&quiet.stderr));
}

#[test]
fn quiet_leaves_notes_and_warnings_out_but_no_errors() {
    let npu = Npu::new();
    let line = ["time", DIGITS, "--target", "opu"];
    let (whole, _) = npu.text(0, &line);
    let (quiet, error) = npu.text(0, &[&["-q"], &line[..]].concat());
    assert!(whole.contains("warning: ") && !quiet.contains("warning: "), "{quiet}");
    assert!(whole.starts_with(&quiet) && error.is_empty(), "{quiet}{error}");
    // JSON always contains them.
    let report = npu.json(0, &[&line[..], &["--quiet"]].concat());
    assert!(!report["warnings"].as_array().unwrap().is_empty());
    let (_, error) = npu.text(1, &["time", "absent.onnx", "--target", "opu", "-q"]);
    assert!(error.contains("absent.onnx"), "{error}");
    npu.write("wrong.bin", [0xFF; 16]);
    let (_, problems) = npu.text(1, &["disasm", "wrong.bin", "--target", "tcu", "-q"]);
    assert!(!problems.is_empty(), "the reason of a failure is not a note");
}

#[test]
fn quiet_and_verbose_are_not_both() {
    let npu = Npu::new();
    for line in
        [&["-q", "targets", "-v"][..], &["-v", "targets", "-q"], &["targets", "-qv"], &["-qvv", "targets"]]
    {
        let (_, error) = npu.text(2, line);
        assert!(error.contains("'--quiet' cannot be used with '--verbose'"), "{line:?}: {error}");
        let report = npu.json(2, line);
        assert_eq!(report["diagnostics"][0]["code"], "usage", "{line:?}: {report}");
    }
}

/// Without escaping, a terminal would execute control sequences in a name.
#[cfg(unix)]
#[test]
fn names_in_the_log_are_printable() {
    let npu = Npu::new();
    let name = "a\u{1b}[31m\u{202e}.onnx";
    std::fs::copy(PERCEPTRON, npu.path(name)).unwrap();
    let (_, log) = npu.text(0, &["check", name, "--target", "tcu", "-vvv"]);
    assert!(log.contains("[31m") && !log.contains(['\u{1b}', '\u{202e}']), "{log}");
}

/// Runs in a terminal made by `script`, if available.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_phases_and_a_pipe_does_not() {
    let npu = Npu::new();
    let in_terminal = |more: &str| {
        let line = format!("{} check {DIGITS} --target tcu {more}", env!("CARGO_BIN_EXE_npu"));
        let output = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(npu.path(""))
            .output();
        output.ok().map(|output| text(&output.stdout))
    };
    let Some(shown) = in_terminal("") else { return };
    assert!(shown.contains("read model") && shown.contains("verdict"), "{shown}");
    let quiet = in_terminal("-q").unwrap();
    assert!(quiet.contains("verdict") && !quiet.contains("read model"), "{quiet}");
}
