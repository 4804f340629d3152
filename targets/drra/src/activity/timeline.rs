//! [`Timeline`]: a track for each port and each sequencer, in the trace file that Perfetto opens.

use std::collections::BTreeMap;
use std::io::{self, Write};

use npukit_trace::{ChromeTrace, Slice, Track};
use serde_json::json;

use super::{port_names, text_of};
use crate::fabric::Fabric;
use crate::machine::Observer;
use crate::op::Op;

/// Tracks under way.
pub(crate) struct Timeline<'a, W: Write> {
    fabric: &'a Fabric,
    trace: ChromeTrace<W>,
    sequencers: Vec<Track>,
    ports: BTreeMap<(usize, usize), Port>,
    error: Option<io::Error>,
}

/// A track and the addresses that follow each other without a gap.
struct Port {
    track: Track,
    name: String,
    run: Option<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
    first: u32,
    last: u32,
}

impl<'a, W: Write> Timeline<'a, W> {
    /// Begins with the head.
    ///
    /// # Errors
    ///
    /// `out` cannot be written.
    pub fn new(fabric: &'a Fabric, program: &str, clock_mhz: Option<f64>, out: W) -> io::Result<Self> {
        let mut trace = ChromeTrace::new(out, program, clock_mhz)?;
        let (mut sequencers, mut ports) = (Vec::new(), BTreeMap::new());
        let mut names = port_names(fabric).into_iter().peekable();
        for (index, place) in fabric.places().enumerate() {
            sequencers.push(trace.track(&format!("{place} sequencer"))?);
            while let Some(port) = names.next_if(|port| port.cell == index) {
                let track = trace.track(&port.text)?;
                ports.insert((index, port.number), Port { track, name: port.text, run: None });
            }
        }
        Ok(Self { fabric, trace, sequencers, ports, error: None })
    }

    /// Ends the trace.
    ///
    /// # Errors
    ///
    /// The first time that `out` could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        for port in self.ports.values_mut() {
            port.end(&mut self.trace)?;
        }
        self.error.map_or(Ok(()), Err)?;
        self.trace.finish()
    }

    fn keep(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

impl Port {
    /// Writes the run.
    fn end<W: Write>(&mut self, trace: &mut ChromeTrace<W>) -> io::Result<()> {
        let Some(Run { start, end, first, last }) = self.run.take() else { return Ok(()) };
        let details = json!({ "port": self.name, "first": first, "last": last });
        let name = if first == last { first.to_string() } else { format!("{first} to {last}") };
        trace.slice(self.track, &Slice { name: &name, start, end, details })
    }
}

impl<W: Write> Observer for Timeline<'_, W> {
    fn issue(&mut self, cycle: u64, cell: usize, pc: usize, op: &Op) {
        let end = match op {
            Op::Wait { cycle: wait, .. } => cycle + u64::from(*wait),
            _ => cycle,
        };
        let details = json!({ "instruction": text_of(&self.fabric.cells[cell], op), "pc": pc });
        let slice = Slice { name: op.mnemonic(), start: cycle, end, details };
        let written = self.trace.slice(self.sequencers[cell], &slice);
        self.keep(written);
    }

    fn address(&mut self, cycle: u64, cell: usize, slot: u8, port: u8, address: u32) {
        let Some(port) = self.ports.get_mut(&(cell, usize::from(4 * slot + port))) else { return };
        if let Some(run) = port.run.as_mut().filter(|run| run.end + 1 == cycle) {
            (run.end, run.last) = (cycle, address);
            return;
        }
        let written = port.end(&mut self.trace);
        port.run = Some(Run { start: cycle, end: cycle, first: address, last: address });
        self.keep(written);
    }
}
