//! The golden vectors of a target, as `npu conform` runs them.

use std::collections::BTreeMap;

use crate::Suite;
use crate::disk::Disk;

impl Suite {
    /// Every vector of the repository passes, as many measurements as ever to the cycle, and in each listed file there are
    /// as many as there ought to be. A file of a new instruction need not be listed.
    pub fn vectors(&self) {
        let folder = self.golden().to_string_lossy().into_owned();
        let report = npukit_target::conform::run(self.target, std::slice::from_ref(&folder), &Disk);
        let report = report.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.failures, [], "vectors fail");
        assert_eq!(report.unrecognised, [""; 0], "files that the target does not know");
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
        // A new file needs no line as long as each of its vectors runs.
        for (name, &(passed, skipped)) in &counts {
            if passed > 0 && skipped == 0 {
                expected.entry(name.clone()).or_insert((passed, 0));
            }
        }
        assert_eq!(counts, expected, "vectors passed and skipped, by file");
    }
}
