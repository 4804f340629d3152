//! `--color`, and the variables that turn color off.

use std::process::Command;

use crate::npu::{DIGITS, Npu, command, text};

const TIME: [&str; 4] = ["time", DIGITS, "--target", "tcu:pynqz1"];
/// Start of colored rows with bottlenecks, and end of all colored rows.
const BOTTLENECK: &str = "\u{1b}[1m\u{1b}[33m";
const FAULT: &str = "\u{1b}[31m";
const END: &str = "\u{1b}[0m";

/// Returns the output of a command without the usual `NO_COLOR`.
fn printed(change: impl Fn(&mut Command) -> &mut Command) -> (String, String) {
    let npu = Npu::new();
    let mut command = command(&npu.path(""));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    let output = change(&mut command).output().unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn rows_that_bound_the_whole_are_colored() {
    let (plain, _) = printed(|command| command.args(TIME));
    assert!(!plain.contains('\u{1b}'), "a pipe has no color: {plain}");
    let (colored, _) = printed(|command| command.args(TIME).args(["--color", "always"]));
    let rows: Vec<&str> = colored.lines().filter(|line| line.starts_with(BOTTLENECK)).collect();
    let begins = ["/logits", "LoadWeights", "array"];
    assert_eq!(rows.len(), begins.len(), "{colored}");
    for (row, begin) in rows.iter().zip(begins) {
        assert!(row[BOTTLENECK.len()..].starts_with(begin) && row.ends_with(END), "{row:?}");
    }
    assert_eq!(colored.replace(BOTTLENECK, "").replace(END, ""), plain, "color changes nothing else");
}

#[test]
fn verdicts_are_green_or_red() {
    let check = |depth: &str| {
        let target = format!("tcu:pynqz1,local_depth={depth}");
        printed(|command| command.args(["check", DIGITS, "--compile", "--color=always", "--target", &target]))
    };
    let (good, _) = check("8192");
    assert!(good.contains("\n\u{1b}[32mverdict") && good.contains("fits"), "{good:?}");
    let (bad, error) = check("1");
    assert!((bad + &error).contains(&format!("{FAULT}verdict")), "{error:?}");
}

#[test]
fn figures_that_became_worse_are_colored() {
    let npu = Npu::new();
    for (name, cycles) in [("a.json", 1), ("b.json", 2)] {
        npu.write(
            name,
            format!(r#"{{"schema": "npukit.time/1", "cycles": {cycles}, "busy": {}}}"#, 3 - cycles),
        );
    }
    let (text, _) = npu.text(0, &["diff", "a.json", "b.json", "--color=always"]);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains('\u{1b}')).collect();
    assert!(
        matches!(rows[..], [row] if row.starts_with(&format!("{FAULT}cycles")) && row.ends_with(END)),
        "{text}"
    );
}

#[test]
fn the_option_counts_more_than_the_environment() {
    let is_colored = |change: &dyn Fn(&mut Command) -> &mut Command| {
        printed(|command| change(command.args(TIME))).0.contains(BOTTLENECK)
    };
    assert!(is_colored(&|command| command.env("CLICOLOR_FORCE", "1")));
    assert!(!is_colored(&|command| command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1")));
    assert!(!is_colored(&|command| command.env("CLICOLOR_FORCE", "1").arg("--color=never")));
    assert!(is_colored(&|command| command.env("NO_COLOR", "1").args(["--color", "always"])));
}

#[test]
fn errors_and_help_are_colored_too() {
    for line in [&["time", "none.onnx", "--target", "tcu"][..], &["time", "--jsn"], &["time"]] {
        for (choice, is_colored) in [("always", true), ("never", false), ("auto", false)] {
            let (_, error) = printed(|command| command.args(["--color", choice]).args(line));
            assert_eq!(error.contains('\u{1b}'), is_colored, "{line:?} {choice}: {error:?}");
        }
    }
    let (help, _) = printed(|command| command.args(["time", "--help", "--color", "always"]));
    assert!(help.contains('\u{1b}'), "{help}");
}

#[test]
fn bars_are_of_what_the_locale_has() {
    let bar = |locale| {
        let (text, _) = printed(|command| command.env("LC_ALL", locale).args(TIME).args(["--width", "80"]));
        text.lines().find(|line| line.starts_with("/logits")).unwrap_or_default().to_owned()
    };
    assert!(bar("C").contains("40.0 %  ########  "), "{}", bar("C"));
    assert!(bar("en_US.UTF-8").contains("40.0 %  ████████  "), "{}", bar("en_US.UTF-8"));
}
