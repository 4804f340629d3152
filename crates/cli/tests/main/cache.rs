//! The cache of search results: `NPU_CACHE` and `--no-cache`.

use std::fs;
use std::path::Path;

use crate::npu::{DIGITS, Npu, command, text};

/// Compiles the embedded network to `out`, with the cache folder `cache`; returns the log.
fn compile(npu: &Npu, cache: &Path, out: &str, options: &[&str]) -> String {
    let arguments = ["compile", DIGITS, "--target", "tcu:ultra96v2", "-v", "-o", out];
    let mut command = command(&npu.path(""));
    let output = command.env("NPU_CACHE", cache).args(arguments).args(options).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stderr)
}

/// The second compilation searches nothing, and writes the same program.
#[test]
fn what_was_found_is_not_searched_for_again() {
    let npu = Npu::new();
    let cache = npu.path("kept/here");
    let logs = ["a", "b"].map(|out| compile(&npu, &cache, out, &[]));
    assert!(!logs[0].contains("schedule known") && logs[0].contains("strategy scheduled"), "{}", logs[0]);
    assert!(logs[1].contains("schedule known") && !logs[1].contains("strategy scheduled"), "{}", logs[1]);
    assert_eq!(npu.names("kept/here").len(), 1);
    for name in npu.names("a") {
        assert!(fs::read(npu.path("a").join(&name)).unwrap() == fs::read(npu.path("b").join(&name)).unwrap());
    }
    assert_eq!(npu.names("a"), npu.names("b"));
}

#[test]
fn an_option_turns_the_cache_off() {
    let npu = Npu::new();
    let log = compile(&npu, &npu.path("kept"), "a", &["--no-cache"]);
    assert!(log.contains("strategy scheduled"), "{log}");
    assert!(!npu.path("kept").exists());
}

/// A cache folder that cannot be created does not prevent a compilation.
#[test]
fn a_cache_that_cannot_be_written_is_none() {
    let npu = Npu::new();
    npu.write("kept", "a file");
    let log = compile(&npu, &npu.path("kept"), "a", &[]);
    assert!(log.contains("strategy scheduled"), "{log}");
    assert_eq!(fs::read_to_string(npu.path("kept")).unwrap(), "a file");
}
