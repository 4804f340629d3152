//! Test helpers that find files: [`shared`] for files outside the repository, [`golden`] for a
//! target's vectors. [`macro@needs`] marks a test as ignored if a required file is absent.

use std::path::{Path, PathBuf};

pub use npukit_needs::needs;

/// Returns the path of `name` in the folder of vectors, programs and networks that are not in the
/// repository. The folder is `NPUKIT_SHARED`, or `shared` next to the workspace.
///
/// Panics if it is absent, so tests that call it must have `#[needs(NPUKIT_SHARED)]`.
pub fn shared(name: &str) -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("NPUKIT_SHARED").map_or(default, PathBuf::from).join(name);
    assert!(path.exists(), "{} is absent (NPUKIT_SHARED names the folder)", path.display());
    path
}

/// Returns the bytes of a file in the same folder. Panics if it cannot be read.
pub fn shared_bytes(name: &str) -> Vec<u8> {
    let path = shared(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the path of the golden vectors of a target in the repository: `tests/golden/TARGET`.
pub fn golden(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(target)
}

/// A small example of a rewrite, as text before and after.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// Subject of the example.
    pub title: &'static str,
    /// Text before the rewrite.
    pub before: String,
    /// Text after the rewrite; equal to `before` if the rewrite does not apply.
    pub after: String,
}

/// Compares `examples` with the file `tests/NAME` of the repository, which begins with `headline`.
/// With `NPUKIT_BLESS=1` writes the file instead.
///
/// Panics if they differ, with the first differing line.
pub fn expect_rewritten(name: &str, headline: &str, examples: &[Rewritten]) {
    let mut text = format!("{headline}\n");
    for Rewritten { title, before, after } in examples {
        let after = if after == before { "(unchanged)\n" } else { after };
        text += &format!("\n; EXAMPLE: {title}\n; BEFORE:\n{before}; AFTER:\n{after}");
    }
    expect_text(name, &text);
}

fn expect_text(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name);
    if std::env::var_os("NPUKIT_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, actual).unwrap_or_else(|error| panic!("{name}: {error}"));
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{name}: {error}; NPUKIT_BLESS=1 writes it"))
        .replace("\r\n", "\n");
    let differs = expected.lines().zip(actual.lines()).find(|(expected, actual)| expected != actual);
    assert!(expected == actual, "tests/{name}: {differs:?}; NPUKIT_BLESS=1 accepts what came out:\n{actual}");
}
