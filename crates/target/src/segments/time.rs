//! [`sum`]: adds up the times of segments.

use std::collections::BTreeMap;

use npukit_base::counted;

use crate::report::breakdown::share;
use crate::report::time::{FlagTime, InstructionTime, KindTime, Roofline, TimeReport, UnitTime};

/// Returns the time of segments that run in sequence; `host_steps` host steps in between are not
/// timed.
pub(super) fn sum(times: Vec<TimeReport>, host_steps: usize) -> TimeReport {
    let mut all = TimeReport::default();
    let segments = times.len();
    let mut instructions = 0;
    let mut weighted = Weighted::default();
    for time in times {
        let before = cycles(&all);
        weighted.add(&time);
        if all.clock.is_empty() {
            all.clock.clone_from(&time.clock);
            (all.clock_mhz, all.clock_source) = (time.clock_mhz, time.clock_source.clone());
            all.milliseconds = Some(0.0);
            all.activity = time.activity;
            all.macs_computed = time.macs_computed;
        } else {
            all.macs_computed = all.macs_computed.zip(time.macs_computed).map(|(sum, more)| sum + more);
            all.activity = all.activity.zip(time.activity).and_then(|(sum, more)| sum.join(more));
        }
        for (model, cycles) in &time.cycles {
            *all.cycles.entry(model.clone()).or_default() += cycles;
        }
        all.milliseconds = all.milliseconds.zip(time.milliseconds).map(|(sum, more)| sum + more);
        all.roofline.compute += time.roofline.compute;
        all.roofline.memory += time.roofline.memory;
        new_ones(&mut all.assumptions, time.assumptions);
        new_ones(&mut all.notes, time.notes);
        let (layers, kinds) = (all.layers.len(), add_kinds(&mut all.kinds, time.kinds));
        all.layers.extend(time.layers.into_iter().map(|mut layer| {
            let cycles = [&mut layer.first_cycle, &mut layer.last_cycle];
            cycles.into_iter().flatten().for_each(|cycle| *cycle += before);
            layer
        }));
        add_units(&mut all.units, time.units);
        add_flags(&mut all.flags, time.flags, instructions, before);
        instructions += time.instructions.len();
        all.instructions.extend(time.instructions.into_iter().map(|one| InstructionTime {
            layer: one.layer.map(|layer| layer + layers),
            kind: kinds.get(one.kind).copied().unwrap_or(one.kind), // Default: a kind without a name keeps its index.
            ..one
        }));
    }
    let whole = cycles(&all);
    all.roofline = Roofline::new(all.roofline.compute, all.roofline.memory, whole);
    (all.utilization, all.array_busy) = weighted.means();
    all.layers.iter_mut().for_each(|layer| layer.share = share(layer.cycles, whole));
    all.kinds.iter_mut().for_each(|kind| kind.share = share(kind.cycles, whole));
    all.units.iter_mut().for_each(|unit| unit.share = share(unit.busy, whole));
    all.notes.push(format!(
        "the times of {} are added up; {} on the host and the drivers' work in between are not timed",
        counted(segments as u64, "segment"),
        counted(host_steps as u64, "step"),
    ));
    all
}

/// Returns the cycles of the report's main cost model.
fn cycles(time: &TimeReport) -> u64 {
    time.cycles.get(&time.clock).copied().unwrap_or(0) // Default: a report without cycles adds 0.
}

/// Averages weighted by cycles.
#[derive(Default)]
struct Weighted {
    cycles: f64,
    busy: f64,
    utilization: Option<f64>,
    is_known: bool,
}

impl Weighted {
    fn add(&mut self, time: &TimeReport) {
        let is_first = self.cycles == 0.0 && !self.is_known;
        let cycles = cycles(time) as f64;
        self.cycles += cycles;
        self.busy += time.array_busy * cycles;
        let before = if is_first { Some(0.0) } else { self.utilization };
        self.utilization = before.zip(time.utilization).map(|(sum, share)| sum + share * cycles);
        self.is_known = true;
    }

    /// Returns utilization and the busy share of the array.
    fn means(&self) -> (Option<f64>, f64) {
        let mean = |sum: f64| if self.cycles > 0.0 { sum / self.cycles } else { 0.0 };
        (self.utilization.map(mean), mean(self.busy))
    }
}

