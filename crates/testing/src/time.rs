//! Time reports: their parts add up, and memories do not exceed their size.

use npukit_target::{TimeOptions, TimeReport};

use crate::Suite;

impl Suite {
    /// Tests that cycles by kind, by layer and by instruction add up to the total, and that shares
    /// are relative to it.
    pub fn times(&self) {
        self.each_compiled(|_, subject, compiled| {
            let report = compiled.time(&TimeOptions::default());
            let report = report.unwrap_or_else(|error| panic!("{}: {error}", subject.name));
            adds_up(&subject.name, &report);
            // A graph without instructions runs on the host only.
            let takes_time = report.cycles[&report.model] > 0;
            assert_eq!(takes_time, compiled.report().instructions > 0, "{}: takes time", subject.name);
            assert_eq!(compiled.time(&TimeOptions::default()).ok(), Some(report), "{}: again", subject.name);
        });
    }

    /// Tests that no memory exceeds its size, and that the host does not do more work than exists.
    pub fn fills(&self) {
        self.each_compiled(|_, subject, compiled| {
            let report = compiled.report();
            for (memory, found) in &report.memory {
                let is_within = found.maximum <= found.depth && !found.unit.is_empty();
                assert!(is_within, "{}: {memory} is {found:?}", subject.name);
            }
            assert!(
                report.macs.is_none_or(|macs| compiled.info().host_macs <= macs),
                "{}: host",
                subject.name
            );
        });
    }
}

fn adds_up(name: &str, report: &TimeReport) {
    let whole = report.cycles.get(&report.model).copied();
    let whole = whole.unwrap_or_else(|| panic!("{name}: {:?} has no `{}`", report.cycles, report.model));
    assert_eq!(report.kinds.iter().map(|kind| kind.cycles).sum::<u64>(), whole, "{name}: by kind");
    if !report.layers.is_empty() {
        assert_eq!(report.layers.iter().map(|layer| layer.cycles).sum::<u64>(), whole, "{name}: by layer");
    }
    if !report.instructions.is_empty() {
        let sum = report.instructions.iter().map(|one| one.cycles).sum::<u64>();
        assert_eq!(sum, whole, "{name}: by instruction");
    }
    let shares = [
        report.kinds.iter().map(|kind| (kind.cycles, kind.share)).collect::<Vec<_>>(),
        report.layers.iter().map(|layer| (layer.cycles, layer.share)).collect(),
        report.units.iter().map(|unit| (unit.busy, unit.share)).collect(),
    ];
    for (cycles, share) in shares.into_iter().flatten() {
        let expected = cycles as f64 / whole.max(1) as f64;
        assert!((share - expected).abs() < 1e-9, "{name}: {cycles} of {whole} cycles are {share}");
    }
}
