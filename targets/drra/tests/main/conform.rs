//! The golden vectors, as `npu conform` checks them.

use std::path::Path;

use npukit_drra::Drra;
use npukit_target::{Outcome, ReadError, Target};

use crate::golden;

/// How many cases of each kind of file passed.
#[test]
fn all_golden_vectors_pass() {
    let (mut encodings, mut patterns, mut released, mut programs) = (0, 0, 0, 0);
    for entry in std::fs::read_dir(golden::folder()).unwrap() {
        let path = entry.unwrap().path();
        let none = |path: &str| Err(ReadError::Absent { path: path.to_owned() });
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
        let Some(cases) = Drra.vectors(&name, &bytes, &none) else {
            assert_ne!(Path::new(&name).extension().and_then(|end| end.to_str()), Some("json"), "{name}");
            continue;
        };
        match name.as_str() {
            "encoding.json" => encodings += cases.len(),
            "agu_patterns.json" => patterns += cases.len(),
            "released_kernels.json" => released += cases.len(),
            _ => programs += cases.len(),
        }
        for case in cases {
            let case_name = case.name.clone();
            assert_eq!(case.check(), Outcome::Passed, "{name}: {case_name}");
        }
    }
    assert_eq!((encodings, patterns, released, programs), (53, 113, 14, 13));
}

#[test]
fn wrong_vectors_fail() {
    let mut file = golden::json("dot_32.json");
    let none = |path: &str| Err(ReadError::Absent { path: path.to_owned() });
    let mut fails = |change: &dyn Fn(&mut serde_json::Value)| {
        let before = file.clone();
        change(&mut file);
        let cases = Drra.vectors("x.json", file.to_string().as_bytes(), &none).unwrap();
        file = before;
        cases.into_iter().all(|case| matches!(case.check(), Outcome::Failed { .. }))
    };
    assert!(fails(&|file| file["expected_cycles"] = 63.into()));
    assert!(fails(&|file| file["expected_rows"]["0"][0] = 7.into()));
    assert!(fails(&|file| file["io_trace"][0]["cycle"] = 6.into()));
    assert!(fails(&|file| file["cells"][0]["words"][0] = "0xe1000001".into()));
    assert!(fails(&|file| file["arch"] = "3x1".into()));
    assert!(!fails(&|_| ()));
}
