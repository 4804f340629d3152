//! [`memory`]: words that are read before they are written, words that are never read, and rows
//! that are lost.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use npukit_asm::{Experiment, MemoryRange};

use super::lint::Lint;
use crate::config::component::Component;
use crate::config::fabric::{Fabric, ROW_WORDS};
use crate::isa::op::{Op, ResourceOp};
use crate::isa::program::{At, Program};
use crate::machine::exec::{iosram, rf};
use crate::machine::fault::{Fault, FaultKind};
use crate::machine::{
    How, Machine, Memory, MemoryKind, Observer, Touch, UnwrittenRead, Warning, WarningKind,
};

/// Limit of computed cycles, after which no finding is reported: some tenths of a second.
const LIMIT: u64 = 1 << 17;

/// Returns the memory findings of a run of the program; `experiment` gives the memory contents
/// before and the reads after it. Addresses do not depend on data. All rows of the input buffer
/// count as written, as the driver's data are unknown. Nothing is reported if the program does not
/// end, or if the experiment sets sequencer registers.
pub(crate) fn memory(fabric: &Fabric, program: &Program, experiment: &Experiment) -> Vec<(At, Lint)> {
    let Ok(mut machine) = Machine::new(fabric, program) else { return Vec::new() };
    machine.tell_unwritten();
    let mut writers = Writers::new(fabric);
    let around = Around::new(&machine.memories(), experiment);
    let is_filled = around.filled.into_iter().try_for_each(|(kind, addresses)| match kind {
        MemoryKind::Scalars { .. } | MemoryKind::Flags { .. } => None,
        kind => addresses.into_iter().try_for_each(|address| machine.poke(kind, address, &[]).ok()),
    });
    let run = is_filled.and_then(|()| machine.run(LIMIT, &mut writers).ok());
    let Some(run) = run else { return Vec::new() };
    around.looked_at.into_iter().for_each(|(kind, words)| writers.look_at(kind, words));
    let unwritten = machine.unwritten_reads().into_iter().filter_map(unwritten);
    let message = run.warnings.into_iter().filter_map(lint_of);
    unwritten.chain(message).chain(writers.finish()).collect()
}

/// Addresses that an experiment writes before and reads after the run.
struct Around {
    filled: Vec<(MemoryKind, Range<usize>)>,
    looked_at: Vec<(MemoryKind, Range<usize>)>,
}

impl Around {
    fn new(memories: &[Memory], experiment: &Experiment) -> Self {
        let of = |range: &MemoryRange| memories.iter().find_map(|memory| addresses(memory, range));
        Self {
            filled: experiment.filled().filter_map(of).collect(),
            looked_at: experiment.looked_at().filter_map(of).collect(),
        }
    }
}

/// Returns the addresses of a range. A range without a length extends to the end of the memory, as
/// its values are not counted here.
fn addresses(memory: &Memory, range: &MemoryRange) -> Option<(MemoryKind, Range<usize>)> {
    let is_named = memory.kind.to_string().eq_ignore_ascii_case(&range.memory);
    let bound =
        |address: u64| usize::try_from(address).map_or(memory.depth, |address| address.min(memory.depth));
    let end = range.end.map_or(memory.depth, bound);
    is_named.then(|| (memory.kind, bound(range.start)..end))
}

/// Returns the warnings of the machine that concern memories; other findings need no run.
fn lint_of(Warning { cycle, at, kind }: Warning) -> Option<(At, Lint)> {
    let is_of_memory = match kind {
        WarningKind::Wrapped { .. } | WarningKind::Dropped { .. } | WarningKind::StillRuns { .. } => true,
        WarningKind::Early(_) | WarningKind::DivisionByZero => false,
    };
    is_of_memory.then_some((at, Lint::Warning { cycle, warning: kind }))
}

/// Returns the finding of an unwritten read, at the instruction that started its port.
fn unwritten(UnwrittenRead { at, fault }: UnwrittenRead) -> Option<(At, Lint)> {
    let Fault::Access { cycle, kind, .. } = fault else { return None };
    let is_driver = matches!(kind, FaultKind::UnwrittenInput { .. });
    (!is_driver).then_some((at?, Lint::InCycle { cycle, fault: kind }))
}

/// Port of a cell: index of the cell, slot, port.
type PortOf = (usize, u8, u8);

/// Tracks which instruction configured the port that wrote a word.
struct Writers<'f> {
    fabric: &'f Fabric,
    /// Index of the last `dsu` of each port.
    configured: BTreeMap<PortOf, usize>,
    /// Ports with an address in the current cycle.
    active: (u64, BTreeSet<PortOf>),
    /// Cell and `dsu` that wrote each word, by cell, slot and address.
    held: BTreeMap<(usize, u8, usize), (usize, usize)>,
    /// Port of each `dsu`, and whether any of its words was read, by cell and instruction index.
    found: BTreeMap<(usize, usize), (PortOf, bool)>,
}

impl<'f> Writers<'f> {
    const fn new(fabric: &'f Fabric) -> Self {
        Self {
            fabric,
            configured: BTreeMap::new(),
            active: (0, BTreeSet::new()),
            held: BTreeMap::new(),
            found: BTreeMap::new(),
        }
    }

