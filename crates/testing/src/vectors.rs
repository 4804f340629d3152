//! Golden vectors of a target, run as in `npu conform`.

use std::collections::BTreeMap;

use crate::Suite;
use crate::disk::Disk;

impl Suite {
    /// Tests that every vector of the repository passes, with the expected number of exact
    /// measurements, and that each listed file has the expected number of vectors. Files of new
    /// instructions need not be listed.
    pub fn vectors(&self) {
        let folder = self.golden().to_string_lossy().into_owned();
        let report = npukit_target::conform::run(self.target, std::slice::from_ref(&folder), &Disk);
        let report = report.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.failures, [], "vectors fail");
        assert_eq!(report.unrecognized, [""; 0], "files that the target does not know");
        let inexact = report.measured - report.exact;
        assert_eq!(inexact, self.inexact, "measurements met within their tolerance only");
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for file in &report.files {
            let name = file.file.strip_prefix(&folder).unwrap_or(&file.file).trim_start_matches('/');
            let name = name.split_once('/').map_or_else(|| name.to_owned(), |(first, _)| format!("{first}/"));
            let (passed, skipped) = counts.entry(name).or_default();
            *passed += file.passed;
            *skipped += file.skipped;
        }
        let mut expected: BTreeMap<String, (usize, usize)> = self
            .vectors
            .iter()
            .map(|&(name, passed, skipped)| (name.to_owned(), (passed, skipped)))
            .collect();
        // A new file need not be listed if all of its vectors run.
        for (name, &(passed, skipped)) in &counts {
            if passed > 0 && skipped == 0 {
                expected.entry(name.clone()).or_insert((passed, 0));
            }
        }
        assert_eq!(counts, expected, "vectors passed and skipped, by file");
    }
}
