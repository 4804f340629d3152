//! The golden vectors, as `npu conform` runs them.

use npukit_pccx::Pccx;
use npukit_target::{Outcome, ReadError, Target};
use npukit_testing::{needs, shared_bytes};

fn no_files(path: &str) -> Result<Vec<u8>, ReadError> {
    Err(ReadError::Absent { path: path.to_owned() })
}

/// A file of vectors.
pub(crate) fn golden(name: &str) -> Vec<u8> {
    let path = npukit_testing::golden("pccx").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Checks the vectors of a file; gives how many there are.
fn check(name: &str) -> usize {
    let bytes = golden(name);
    let cases = Pccx.vectors(name, &bytes, &no_files).unwrap_or_else(|| panic!("{name} is not recognised"));
    let count = cases.len();
    for case in cases {
        let id = case.name.clone();
        let outcome = case.check();
        let passed = matches!(outcome, Outcome::Passed | Outcome::Measured { .. });
        assert!(passed, "{name}, {id}: {outcome:?}");
    }
    count
}

fn check_all(files: &[(&str, usize)]) {
    for &(name, count) in files {
        assert_eq!(check(name), count, "{name}");
    }
}

#[test]
fn words_and_what_they_do_to_the_scheduler() {
    check_all(&[("encoding.json", 46 + 7 + 18), ("decode_uops.json", 359), ("load_words.json", 120)]);
    check_all(&[("weight_beats.json", 2), ("host_cmd.json", 35 + 17 + 3)]);
}

#[test]
fn reference_numerics() {
    check_all(&[("ref_reduce_sum.json", 42), ("ref_scale.json", 41), ("ref_softmax.json", 42)]);
    assert!(check("ref_gemm.json") > 32);
}

#[test]
fn reference_functions() {
    for name in ["exp", "sqrt", "gelu", "sin", "cos", "recip"] {
        assert!(check(&format!("ref_cvo_{name}.u16le")) > 2900);
    }
}

#[test]
fn blocks_of_the_circuits() {
    check_all(&[("normalize.json", 898), ("normalize-2.json", 1), ("dual_mac.json", 247)]);
    check_all(&[("rtl_reduce_sum.json", 66), ("rtl_scale.json", 84), ("rtl_cordic.u16le", 3581)]);
    assert!(check("preprocess.json") > 112);
    for name in ["exp", "recip", "sqrt"] {
        assert!(check(&format!("rtl_sfu_{name}.u16le")) > 3500);
    }
}

#[test]
fn estimates_and_traces_of_the_laboratory() {
    check_all(&[("lab_estimates.json", 78 + 38 + 11 + 6), ("trace_1_1.pccx", 3), ("trace_3_4.pccx", 3)]);
}

#[test]
fn gemma_3n_as_the_runtime_computes_it() {
    check_all(&[("numpy_ops.json", 40), ("numpy_layer.json", 9 + 6), ("numpy_layer_9.json", 3 + 2)]);
}

#[needs(NPUKIT_SHARED)]
#[test]
fn copies_are_those_of_the_shared_folder() {
    for entry in std::fs::read_dir(npukit_testing::golden("pccx")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let original = match name {
            "ORIGIN.md" | "normalize-2.json" => continue,
            "numpy_layer_9.json" => shared_bytes(&format!("open/pccx/{name}")),
            _ => shared_bytes(&format!("golden/pccx/{name}")),
        };
        assert!(original == golden(name), "{name} differs");
    }
}

#[test]
fn wrong_vectors_fail_and_unknown_files_are_none() {
    let failed = |name: &str, bytes: &[u8]| {
        let cases = Pccx.vectors(name, bytes, &no_files).unwrap();
        cases.into_iter().any(|case| matches!(case.check(), Outcome::Failed { .. }))
    };
    assert!(failed("ref_cvo_exp.u16le", &[0, 0, 0x81, 0x3F]), "e^0 is 1");
    assert!(!failed("ref_cvo_exp.u16le", &[0, 0, 0x80, 0x3F]));
    assert!(failed("ref_cvo_exp.u16le", &[0, 0, 0x80]), "half a record");
    assert!(failed("load_words.json", br#"{"rows": [[1, 1, 9, 1]]}"#), "9 values are 2 words");
    assert!(failed("trace_1_1.pccx", b"PCCX"), "cut short");
    for (name, bytes) in [("load_words.json", &b"{}"[..]), ("loads.json", br#"{"rows": []}"#), ("a.bin", b"")]
    {
        assert!(Pccx.vectors(name, bytes, &no_files).is_none(), "{name}");
    }
}
