//! What happened when, for other tools: a Chrome trace, and the words of the sampling unit.

use std::io::{self, Write};

use npukit_target::{OUTSIDE, TargetError, TimeOptions};
use npukit_trace::{ChromeTrace, Slice, Track};
use serde::Serialize;

use super::TcuProgram;
use super::settings::Settings;
use crate::clock::{Slice as Work, Unit};
use crate::configuration::Register;
use crate::op::Op;
use crate::program::Program;
use crate::samples::{DRIVER_SHIFT, Sample};
use crate::timing::kind;

/// What a viewer shows of a slice.
#[derive(Serialize)]
struct Details<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instruction: Option<usize>,
    /// The first, and how many.
    cycle: u64,
    cycles: u64,
}

impl TcuProgram {
    /// Writes what each unit does when: a track of layers, then one for each unit, on which there is a
    /// slice for each instruction the unit works for. The decoder works for all.
    pub(super) fn write_trace(&self, options: &TimeOptions, out: &mut dyn Write) -> Result<(), TargetError> {
        let settings = self.settings(options)?;
        let clock = self.clock(&settings).map_err(TargetError::failed)?;
        let mut tracks = Tracks::new(&self.program, out, settings.clock_mhz).map_err(TargetError::failed)?;
        let timeline = clock.run_observed(&self.program.instructions, &mut |work| tracks.show(work));
        tracks.finish().map_err(TargetError::failed)?;
        self.complete(timeline).map_err(TargetError::failed)?;
        Ok(())
    }

    /// Writes the words of the sampling unit as the C driver finds them in its buffer: it has set the
    /// interval before, and begins the program by setting the program counter.
    pub(super) fn write_samples(
        &self,
        options: &TimeOptions,
        out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        let settings = self.settings(options)?;
        self.check_block(&settings)?;
        let clock = self.clock(&settings).map_err(TargetError::failed)?;
        let counter = Op::Configure { register: Register::ProgramCounter as u8, value: DRIVER_SHIFT };
        let ops: Vec<Op> =
            std::iter::once(counter).chain(self.program.instructions.iter().copied()).collect();
        let mut written = Ok(());
        let mut write = |sample: Sample| {
            if written.is_ok() {
                written = out.write_all(&sample.word().to_le_bytes());
            }
        };
        let mut timeline =
            clock.run_sampled(&ops, settings.sample_interval, settings.sample_block, &mut write);
        written.map_err(TargetError::failed)?;
        if let Some(hang) = &mut timeline.hang {
            hang.move_back(DRIVER_SHIFT as usize);
        }
        self.complete(timeline).map_err(TargetError::failed)?;
        Ok(())
    }
}

/// The largest block of samples taken whatever the program: 512 KiB.
const BLOCK: u64 = 1 << 16;

impl TcuProgram {
    /// A block may not be much more than the program fills: the rest would be samples of nothing.
    ///
    /// Errors: [`TargetError::Option`] with the limit.
    fn check_block(&self, settings: &Settings) -> Result<(), TargetError> {
        let block = u64::from(settings.sample_block);
        if block <= BLOCK {
            return Ok(());
        }
        let configured = self.program.instructions.iter().filter_map(|op| match *op {
            Op::Configure { register, value } if register == Register::SampleInterval as u8 => {
                Some(value & 0xFFFF)
            }
            _ => None,
        });
        let interval =
            configured.filter(|&interval| interval > 0).chain([settings.sample_interval.into()]).min();
        let total = self.timeline(settings).map_err(TargetError::failed)?.total;
        let samples = total / u64::from(interval.unwrap_or(1)).max(1) + 1;
        let most = samples.max(BLOCK);
        if block <= most {
            return Ok(());
        }
        let reason = format!("the program fills {samples} samples at most; a block has {most} at most");
        Err(TargetError::option("sample-block", &block.to_string(), reason))
    }
}

/// A layer at the decoder: its place, and its cycles so far.
#[derive(Clone, Copy)]
struct Stay {
    layer: usize,
    start: u64,
    end: u64,
}

/// A trace of a program under way.
struct Tracks<'a> {
    program: &'a Program,
    layer_of_each: Vec<usize>,
    trace: ChromeTrace<&'a mut dyn Write>,
    layers: Track,
    /// By [`Unit::ALL`]; none for the router, which has no slices.
    units: Vec<Option<Track>>,
    stay: Option<Stay>,
    /// The first failure to write.
    written: io::Result<()>,
}

impl<'a> Tracks<'a> {
    fn new(program: &'a Program, out: &'a mut dyn Write, clock_mhz: Option<f64>) -> io::Result<Self> {
        let mut trace = ChromeTrace::new(out, &program.name, clock_mhz)?;
        let layers = trace.track("layers")?;
        let track = |unit: &Unit| match unit {
            Unit::Router => Ok(None),
            _ => trace.track(unit.name()).map(Some),
        };
        let units = Unit::ALL.iter().map(track).collect::<io::Result<_>>()?;
        let layer_of_each = program.layer_of_each();
        Ok(Self { program, layer_of_each, trace, layers, units, stay: None, written: Ok(()) })
    }

    fn show(&mut self, work: Work) {
        if self.written.is_ok() {
            self.written = self.write(work);
        }
    }

    fn write(&mut self, work: Work) -> io::Result<()> {
        if work.unit == Unit::Decoder {
            self.stay(work)?;
        }
        let Some(Some(track)) = self.units.get(work.unit as usize).copied() else { return Ok(()) };
        let Work { instruction, start, end, .. } = work;
        let name = self.program.instructions.get(instruction).map_or("", kind);
        let layer = self.layer_of_each.get(instruction).and_then(|place| self.layer(*place));
        let details =
            Details { layer, instruction: Some(instruction), cycle: start, cycles: end + 1 - start };
        self.trace.slice(track, &Slice { name, start, end, details })
    }

    /// The decoder holds an instruction of a layer.
    fn stay(&mut self, work: Work) -> io::Result<()> {
        let Some(&layer) = self.layer_of_each.get(work.instruction) else { return Ok(()) };
        match &mut self.stay {
            Some(stay) if stay.layer == layer => stay.end = work.end,
            _ => {
                self.leave()?;
                self.stay = Some(Stay { layer, start: work.start, end: work.end });
            }
        }
        Ok(())
    }

    /// The decoder is done with a layer.
    fn leave(&mut self) -> io::Result<()> {
        let Some(Stay { layer, start, end }) = self.stay.take() else { return Ok(()) };
        let Some(name) = self.layer(layer) else { return Ok(()) };
        let details = Details { layer: None, instruction: None, cycle: start, cycles: end + 1 - start };
        self.trace.slice(self.layers, &Slice { name, start, end, details })
    }

    /// The name of the layer at a place; none when no layers are known.
    fn layer(&self, place: usize) -> Option<&'a str> {
        let layers = &self.program.layers;
        (!layers.is_empty()).then(|| layers.get(place).map_or(OUTSIDE, |layer| &layer.name[..]))
    }

    fn finish(mut self) -> io::Result<()> {
        self.written?;
        self.written = Ok(());
        self.leave()?;
        self.trace.finish()
    }
}
