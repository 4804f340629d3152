//! [`Timeline`]: activity of each port and sequencer, as [`Played`] slices for trace viewers.

use std::collections::BTreeMap;

use npukit_trace::{Recorder, Slice, Track, Value};

use super::{port_names, text_of};
use crate::config::fabric::Fabric;
use crate::isa::op::Op;
use crate::machine::Observer;

/// Activity of a port or a sequencer over some cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    /// Index of its track in [`Tracks::tracks`].
    lane: usize,
    name: String,
    start: u64,
    cycles: u64,
    what: What,
}

/// Kind of activity.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// Instruction as text, and its index in the cell's program.
    Instruction(String, usize),
    /// First and last of a port's addresses that follow each other without a gap.
    Addresses(u32, u32),
}

/// Tracks of a fabric.
pub(crate) struct Tracks {
    /// Tracks with their names: the sequencer of each cell, followed by its ports.
    tracks: Vec<(Track, String)>,
}

impl Tracks {
    /// Creates the tracks.
    pub fn new(fabric: &Fabric, recorder: &mut Recorder<'_>) -> Self {
        let tracks = lanes(fabric).map(|(name, _)| (recorder.unit(&name, Default::default()), name));
        Self { tracks: tracks.collect() }
    }

    /// Records a slice of a layer, shifted by `later` cycles.
    pub fn show(&self, recorder: &mut Recorder<'_>, played: &Played, later: u64, layer: Option<usize>) {
        let Played { lane, name, start, cycles, what } = played;
        let Some((track, port)) = self.tracks.get(*lane) else { return };
        let details = match what {
            What::Instruction(text, pc) => {
                vec![("instruction", Value::Text(text)), ("pc", Value::Number(*pc as u64))]
            }
            What::Addresses(first, last) => vec![
                ("port", Value::Text(port)),
                ("first", Value::Number((*first).into())),
                ("last", Value::Number((*last).into())),
            ],
        };
        let (start, cycles, busy) = (start + later, *cycles, *cycles);
        recorder.slice(
            *track,
            &Slice { name, start, cycles, busy, layer, details: &details, ..Slice::default() },
        );
    }
}

/// Returns the name of each track, its cell, and the port number in the cell, which is `None` for
/// the sequencer.
fn lanes(fabric: &Fabric) -> impl Iterator<Item = (String, (usize, Option<usize>))> {
    let mut names = port_names(fabric).into_iter().peekable();
    fabric.places().enumerate().flat_map(move |(cell, place)| {
        let mut of_cell = vec![(format!("{place} sequencer"), (cell, None))];
        while let Some(port) = names.next_if(|port| port.cell == cell) {
            of_cell.push((port.text, (cell, Some(port.number))));
        }
        of_cell
    })
}

/// Observer that passes each slice to `out` when it ends. Slices of a track come in order.
pub(crate) struct Timeline<'a, F: FnMut(Played)> {
    fabric: &'a Fabric,
    /// Track index of each cell's sequencer.
    sequencers: BTreeMap<usize, usize>,
    ports: BTreeMap<(usize, usize), Port>,
    out: F,
}

/// Track of a port, and its addresses without a gap.
struct Port {
    lane: usize,
    run: Option<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
    first: u32,
    last: u32,
}

impl<'a, F: FnMut(Played)> Timeline<'a, F> {
    /// Creates a timeline of a fabric.
    pub fn new(fabric: &'a Fabric, out: F) -> Self {
        let (mut sequencers, mut ports) = (BTreeMap::new(), BTreeMap::new());
        for (lane, (_, (cell, number))) in lanes(fabric).enumerate() {
            match number {
                None => drop(sequencers.insert(cell, lane)),
                Some(number) => drop(ports.insert((cell, number), Port { lane, run: None })),
            }
        }
        Self { fabric, sequencers, ports, out }
    }

    /// Passes on the slices that have not ended.
    pub fn finish(mut self) {
        let last: Vec<Played> = self.ports.values_mut().filter_map(Port::end).collect();
        last.into_iter().for_each(&mut self.out);
    }
}

impl Port {
    /// Ends the current run of addresses.
    fn end(&mut self) -> Option<Played> {
        let Run { start, end, first, last } = self.run.take()?;
        let name = if first == last { first.to_string() } else { format!("{first} to {last}") };
        let what = What::Addresses(first, last);
        Some(Played { lane: self.lane, name, start, cycles: end + 1 - start, what })
    }
}

impl<F: FnMut(Played)> Observer for Timeline<'_, F> {
    fn issue(&mut self, cycle: u64, cell: usize, pc: usize, op: &Op) {
        let (Some(&lane), Some(of)) = (self.sequencers.get(&cell), self.fabric.cells.get(cell)) else {
            return;
        };
        let cycles = match op {
            Op::Wait { cycle: wait, .. } => 1 + u64::from(*wait),
            _ => 1,
        };
        let (name, what) = (op.mnemonic().to_owned(), What::Instruction(text_of(of, op), pc));
        (self.out)(Played { lane, name, start: cycle, cycles, what });
    }

    fn address(&mut self, cycle: u64, cell: usize, slot: u8, port: u8, address: u32) {
        let Some(port) = self.ports.get_mut(&(cell, usize::from(4 * slot + port))) else { return };
        if let Some(run) = port.run.as_mut().filter(|run| run.end + 1 == cycle) {
            (run.end, run.last) = (cycle, address);
            return;
        }
        let over = port.end();
        port.run = Some(Run { start: cycle, end: cycle, first: address, last: address });
        over.into_iter().for_each(&mut self.out);
    }
}
