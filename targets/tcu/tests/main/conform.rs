//! Golden vectors outside the repository, as `npu conform` runs them. Wrong vectors must fail. The
//! suite runs the vectors of the repository.

use std::path::Path;

use npukit_target::{Outcome, ReadError, Reader};
use npukit_tcu::TCU;
use serde_json::{Map, Value};

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

/// Checks the vectors of a file; returns the numbers of passed, inexact (among the passed) and
/// skipped ones.
fn check(path: &Path) -> (usize, usize, usize) {
    let path = path.to_string_lossy();
    let bytes = Disk.read(&path).unwrap();
    let cases = TCU.vectors(&path, &bytes, &Disk).unwrap_or_else(|| panic!("{path} is not recognized"));
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

/// Checks a file of the shared folder, next to published programs.
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
    // Two runs, the estimator of both available programs, 10 images. Skipped: 4 missing programs,
    // and the steady states, single instructions and forms that `cycles.json` has.
    check_shared("rtl_timing.json", (14, 4 + 163 + 52 + 10));
    // An image, the program at six latencies.
    check_shared("rtl_timing_n32_b4.json", (7, 170 + 52 + 10));
    check_shared("rtl_occupancy.json", (0, 110));
}

#[needs(NPUKIT_SHARED)]
#[test]
fn traces_of_whole_programs() {
    check_shared("rtl_sequences_trace.json", (160, 0));
    check_shared("rtl_sequences_n32_b4_trace.json", (80, 0));
}

/// Returns the figures of a table of `cycles*.json` by name, without the instructions.
fn figures(table: &Value) -> Map<String, Value> {
    let figure = |entry: &Value| {
        let mut entry = entry.as_object().unwrap().clone();
        let name = entry.remove("name").unwrap().as_str().unwrap().to_owned();
        for key in ["latency", "instructions", "repeat", "until", "vectors"] {
            entry.remove(key);
        }
        let single = entry.len() == 1;
        (name, if single { entry.into_iter().next().unwrap().1 } else { entry.into() })
    };
    table.as_array().unwrap().iter().map(figure).collect()
}

#[needs(NPUKIT_SHARED)]
#[test]
fn measured_cycles_are_those_of_the_shared_folder() {
    let occupancy: Value = serde_json::from_slice(&shared_bytes("golden/tcu/rtl_occupancy.json")).unwrap();
    for (ours, timing, array) in [
        ("cycles.json", "rtl_timing.json", "n8_b1"),
        ("cycles_n32_b4.json", "rtl_timing_n32_b4.json", "n32_b4"),
    ] {
        let ours: Value = serde_json::from_slice(&std::fs::read(golden("tcu").join(ours)).unwrap()).unwrap();
        let timing: Value = serde_json::from_slice(&shared_bytes(&format!("golden/tcu/{timing}"))).unwrap();
        for (table, shared) in [
            ("steady_state_cycles", &timing["steady_state_cycles"]),
            ("single_instruction", &timing["single_instruction"]),
            ("hangs", &timing["hangs"]),
            ("occupancy", &occupancy[array]["occupancy"]),
            ("short_sequences", &occupancy[array]["short_sequences_lat1"]),
        ] {
            assert_eq!(&Value::from(figures(&ours[table])), shared, "{table}");
        }
        for transfer in ours["occupancy"].as_array().unwrap() {
            assert_eq!(transfer["vectors"], occupancy[array]["vectors"]);
        }
    }
}

/// Files of the shared folder that npukit created and that are also in the repository.
const COPIES: [&str; 4] =
    ["encoding.json", "numerics.json", "rtl_sequences.json", "rtl_sequences_n32_b4.json"];

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
    let cases = TCU.vectors("encoding.json", wrong.as_bytes(), &Disk).unwrap();
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
        let cases = TCU.vectors("sequences.json", changed.as_bytes(), &Disk).unwrap();
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
    let mut cases = TCU.vectors("v.json", text, &Disk).unwrap();
    let outcome = cases.remove(0).check();
    assert!(matches!(&outcome, Outcome::Failed { got, .. } if got.contains("v.json")), "{outcome:?}");
    assert!(TCU.vectors("v.json", b"{}", &Disk).is_none());
    assert!(TCU.vectors("v.json", b"[1,", &Disk).is_none());
}
