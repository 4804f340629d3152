//! Tests of the search for vector files and of the totals, with a target made for them.
#![allow(clippy::unwrap_used, reason = "tests")]

use npukit_target::conform::run;
use npukit_target::{Case, Outcome, ReadError, Reader, Target, TargetError};

/// A target for files that begin with `v`; each following `p`, `f` or `s` is a vector that passes,
/// fails or is skipped.
static TOY: Target = Target {
    read_vectors: vectors,
    ..Target::new("toy", "for this test", Vec::new, |_| {
        Err(TargetError::Unsupported { target: "toy".into(), verb: "anything" })
    })
};

fn vectors(_: &str, bytes: &[u8], _: &dyn Reader) -> Option<Vec<Case>> {
    let letters = bytes.strip_prefix(b"v")?.to_vec();
    let case = |(i, letter): (usize, u8)| match letter {
        b'p' => Case::new(i.to_string(), || Outcome::compare(&1, &1)),
        b's' => Case::skipped(i.to_string(), "later"),
        _ => Case::new(i.to_string(), || Outcome::compare(&1, &2)),
    };
    Some(letters.into_iter().enumerate().map(case).collect())
}

struct Files;

impl Reader for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match path {
            "d/a.json" => Ok(b"vpps".to_vec()),
            "d/b.json" => Ok(b"vfp".to_vec()),
            "d/c.json" => Ok(b"other".to_vec()),
            _ => Err(ReadError::Absent { path: path.into() }),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        match path {
            "d" => Ok(["d/a.json", "d/b.json", "d/c.json", "d/d.csv"].map(String::from).to_vec()),
            _ => Ok(vec![path.to_owned()]),
        }
    }
}

#[test]
fn a_folder_is_searched_and_summed_up() {
    let report = run(&TOY, &["d".into(), "d/a.json".into()], &Files).unwrap();
    assert_eq!(report.closing_line(), "3 passed, 1 failed, 1 skipped");
    assert!(!report.is_success());
    assert_eq!(report.unrecognized, ["d/c.json"]);
    let failure = &report.failures[0];
    let shown =
        (failure.file.as_str(), failure.case.as_str(), failure.expected.as_str(), failure.got.as_str());
    assert_eq!(shown, ("d/b.json", "0", "1", "2"));
    assert_eq!((report.skips[0].file.as_str(), report.skips[0].reason.as_str()), ("d/a.json", "later"));
}

#[test]
fn a_path_that_is_not_there_is_an_error() {
    assert!(run(&TOY, &["nowhere".into()], &Files).is_err());
}

#[test]
fn checking_nothing_is_no_success() {
    let report = run(&TOY, &["d/c.json".into()], &Files).unwrap();
    assert!(!report.is_success());
}
