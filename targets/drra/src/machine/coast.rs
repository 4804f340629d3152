//! Cycles in which cells only go on as they do: [`Machine::coast`].

use super::{Machine, compute, put_words};
use crate::machine::exec::word::Word;
use crate::machine::state::CellState;
use crate::machine::transfer::ROW_PORTS;

/// Ports of the switch box, which says what the next cycle's words are.
const SWITCHES: u64 = 0b11;

impl<W: Word> Machine<W> {
    /// Computes cycles from `cycle` on, `most` at most, as long as no cell has an instruction, moves a row or ends a streak
    /// of addresses; gives how many. Cells are nothing to each other then: each computes all of them at once.
    pub(super) fn coast(&mut self, cycle: u64, most: u64) -> u64 {
        let ends = self.cells.iter().map(|cell| cell.steady_until(cycle));
        // Default: without a cell nothing goes on.
        let end = ends.min().unwrap_or(cycle).min(cycle.saturating_add(most));
        if end <= cycle {
            return 0;
        }
        for cell in self.cells.iter_mut().filter(|cell| cell.wake <= cycle) {
            cell.sequencer.raise(cycle);
            for at in cycle..end {
                // A streak wraps no address.
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
    /// The first cycle from `cycle` on in which something else than before may happen; of an idle cell anything.
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
    use npukit_target::Unset;

    use crate::lower::example::executable;
    use crate::machine::fault::Fault;
    use crate::machine::{DEFAULT_LIMIT, Machine, Observer, Run};

    /// Listens, so that every cycle is computed by itself.
    struct Listener;

    impl Observer for Listener {}

    /// What a run is, what it leaves, and how often cells were looked at.
    fn left(machine: &Machine, run: Result<Run, Fault>) -> String {
        let rows = machine.cells().iter().map(|cell| (&cell.rfs, &cell.iosrams, &cell.dpus, cell.wake));
        format!("{run:?} {:?} {:?}", machine.output_image(), rows.collect::<Vec<_>>())
    }

    /// Cycle by cycle and as they come, all kernels leave the same everywhere, also when a run is given up on its way.
    #[test]
    fn cycles_at_once_are_those_one_by_one() {
        let mut coasted = 0;
        for executable in ["3x1", "3x2"].map(executable) {
            for ready in &executable.kernels {
                for limit in [DEFAULT_LIMIT, 40, 57, 99] {
                    let mut machine = Machine::new(&executable.fabric, &ready.compiled.program).unwrap();
                    machine.unset(Unset::Garbage(7));
                    let (mut single, mut counted) = (machine.clone(), machine.clone());
                    let expected = single.run(limit, &mut Listener);
                    let found = machine.run(limit, &mut ());
                    assert_eq!(left(&machine, found), left(&single, expected));
                    counted.begin();
                    while counted.halted < counted.cells.len() {
                        let cycle = counted.cells.iter().map(|cell| cell.wake).min().unwrap();
                        let cycles = counted.coast(cycle, u64::MAX);
                        coasted += cycles;
                        if cycles == 0 {
                            counted.cycle(cycle, &mut ()).unwrap();
                        }
                    }
                }
            }
        }
        assert!(coasted > 1000, "{coasted}");
    }
}
