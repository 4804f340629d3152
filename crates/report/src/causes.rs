//! [`LayerCauses`]: cycles of a program by layer and cause. Each cycle counts once, for the first
//! cause in the order of [`CAUSES`] that is present in it.

use npukit_trace::Work;
use serde::Serialize;

/// Kinds of work, the most valuable first. A cycle without any of them is a wait.
const CAUSES: [Work; 5] = [Work::Compute, Work::Weights, Work::Dram, Work::Alus, Work::Moves];

/// Cycles of a layer by cause. The cycles of all layers and causes add up to the program's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LayerCauses {
    /// Name of the layer; empty for cycles outside all layers.
    pub name: String,
    /// Cycles in which the multipliers work.
    pub compute: u64,
    /// Other cycles in which weights are loaded into the multipliers.
    pub weights: u64,
    /// Remaining cycles in which external memory is read or written.
    pub dram: u64,
    /// Remaining cycles in which ALUs work.
    pub alus: u64,
    /// Remaining cycles in which values are moved on the chip.
    pub moves: u64,
    /// Cycles without any of this work.
    pub waits: u64,
}

impl LayerCauses {
    /// Returns the sum of all causes.
    pub const fn cycles(&self) -> u64 {
        self.compute + self.weights + self.dram + self.alus + self.moves + self.waits
    }

    const fn of(&mut self, work: Work) -> &mut u64 {
        match work {
            Work::Compute => &mut self.compute,
            Work::Weights => &mut self.weights,
            Work::Dram => &mut self.dram,
            Work::Alus => &mut self.alus,
            Work::Moves => &mut self.moves,
        }
    }
}

/// Work of a unit for a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worked {
    /// Kind of work; `None` for the cycles in which the machine is in the layer.
    pub kind: Option<Work>,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
    /// Cycles of actual work.
    pub busy: u64,
    /// Index of the layer.
    pub layer: Option<usize>,
}

/// Returns the cycles of each layer in a program of `cycles` cycles, followed by those outside all
/// layers, if any.
pub(crate) fn causes(layers: &[String], cycles: u64, mut worked: Vec<Worked>) -> Vec<LayerCauses> {
    let names = layers.iter().cloned().chain([String::new()]);
    let mut rows: Vec<_> = names.map(|name| LayerCauses { name, ..LayerCauses::default() }).collect();
    worked.sort_by_key(|work| work.start);
    let mut free = vec![(0, cycles)];
    for kind in CAUSES.into_iter().map(Some).chain([None]) {
        let of_kind = worked.iter().filter(|work| work.kind == kind);
        free = claim(&free, of_kind, |work, taken| {
            // Default: work without a layer is outside all layers.
            let row = &mut rows[work.layer.unwrap_or(layers.len()).min(layers.len())];
            // In a stretch of computation, cycles without a row are waits; a transfer has latency.
            let busy = if kind == Some(Work::Compute) { share(taken, work) } else { taken };
            if let Some(kind) = kind {
                *row.of(kind) += busy;
                row.waits += taken - busy;
            } else {
                row.waits += taken;
            }
        });
    }
    rows[layers.len()].waits += free.iter().map(|(from, to)| to - from).sum::<u64>();
    let is_empty = rows[layers.len()].cycles() == 0;
    rows.truncate(layers.len() + usize::from(!is_empty));
    rows
}

/// Returns the cycles of actual work among `taken` cycles of a stretch, rounded up.
fn share(taken: u64, work: &Worked) -> u64 {
    let (busy, cycles) = (u128::from(work.busy), u128::from(work.end - work.start));
    // At most `taken`, since no unit works more than all cycles.
    (u128::from(taken) * busy).div_ceil(cycles.max(1)).min(u128::from(taken)) as u64
}

/// Takes the cycles of `worked`, which is sorted by start, from the `free` intervals; returns the
/// remaining intervals.
fn claim<'a>(
    free: &[(u64, u64)],
    worked: impl Iterator<Item = &'a Worked>,
    mut take: impl FnMut(&Worked, u64),
) -> Vec<(u64, u64)> {
    let (mut rest, mut worked) = (Vec::new(), worked.peekable());
    for &(mut from, to) in free {
        while let Some(work) = worked.peek().filter(|work| work.start < to) {
            if work.end > from {
                if work.start > from {
                    rest.push((from, work.start));
                }
                let (start, end) = (work.start.max(from), work.end.min(to));
                take(work, end - start);
                from = end;
            }
            if work.end > to {
                break;
            }
            worked.next();
        }
        if from < to {
            rest.push((from, to));
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worked(kind: Option<Work>, start: u64, end: u64, layer: usize) -> Worked {
        Worked { kind, start, end, busy: end - start, layer: Some(layer) }
    }

    #[test]
    fn each_cycle_counts_once() {
        let work = vec![
            worked(None, 0, 40, 0),
            worked(None, 40, 80, 1),
            worked(Some(Work::Dram), 0, 30, 0),
            worked(Some(Work::Dram), 5, 10, 1),
            worked(Some(Work::Alus), 25, 50, 1),
            Worked { busy: 5, ..worked(Some(Work::Compute), 20, 30, 0) },
            worked(Some(Work::Compute), 60, 70, 1),
        ];
        let names = ["a", "b"].map(str::to_owned);
        let found = causes(&names, 100, work);
        let name = |name: &str| name.to_owned();
        let a = LayerCauses { name: name("a"), compute: 5, dram: 20, waits: 15, ..LayerCauses::default() };
        let b = LayerCauses { name: name("b"), compute: 10, alus: 20, waits: 20, ..LayerCauses::default() };
        let outside = LayerCauses { waits: 20, ..LayerCauses::default() };
        // Cycles 30 to 40 are in layer a, but ALUs work for b.
        let a = LayerCauses { waits: 5, ..a };
        assert_eq!(found.iter().map(LayerCauses::cycles).sum::<u64>(), 100, "{found:?}");
        assert_eq!(found, [a, LayerCauses { waits: 20, ..b }, outside]);
    }

    #[test]
    fn without_work_all_cycles_are_waits() {
        assert_eq!(causes(&[], 7, Vec::new()), [LayerCauses { waits: 7, ..LayerCauses::default() }]);
        assert_eq!(causes(&[], 0, Vec::new()), []);
    }
}
