//! Time reports: their parts add up, and memories do not exceed their size.

use npukit_target::{Compiled, TimeOptions, TimeReport};

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
            let takes_time = report.cycles[&report.clock] > 0;
            assert_eq!(takes_time, compiled.report().instructions > 0, "{}: takes time", subject.name);
            assert_eq!(compiled.time(&TimeOptions::default()).ok(), Some(report), "{}: again", subject.name);
            counts_add_up(&subject.name, compiled);
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

/// Asserts that the counts of layers add up to the total, and that the host's work is known.
fn counts_add_up(name: &str, compiled: &dyn Compiled) {
    let options = TimeOptions { counts_activity: true, ..TimeOptions::default() };
    let report = compiled.time(&options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let Some(activity) = report.activity else {
        // A graph without instructions runs on the host only.
        assert_eq!(compiled.report().instructions, 0, "{name}: has no counts");
        return;
    };
    if !report.layers.is_empty() {
        assert_eq!(activity.layers.len(), report.layers.len(), "{name}: counts by layer");
        let macs = activity.layers.iter().map(|counts| counts.macs).sum::<u64>();
        assert_eq!(macs, activity.total.macs, "{name}: multiply-accumulates by layer");
        for (place, memory) in activity.memories.iter().enumerate() {
            let bytes = activity.layers.iter().map(|counts| counts.bytes[place]).sum::<u64>();
            assert_eq!(bytes, activity.total.bytes[place], "{name}: bytes of {} by layer", memory.name);
        }
    }
    let host = &compiled.info().host;
    assert_eq!(host.elements.len(), compiled.report().host_steps.len(), "{name}: work of host steps");
    assert!(!host.elements.contains(&None) && host.copied_bytes.is_some(), "{name}: {host:?}");
}

fn adds_up(name: &str, report: &TimeReport) {
    let whole = report.cycles.get(&report.clock).copied();
    let whole = whole.unwrap_or_else(|| panic!("{name}: {:?} has no `{}`", report.cycles, report.clock));
    assert_eq!(report.kinds.iter().map(|kind| kind.cycles).sum::<u64>(), whole, "{name}: by kind");
    if !report.layers.is_empty() {
        assert_eq!(report.layers.iter().map(|layer| layer.cycles).sum::<u64>(), whole, "{name}: by layer");
        let macs = report.layers.iter().map(|layer| layer.macs_computed).sum::<u64>();
        assert!(report.macs_computed.is_none_or(|all| all == macs), "{name}: {macs} MACs computed by layer");
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