fn new_ones(all: &mut Vec<String>, more: Vec<String>) {
    for text in more {
        if !all.contains(&text) {
            all.push(text);
        }
    }
}

/// Adds kinds by name; returns their indices in the sum.
fn add_kinds(all: &mut Vec<KindTime>, more: Vec<KindTime>) -> Vec<usize> {
    let mut place = |kind: KindTime| match all.iter().position(|known| known.kind == kind.kind) {
        Some(place) => {
            let known = &mut all[place];
            known.instructions += kind.instructions;
            known.vectors += kind.vectors;
            known.cycles += kind.cycles;
            place
        }
        None => {
            all.push(kind);
            all.len() - 1
        }
    };
    more.into_iter().map(&mut place).collect()
}

/// Adds flags by name. The new ones rose after `instructions` and `cycles` of earlier segments.
fn add_flags(all: &mut Vec<FlagTime>, more: Vec<FlagTime>, instructions: usize, cycles: u64) {
    for mut flag in more {
        if let Some(known) = all.iter_mut().find(|known| known.flag == flag.flag) {
            known.times += flag.times;
            known.cycles += flag.cycles;
        } else {
            flag.first_instruction += instructions;
            flag.first_cycle += cycles;
            all.push(flag);
        }
    }
}

fn add_units(all: &mut Vec<UnitTime>, more: Vec<UnitTime>) {
    for unit in more {
        let Some(known) = all.iter_mut().find(|known| known.unit == unit.unit) else {
            all.push(unit);
            continue;
        };
        known.busy += unit.busy;
        let mut waits: BTreeMap<String, u64> = BTreeMap::new();
        for wait in known.waits.drain(..).chain(unit.waits) {
            *waits.entry(wait.on).or_default() += wait.cycles;
        }
        known.waits =
            waits.into_iter().map(|(on, cycles)| crate::report::time::Wait { on, cycles }).collect();
        known.waits.sort_by_key(|wait| std::cmp::Reverse(wait.cycles));
    }
}

#[cfg(test)]
mod tests {
    use crate::report::time::LayerTime;

    use super::*;

    fn time(name: &str, cycles: u64, utilization: f64) -> TimeReport {
        TimeReport {
            cycles: [("hw".to_owned(), cycles)].into(),
            clock: "hw".to_owned(),
            milliseconds: Some(cycles as f64),
            macs_computed: Some(cycles),
            utilization: Some(utilization),
            roofline: Roofline::new(cycles / 2, 1, cycles),
            layers: vec![LayerTime { name: name.to_owned(), cycles, ..LayerTime::default() }],
            kinds: vec![KindTime { kind: "k".into(), instructions: 1, vectors: 2, cycles, share: 1.0 }],
            instructions: vec![InstructionTime { layer: Some(0), kind: 0, cycles }],
            flags: vec![FlagTime {
                flag: "f".into(),
                times: 2,
                cycles,
                first_instruction: 0,
                first_cycle: 5,
            }],
            ..TimeReport::default()
        }
    }

    #[test]
    fn cycles_add_up_and_shares_are_of_the_whole() {
        let all = sum(vec![time("a", 30, 0.5), time("b", 10, 0.1)], 3);
        assert_eq!((cycles(&all), all.milliseconds, all.roofline.compute), (40, Some(40.0), 20));
        assert!((all.utilization.unwrap_or_default() - 0.4).abs() < 1e-12);
        assert_eq!(all.macs_computed, Some(40));
        assert_eq!(all.layers.iter().map(|layer| layer.share).collect::<Vec<_>>(), [0.75, 0.25]);
        assert_eq!((all.kinds.len(), all.kinds[0].cycles, all.kinds[0].share), (1, 40, 1.0));
        assert_eq!(all.instructions[1].layer, Some(1));
        let flag = FlagTime { flag: "f".into(), times: 4, cycles: 40, first_instruction: 0, first_cycle: 5 };
        assert_eq!(all.flags, [flag]);
        assert!(all.notes[0].contains("2 segments") && all.notes[0].contains("3 steps on the host"));
        assert_eq!(sum(vec![time("a", 30, 0.5), TimeReport::default()], 0).utilization, None);
    }
}
