//! The golden vectors that are not in the repository, as `npu conform` runs them; wrong ones fail. The suite runs
//! those in the repository.

use std::path::Path;

use npukit_target::{Outcome, ReadError, Reader, Target};
use npukit_tcu::Tcu;

use npukit_testing::{golden, needs, shared, shared_bytes};

/// Reads from the disk.
struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        std::fs::read(path).map_err(|error| ReadError::of(path, &error))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            let entry = entry.path();
            match entry.is_dir() {
                true => files.extend(self.list(&entry.to_string_lossy())?),
                false => files.push(entry.to_string_lossy().into_owned()),
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Checks the vectors of a file; gives the numbers passed, of these the inexact ones, and skipped.
fn check(path: &Path) -> (usize, usize, usize) {
    let path = path.to_string_lossy();
    let bytes = Disk.read(&path).unwrap();
    let cases = Tcu.vectors(&path, &bytes, &Disk).unwrap_or_else(|| panic!("{path} is not recognised"));
    let (mut passed, mut inexact, mut skipped) = (0, 0, 0);
    for case in cases {
        let name = case.name.clone();
        match case.check() {
            Outcome::Passed => passed += 1,
            Outcome::Measured { exact } => {
                passed += 1;
                inexact += usize::from(!exact);
            }
            Outcome::Skipped { .. } => skipped += 1,
            Outcome::Failed { expected, got } => panic!("{path}, {name}: expected {expected}, got {got}"),
        }
    }
    (passed, inexact, skipped)
}

fn check_all(folder: &Path, name: &str, (passed, skipped): (usize, usize)) {
    assert_eq!(check(&folder.join(name)), (passed, 0, skipped), "{name}: (passed, inexact, skipped)");
}

/// A file beside programs that are not ours.
fn check_shared(name: &str, counts: (usize, usize)) {
    check_all(&shared("golden/tcu"), name, counts);
}

#[needs(NPUKIT_SHARED)]
#[test]
fn published_programs() {
    check_shared("programs/resnet20v2_zcu104/outputs.json", (13, 0));
    check_shared("programs/speech_commands/outputs.json", (4, 0));
}

#[needs(NPUKIT_SHARED)]
#[test]
fn measurements_of_whole_programs() {
    // 10 forms, the estimator of both programs that are present, 10 images; 4 programs are absent.
    check_shared("rtl_timing.json", (22 + 163 + 52 + 2, 4));
    // 10 forms, an image, the program at six latencies.
    check_shared("rtl_timing_n32_b4.json", (11 + 170 + 52 + 6, 0));
}

/// Files of our own, all in the repository.
const COPIES: [&str; 7] = [
    "encoding.json",
    "numerics.json",
    "rtl_occupancy.json",
    "rtl_sequences.json",
    "rtl_sequences_n32_b4.json",
    "rtl_timing.json",
    "rtl_timing_n32_b4.json",
];

#[needs(NPUKIT_SHARED)]
#[test]
fn copies_are_those_of_the_shared_folder() {
    for name in COPIES {
        let copy = std::fs::read(golden("tcu").join(name)).unwrap();
        assert!(copy == shared_bytes(&format!("golden/tcu/{name}")), "{name} differs");
    }
}

#[test]
fn a_wrong_vector_fails() {
    let text = std::fs::read_to_string(golden("tcu").join("encoding.json")).unwrap();
    let wrong = text.replacen("\"0500070000000010\"", "\"0500070000000011\"", 1);
    assert_ne!(text, wrong);
    let cases = Tcu.vectors("encoding.json", wrong.as_bytes(), &Disk).unwrap();
    let failed = cases.into_iter().filter_map(|case| match case.check() {
        Outcome::Failed { got, .. } => Some(got),
        _ => None,
    });
    assert_eq!(failed.count(), 1);
}

#[test]
fn measurements_pass_within_two_cycles_and_say_so() {
    let text = std::fs::read_to_string(golden("tcu").join("rtl_sequences.json")).unwrap();
    let outcome = |total: &str| {
        let changed = text.replacen("\"total\":586", total, 1);
        let cases = Tcu.vectors("sequences.json", changed.as_bytes(), &Disk).unwrap();
        let mut first = cases.into_iter().filter(|case| case.name == "p8_000 cycles at latency 1");
        first.next().unwrap().check()
    };
    assert_eq!(outcome("\"total\":586"), Outcome::Measured { exact: true });
    assert_eq!(outcome("\"total\":588"), Outcome::Measured { exact: false });
    let failed = Outcome::Failed {
        expected: "589 as number 0 of 23".to_owned(),
        got: "586 as number 0 of 23".to_owned(),
    };
    assert_eq!(outcome("\"total\":589"), failed);
}

#[test]
fn a_file_of_a_known_format_with_wrong_content_fails() {
    let text = br#"{"architectures":{},"vectors":[{"id":0,"arch":"x"}]}"#;
    let mut cases = Tcu.vectors("v.json", text, &Disk).unwrap();
    let outcome = cases.remove(0).check();
    assert!(matches!(&outcome, Outcome::Failed { got, .. } if got.contains("v.json")), "{outcome:?}");
    assert!(Tcu.vectors("v.json", b"{}", &Disk).is_none());
    assert!(Tcu.vectors("v.json", b"[1,", &Disk).is_none());
}
