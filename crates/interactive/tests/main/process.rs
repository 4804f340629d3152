//! Tests of the command as a process.

use std::io::Write;
use std::process::{Command, Stdio};

/// Sends messages of the language server protocol to the program's standard input; returns its
/// output.
fn answers(messages: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_npu-interactive");
    let mut child =
        Command::new(program).arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for message in messages {
        write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_editor_is_served() {
    let message = answers(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#,
        r#"{"jsonrpc":"2.0","method":"exit"}"#,
    ]);
    assert!(message.contains(r#""serverInfo":{"name":"npu lsp""#), "{message}");
}

#[test]
fn it_is_the_command() {
    let output = Command::new(env!("CARGO_BIN_EXE_npu-interactive")).arg("targets").output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("tcu"), "{output:?}");
}
