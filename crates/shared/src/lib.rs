//! Where tests find files: [`shared`] what is not in the repository, [`golden`] a target's vectors;
//! [`macro@needs`] lets a test that wants what is absent be seen as ignored.

use std::path::{Path, PathBuf};

pub use npukit_needs::needs;

/// The path of `name` below the folder of vectors, programs and networks that are not in the repository:
/// `NPUKIT_SHARED`, or `shared` beside the workspace.
///
/// Panics when it is absent, so tests that call it stand below `#[needs(NPUKIT_SHARED)]`.
pub fn shared(name: &str) -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("NPUKIT_SHARED").map_or(default, PathBuf::from).join(name);
    assert!(path.exists(), "{} is absent (NPUKIT_SHARED names the folder)", path.display());
    path
}

/// The bytes of a file below the same folder. Panics when it cannot be read.
pub fn shared_bytes(name: &str) -> Vec<u8> {
    let path = shared(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path of the golden vectors of a target, which are in the repository: `tests/golden/TARGET`.
pub fn golden(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(target)
}

/// What a rewriting makes of a small example, in text.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// What is particular to the example.
    pub title: &'static str,
    /// The text before.
    pub before: String,
    /// The text after; equal to `before` where the rewriting leaves the example alone.
    pub after: String,
}

/// Compares `examples` with the file `tests/NAME` of the repository, which `headline` begins; with `NPUKIT_BLESS=1`
/// writes it instead.
///
/// Panics where they differ, with the first line that does.
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
