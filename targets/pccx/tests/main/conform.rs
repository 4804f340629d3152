//! The golden vectors: copies are up to date, and wrong vectors fail. The suite runs them.

use npukit_pccx::PCCX;
use npukit_target::{Outcome, ReadError};
use npukit_testing::{needs, shared_bytes};

fn no_files(path: &str) -> Result<Vec<u8>, ReadError> {
    Err(ReadError::Absent { path: path.to_owned() })
}

/// Returns a file of vectors.
pub(crate) fn golden(name: &str) -> Vec<u8> {
    let path = npukit_testing::golden("pccx").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[needs(NPUKIT_SHARED)]
#[test]
fn copies_are_those_of_the_shared_folder() {
    for entry in std::fs::read_dir(npukit_testing::golden("pccx")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let original = match name {
            "ORIGIN.md" | "normalize-2.json" => continue,
            ours if ours.starts_with("program") => continue,
            "numpy_layer_9.json" => shared_bytes(&format!("open/pccx/{name}")),
            _ => shared_bytes(&format!("golden/pccx/{name}")),
        };
        assert!(original == golden(name), "{name} differs");
    }
}

#[test]
fn wrong_vectors_fail_and_unknown_files_are_none() {
    let failed = |name: &str, bytes: &[u8]| {
        let cases = PCCX.vectors(name, bytes, &no_files).unwrap();
        cases.into_iter().any(|case| matches!(case.check(), Outcome::Failed { .. }))
    };
    assert!(failed("ref_cvo_exp.u16le", &[0, 0, 0x81, 0x3F]), "e^0 is 1");
    assert!(!failed("ref_cvo_exp.u16le", &[0, 0, 0x80, 0x3F]));
    assert!(failed("ref_cvo_exp.u16le", &[0, 0, 0x80]), "half a record");
    assert!(failed("load_words.json", br#"{"rows": [[1, 1, 9, 1]]}"#), "9 values are 2 words");
    assert!(failed("trace_1_1.pccx", b"PCCX"), "cut short");
    let kick = |cycles, word| {
        let program = format!(
            r#"{{"programs": [{{"name": "kick", "instance": "reference", "code": ["kick"],
                "result": {{"0x0": ["{word}"]}}, "cycles": {cycles}}}]}}"#
        );
        failed("program_kick.json", program.as_bytes())
    };
    assert!(!kick(13, "0000"), "a push of 12.8 cycles");
    assert!(kick(12, "0000") && kick(13, "0001"));
    for (name, bytes) in [("load_words.json", &b"{}"[..]), ("loads.json", br#"{"rows": []}"#), ("a.bin", b"")]
    {
        assert!(PCCX.vectors(name, bytes, &no_files).is_none(), "{name}");
    }
}
