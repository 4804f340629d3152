//! `-` as a file: standard input and output.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use crate::npu::{DIGITS, IMAGES, Npu, command, text};

/// Runs the command with `input` as standard input.
fn piped(npu: &Npu, arguments: &[&str], input: &[u8]) -> Output {
    let pipes = |command: &mut std::process::Command| {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = pipes(command(&npu.path("")).args(arguments));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early does not read.
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn a_model_is_known_by_its_content() {
    let npu = Npu::new();
    let model = fs::read(DIGITS).unwrap();
    let by_pipe = piped(&npu, &["time", "-", "--target", "tcu"], &model);
    assert!(by_pipe.status.success(), "{}", text(&by_pipe.stderr));
    let by_name = npu.run(&["time", DIGITS, "--target", "tcu"]);
    let lines = |output: &Output| text(&output.stdout).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&by_pipe), lines(&by_name), "all but the name");
    let other = piped(&npu, &["time", "-", "--target", "tcu"], b"no model");
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("there is no instruction `no`"), "{}", text(&other.stderr));
}

#[test]
fn artifacts_of_a_nameless_model_are_called_stdin() {
    let npu = Npu::new();
    let model = fs::read(DIGITS).unwrap();
    let output = piped(&npu, &["compile", "-", "--target", "tcu", "-o", "out"], &model);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(npu.names("out").contains(&"stdin_pynqz1.tmodel".to_owned()), "{:?}", npu.names("out"));
}

#[test]
fn inputs_come_in_and_outputs_go_out() {
    let npu = Npu::new();
    let images = fs::read(IMAGES).unwrap();
    let arguments = ["eval", DIGITS, "--input", "-", "-o", "-"];
    let output = piped(&npu, &arguments, &images);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout.starts_with(b"PK\x03\x04"), "the arrays alone");
    assert!(
        text(&output.stderr).contains("samples  360"),
        "the report next to them: {}",
        text(&output.stderr)
    );
    let file = npu.run(&["eval", DIGITS, "--input", IMAGES, "-o", "y.npz"]);
    assert!(file.status.success());
    assert_eq!(output.stdout, fs::read(npu.path("y.npz")).unwrap());
    assert_eq!(npu.names(""), ["y.npz"], "no file is called `-`");
}

#[test]
fn programs_pass_through_pipes() {
    let npu = Npu::new();
    let words =
        piped(&npu, &["asm", "-", "--target", "tcu", "-o", "-"], b"NoOp\nmatmul local[1], acc[2], 3\n");
    assert!(words.status.success(), "{}", text(&words.stderr));
    let listing = piped(&npu, &["disasm", "-", "--target", "tcu"], &words.stdout);
    assert!(text(&listing.stdout).contains("matmul"), "{}", text(&listing.stderr));
    let clean = piped(&npu, &["lint", "-", "--target", "tcu"], b"NoOp\n");
    assert_eq!(text(&clean.stdout), "nothing found\n");
    let wrong = piped(&npu, &["asm", "-", "--target", "tcu", "-o", "-"], b"nope\n");
    assert_eq!((wrong.status.code(), &wrong.stdout[..]), (Some(1), &b""[..]));
    assert!(text(&wrong.stderr).contains("[-:1:1]"), "{}", text(&wrong.stderr));
}

#[test]
fn an_ending_says_what_standard_input_holds() {
    let npu = Npu::new();
    let kernel = b"epoch <e> {\n}\n";
    let as_pasm = piped(&npu, &["format", "--target", "drra", "--", "-.pasm"], kernel);
    assert!(as_pasm.status.success(), "{}", text(&as_pasm.stderr));
}

#[test]
fn reports_are_compared_from_a_pipe() {
    let npu = Npu::new();
    let report = "{\"schema\": \"npukit.time/1\", \"cycles\": 3}\n";
    npu.write("b.json", report);
    let output = piped(&npu, &["diff", "-", "b.json"], report.as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn standard_output_takes_one_file() {
    let npu = Npu::new();
    let model = fs::read(DIGITS).unwrap();
    for (arguments, reason) in [
        (&["run", DIGITS, "--target", "tcu", "-o", "-", "--dump", "-"][..], "are the same file"),
        (
            &["compile", "-", "--target", "tcu", "-o", "-"][..],
            "`-` is standard output, which accepts only one file",
        ),
        (&["diff", "-", "-"][..], "standard input can only be read once"),
    ] {
        let output = piped(&npu, arguments, &model);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert!(text(&output.stderr).contains(reason), "{arguments:?}: {}", text(&output.stderr));
    }
    assert_eq!(npu.names(""), [""; 0]);
}
