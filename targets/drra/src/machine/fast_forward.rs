//! [`Machine::fast_forward`]: computes many cycles at once while cells are in a steady state.

use super::{Machine, compute, put_words};
use crate::machine::exec::word::Word;
use crate::machine::state::CellState;
use crate::machine::transfer::ROW_PORTS;

/// Ports of the switch box, which selects the words of the next cycle.
const SWITCHES: u64 = 0b11;

impl<W: Word> Machine<W> {
    /// Computes at most `most` cycles starting at `cycle`, as long as no cell has an instruction,
    /// moves a row or ends a streak of addresses. Returns their number. Cells are independent in
    /// these cycles, so each computes all of them at once.
    pub(super) fn fast_forward(&mut self, cycle: u64, most: u64) -> u64 {
        let ends = self.cells.iter().map(|cell| cell.steady_until(cycle));
        // Default: without cells, no cycle is computed.
        let end = ends.min().unwrap_or(cycle).min(cycle.saturating_add(most));
        if end <= cycle {
            return 0;
        }
        for cell in self.cells.iter_mut().filter(|cell| cell.wake <= cycle) {
            cell.sequencer.raise(cycle);
            for at in cycle..end {
                // During a streak, no address wraps around.
                cell.ports.emit(at);
                put_words(cell);
                compute(cell);
            }
            cell.wake = end;
        }
        end - cycle
    }
}

impl<W: Word> CellState<W> {
    /// Returns the first cycle, at or after `cycle`, in which the steady state may end. An idle
    /// cell is steady until it wakes.
    fn steady_until(&self, cycle: u64) -> u64 {
        if self.wake > cycle {
            return self.wake;
        }
        let ports = &self.ports;
        let is_alone = ports.emitted & (ROW_PORTS | ports.iosram | SWITCHES) == 0;
        if is_alone { ports.streak.end.min(self.sequencer.next) } else { cycle }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::UninitMemory;

    use crate::lower::example::executable;
    use crate::machine::fault::Fault;
    use crate::machine::{DEFAULT_LIMIT, Machine, Observer, Run};

    /// Observer that follows words, so that every cycle is computed separately.
    struct Listener;

    impl Observer for Listener {}

    /// Result of a run, the state it leaves, and how often cells were examined.
    fn left(machine: &Machine, run: Result<Run, Fault>) -> String {
        let rows = machine.cells().iter().map(|cell| (&cell.rfs, &cell.iosrams, &cell.dpus, cell.wake));
        format!("{run:?} {:?} {:?}", machine.output_image(), rows.collect::<Vec<_>>())
    }

    /// Cycle by cycle and in large steps, all kernels leave the same state, even if a run is
    /// aborted.
    #[test]
    fn cycles_at_once_are_those_one_by_one() {
        let mut skipped = 0;
        for executable in ["3x1", "3x2"].map(executable) {
            for ready in &executable.kernels {
                for limit in [DEFAULT_LIMIT, 40, 57, 99] {
                    let mut machine = Machine::new(&executable.fabric, &ready.compiled.program).unwrap();
                    machine.unset(UninitMemory::Garbage(7));
                    let (mut single, mut counted) = (machine.clone(), machine.clone());
                    let expected = single.run(limit, &mut Listener);
                    let found = machine.run(limit, &mut ());
                    assert_eq!(left(&machine, found), left(&single, expected));
                    counted.begin();
                    while counted.halted < counted.cells.len() {
                        let cycle = counted.cells.iter().map(|cell| cell.wake).min().unwrap();
                        let cycles = counted.fast_forward(cycle, u64::MAX);
                        skipped += cycles;
                        if cycles == 0 {
                            counted.cycle(cycle, &mut ()).unwrap();
                        }
                    }
                }
            }
        }
        assert!(skipped > 1000, "{skipped}");
    }
}
