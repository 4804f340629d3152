//! [`Timeline`]: what each port and each sequencer does when, as [`Played`] slices for viewers.

use std::collections::BTreeMap;

use npukit_trace::{Recorder, Slice, Track, Value};

use super::{port_names, text_of};
use crate::config::fabric::Fabric;
use crate::isa::op::Op;
use crate::machine::Observer;

/// What a port or a sequencer does for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    /// Place of its track in [`Tracks::tracks`].
    lane: usize,
    name: String,
    start: u64,
    cycles: u64,
    what: What,
}

/// What is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// An instruction as text, and its place in the cell's program.
    Instruction(String, usize),
    /// The first and the last of addresses that follow each other without a gap, of a port.
    Addresses(u32, u32),
}

/// The tracks of a fabric.
pub(crate) struct Tracks {
    /// Of each cell the sequencer, then its ports, each with its name.
    tracks: Vec<(Track, String)>,
}

impl Tracks {
    /// Makes the tracks.
    pub fn new(fabric: &Fabric, recorder: &mut Recorder<'_>) -> Self {
        let tracks = lanes(fabric).map(|(name, _)| (recorder.unit(&name, Default::default()), name));
        Self { tracks: tracks.collect() }
    }

    /// Shows a slice, `later` than it says, of a layer.
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

/// The name of each track, with the number of the port in its cell: none for the sequencer.
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

/// Watches a run, and gives `out` a slice when it is over. Those of a track come in order.
pub(crate) struct Timeline<'a, F: FnMut(Played)> {
    fabric: &'a Fabric,
    /// By cell.
    sequencers: BTreeMap<usize, usize>,
    ports: BTreeMap<(usize, usize), Port>,
    out: F,
}

/// A track and the addresses that follow each other without a gap.
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
    /// Of a fabric.
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

    /// Gives what is not yet over.
    pub fn finish(mut self) {
        let last: Vec<Played> = self.ports.values_mut().filter_map(Port::end).collect();
        last.into_iter().for_each(&mut self.out);
    }
}

impl Port {
    /// The run is over.
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
