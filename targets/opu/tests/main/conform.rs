//! The golden vectors, as `npu conform` runs them.

use std::path::Path;

use npukit_opu::Opu;
use npukit_target::{Outcome, ReadError, Reader, Target};

use npukit_testing::{needs, shared};

/// Reads from the disk.
struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        std::fs::read(path)
            .map_err(|error| ReadError::Unreadable { path: path.to_owned(), reason: error.to_string() })
    }
}

/// Checks the vectors of a file; gives the number passed.
fn check(path: &Path) -> usize {
    let path = path.to_string_lossy();
    let bytes = Disk.read(&path).unwrap();
    let cases = Opu.vectors(&path, &bytes, &Disk).unwrap_or_else(|| panic!("{path} is not recognised"));
    let count = cases.len();
    for case in cases {
        let name = case.name.clone();
        let outcome = case.check();
        assert!(matches!(outcome, Outcome::Passed), "{path}, {name}: {outcome:?}");
    }
    count
}

fn check_shared(name: &str, passed: usize) {
    assert_eq!(check(&shared(name)), passed, "{name}");
}

#[needs(NPUKIT_SHARED)]
#[test]
fn every_encoding_both_ways() {
    check_shared("golden/opu/encoding.json", 99);
}

#[needs(NPUKIT_SHARED)]
#[test]
fn every_fault_at_its_instruction() {
    check_shared("golden/opu/faults.json", 49);
}

#[needs(NPUKIT_SHARED)]
#[test]
fn the_index_and_what_others_compute_otherwise() {
    check_shared("golden/opu/index.json", 1);
    check_shared("golden/opu/upstream-divergent.json", 12);
}

#[needs(NPUKIT_SHARED)]
#[test]
fn every_case() {
    let files = std::fs::read_dir(shared("golden/opu/cases")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(files.map(|file| check(&file)).sum::<usize>(), 171);
}

#[needs(NPUKIT_SHARED)]
#[test]
fn a_wrong_vector_fails() {
    let failures = |name: &str, from: &str, to: &str| {
        let path = shared(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let wrong = text.replacen(from, to, 1);
        assert_ne!(text, wrong);
        let cases = Opu.vectors(&path.to_string_lossy(), wrong.as_bytes(), &Disk).unwrap();
        cases
            .into_iter()
            .filter_map(|case| matches!(case.check(), Outcome::Failed { .. }).then_some(()))
            .count()
    };
    for (name, from, to) in [
        ("golden/opu/encoding.json", "0x0fffffc1", "0x0fffffc2"),
        ("golden/opu/faults.json", "ker-capacity", "ker-index"),
        ("golden/opu/cases/000-conv1x1_0.json", "\"sha256\":\"4b", "\"sha256\":\"4c"),
        ("golden/opu/cases/000-conv1x1_0.json", "\"ofm_c\":32", "\"ofm_c\":64"),
        ("golden/opu/cases/000-conv1x1_0.json", "\"b64\":\"3vn3", "\"b64\":\"3vn4"),
    ] {
        assert_eq!(failures(name, from, to), 1, "{name}: {from}");
    }
}

#[test]
fn a_file_of_a_known_format_with_wrong_content_fails() {
    let mut cases = Opu.vectors("v.json", br#"{"format":"opu-case-1"}"#, &Disk).unwrap();
    let outcome = cases.remove(0).check();
    assert!(matches!(&outcome, Outcome::Failed { got, .. } if got.contains("v.json")), "{outcome:?}");
    assert!(Opu.vectors("v.json", b"{}", &Disk).is_none());
    assert!(Opu.vectors("v.json", b"[1,", &Disk).is_none());
}