    /// Returns the port that writes words of the resource at a slot in this cycle.
    fn writer(&self, cell: usize, slot: u8, words: usize) -> Option<PortOf> {
        let is_file = self.fabric.cells.get(cell)?.component_at(slot) == Some(Component::Rf);
        let ports = match (is_file, words) {
            (true, 1) => [(slot, rf::WORD_WRITE); 2],
            (true, _) => [(slot, rf::BULK_WRITE); 2],
            (false, _) => [(slot, iosram::SRAM_WRITE), (slot + 1, iosram::BULK_WRITE)],
        };
        let mut ports = ports.into_iter().map(|(slot, port)| (cell, slot, port));
        ports.find(|port| self.active.1.contains(port))
    }

    /// Marks words as used that the experiment reads after the run.
    fn look_at(&mut self, kind: MemoryKind, addresses: Range<usize>) {
        let (place, slot, words) = match kind {
            MemoryKind::Registers { place, slot } => (place, slot, addresses),
            MemoryKind::Sram { place, slot } => {
                (place, slot, addresses.start * ROW_WORDS..addresses.end * ROW_WORDS)
            }
            _ => return,
        };
        let cell = self.fabric.places().position(|other| other == place);
        cell.into_iter().for_each(|cell| self.read(cell, slot, words.clone()));
    }

    fn read(&mut self, cell: usize, slot: u8, words: Range<usize>) {
        for place in words {
            let writer = self.held.get(&(cell, slot, place)).and_then(|writer| self.found.get_mut(writer));
            writer.into_iter().for_each(|(_, is_read)| *is_read = true);
        }
    }

    /// Returns a finding for each port without any word that is read.
    fn finish(self) -> impl Iterator<Item = (At, Lint)> {
        let fabric = self.fabric;
        let unread = self.found.into_iter().filter(|(_, (_, is_read))| !is_read);
        unread.map(|((cell, pc), ((_, slot, port), _))| {
            (At { place: fabric.place(cell), pc }, Lint::Unread { slot, port })
        })
    }
}

impl Observer for Writers<'_> {
    fn issue(&mut self, _: u64, cell: usize, pc: usize, op: &Op) {
        if let Op::Resource { slot, op: op @ ResourceOp::Dsu { .. } } = op
            && let Some(port) = op.port()
        {
            self.configured.insert((cell, *slot, port), pc);
        }
    }

    fn address(&mut self, cycle: u64, cell: usize, slot: u8, port: u8, _: u32) {
        if self.active.0 != cycle {
            self.active = (cycle, BTreeSet::new());
        }
        self.active.1.insert((cell, slot, port));
    }

    fn follows_words(&self) -> bool {
        true
    }

    fn touch(&mut self, Touch { cell, slot, word, words, how, .. }: Touch) {
        let writer = match how {
            How::Read | How::Carry => return self.read(cell, slot, word..word + words),
            How::Write => self.writer(cell, slot, words),
        };
        let Some(port) = writer else { return };
        let Some(&pc) = self.configured.get(&port) else { return };
        self.found.entry((cell, pc)).or_insert((port, false));
        self.held.extend((word..word + words).map(|place| ((cell, slot, place), (cell, pc))));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::preset;
    use crate::config::revision::Revision;
    use crate::isa::asm::assemble;

    fn found(text: &str) -> Vec<String> {
        let mut fabric = preset("3x1").unwrap();
        fabric.options.revision = Revision::Text;
        let source = assemble(&fabric, "p.s", text).unwrap();
        let found = memory(&fabric, &source.program, &source.experiment);
        found.into_iter().map(|(at, lint)| format!("{} {}", lint.code(), at.pc)).collect()
    }

    /// Program that copies a register file to another one, between the experiment's directives.
    fn copy(around: &str) -> String {
        format!(
            "{around}cell (row=1, col=0)
swb(slot=0, channel=2, source=1, target=2)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4)
dsu(slot=2, port=word_write)
rep(slot=2, port=word_write, iter=4)
act(param=1, ports=0b00010010)
wait(cycle=8)
halt()
"
        )
    }

    #[test]
    fn words_that_nobody_wrote_or_reads_are_found() {
        assert_eq!(found(&copy("")), ["unwritten-read 5", "unread-result 3"]);
        assert_eq!(found(&copy(".data rf.1.0.1, 7\n")), ["unread-result 3"]);
        assert_eq!(found(&copy(".data rf.1.0.1, 7\n.output y, rf.1.0.2[0:4]\n")), [""; 0]);
        assert_eq!(found(&copy(".data rf.1.0.1, 7\n.output y, rf.1.0.2[8:12]\n")), ["unread-result 3"]);
    }

    #[test]
    fn addresses_and_ports_beyond_the_end_are_found() {
        let around = ".data rf.1.0.1, 7\n.output y, rf.1.0.2\n";
        let beyond =
            copy(around).replace("dsu(slot=1, port=word_read)", "dsu(slot=1, port=word_read, init_addr=62)");
        assert_eq!(found(&beyond), ["wrapped-address 7"]);
        assert_eq!(found(&copy(around).replace("wait(cycle=8)", "wait(cycle=1)")), ["still-running 7"]);
    }
}
