//! Wrong vectors must fail. The suite runs the golden vectors.

use npukit_drra::DRRA;
use npukit_target::{Outcome, ReadError};

use crate::golden;

#[test]
fn wrong_vectors_fail() {
    let mut file = golden::json("dot_32.json");
    let none = |path: &str| Err(ReadError::Absent { path: path.to_owned() });
    let mut fails = |change: &dyn Fn(&mut serde_json::Value)| {
        let before = file.clone();
        change(&mut file);
        let cases = DRRA.vectors("x.json", file.to_string().as_bytes(), &none).unwrap();
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
