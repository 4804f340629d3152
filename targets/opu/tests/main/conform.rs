//! The golden vectors of `tests/golden/opu`: copies are up to date, wrong ones fail. The suite runs
//! them.

use std::path::{Path, PathBuf};

use npukit_opu::OPU;
use npukit_target::{Case, Outcome, ReadError, Reader};

use npukit_testing::{needs, shared};

/// Reader for files on the disk.
struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        std::fs::read(path).map_err(|error| ReadError::of(path, &error))
    }
}

/// Returns the path of a file or folder of the golden vectors.
fn golden(name: &str) -> PathBuf {
    npukit_testing::golden("opu").join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

/// The repository's vectors equal the vectors in the shared folder.
#[needs(NPUKIT_SHARED)]
#[test]
fn the_copies_are_up_to_date() {
    let origin = shared("golden/opu");
    for folder in ["", "cases"] {
        for file in files(&origin.join(folder)) {
            let copy = golden(folder).join(file.file_name().unwrap());
            assert!(std::fs::read(&copy).unwrap() == std::fs::read(&file).unwrap(), "{}", copy.display());
        }
    }
}

#[test]
fn a_wrong_vector_fails() {
    let failures = |name: &str, from: &str, to: &str| {
        let path = golden(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let wrong = text.replacen(from, to, 1);
        assert_ne!(text, wrong);
        let cases = OPU.vectors(&path.to_string_lossy(), wrong.as_bytes(), &Disk).unwrap();
        cases.into_iter().map(Case::check).filter(|outcome| matches!(outcome, Outcome::Failed { .. })).count()
    };
    for (name, from, to) in [
        ("encoding.json", "0x0fffffc1", "0x0fffffc2"),
        ("faults.json", "ker-capacity", "ker-index"),
        ("cases/000-conv1x1_0.json", "\"sha256\":\"4b", "\"sha256\":\"4c"),
        ("cases/000-conv1x1_0.json", "\"ofm_c\":32", "\"ofm_c\":64"),
        ("cases/000-conv1x1_0.json", "\"b64\":\"3vn3", "\"b64\":\"3vn4"),
    ] {
        assert_eq!(failures(name, from, to), 1, "{name}: {from}");
    }
}

#[test]
fn a_file_of_a_known_format_with_wrong_content_fails() {
    let mut cases = OPU.vectors("v.json", br#"{"format":"opu-case-1"}"#, &Disk).unwrap();
    let outcome = cases.remove(0).check();
    assert!(matches!(&outcome, Outcome::Failed { got, .. } if got.contains("v.json")), "{outcome:?}");
    assert!(OPU.vectors("v.json", b"{}", &Disk).is_none());
    assert!(OPU.vectors("v.json", b"[1,", &Disk).is_none());
}
