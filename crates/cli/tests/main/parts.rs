//! Behavior of the command if the program with the parts for editors and terminals is not next to
//! it.

use std::process::{Command, Stdio};

use crate::npu::{Npu, text};

#[test]
fn an_editor_is_told_how_to_get_its_server() {
    let npu = Npu::new();
    let alone = npu.path("npu");
    std::fs::copy(env!("CARGO_BIN_EXE_npu"), &alone).unwrap();
    for line in [&["lsp"][..], &["debug", "--dap"]] {
        let output = Command::new(&alone).args(line).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let message = text(&output.stderr);
        assert!(message.contains("cargo build --release -p npukit-interactive"), "{message}");
    }
}
