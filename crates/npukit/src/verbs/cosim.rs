//! `npu cosim`: runs a program on the circuit in a simulator, and compares it with the machine and
//! its clock.

mod asm_run;
mod own;
mod simulator;
mod vcd;

use std::ops::ControlFlow;

use npukit_target::rtl::{Build, Run};
use npukit_target::{
    Compiled, CosimCycles, CosimDifference, CosimJudgement, CosimOptions, CosimPart, CosimRun, Phase,
};
use serde::Serialize;

use crate::Context;
use crate::compare::test_vectors::samples;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess, Sample, Samples};
use crate::model::program::Program;
use crate::model::remarks::Remarks;
use crate::model::source::{Input, Source};
use crate::verbs::rtl::defects;

pub use simulator::{Simulated, Simulator, SimulatorError};

/// Parameters of a co-simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Program to run.
    pub source: Source,
    /// Inputs of the program; if empty, a sample is generated.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the inputs.
    pub preprocess: Preprocess,
    /// Whether circuit and machine have the defects of the released circuit.
    pub is_released: bool,
    /// Latency of a read in cycles, from address to data; `None` for the board's latency.
    pub latency: Option<u64>,
    /// Latency of a write response in cycles; `None` for the latency of a read.
    pub response_latency: Option<u64>,
    /// Random seed for wait states of memory and streams; `None` for none.
    pub stalls: Option<u64>,
    /// Folder of a modified circuit, in the form that `npu rtl` writes.
    pub rtl: Option<String>,
    /// Future path of waveforms, if requested: around the first difference, or from the start
    /// without one.
    pub waves: Option<String>,
}

/// Waveforms of a circuit, and settings to display them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waves {
    /// Waveforms in FST format, `.fst`.
    pub fst: Vec<u8>,
    /// GTKWave save file, `.gtkw`, with the signals of the outermost module.
    pub gtkwave: Vec<u8>,
}

/// Comparison of a circuit with machine and clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// One-line description of the circuit.
    pub circuit: String,
    /// Name of the simulator.
    pub simulator: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Number of samples run: all, or up to the first that differs.
    pub samples: usize,
    /// Number of programs compared: one, or one per segment of the model.
    pub segments: usize,
    /// Whether everything that was compared is equal, over all samples.
    pub equal: bool,
    /// Cycles of the last sample, added up over all segments.
    pub cycles: CosimCycles,
    /// First difference; null if everything is equal.
    pub difference: Option<CosimDifference>,
    /// Parts that were compared for the last sample, over all segments.
    pub compared: Vec<CosimPart>,
    /// Number of simulated cycles, without those for waveforms.
    pub simulated_cycles: u64,
    /// Simulation time in seconds, without building the simulator.
    pub seconds: f64,
    /// Simulated cycles per second.
    pub cycles_per_second: f64,
    /// Assumptions, and parts that were not compared.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Runs all samples on the circuit, up to the first that differs. Also returns the waveforms, if
/// requested.
///
/// # Errors
///
/// Fails as [`run`](super::run::run) does for program and inputs, or as
/// [`run_asm`](super::run::run_asm) for an assembly program, whose expectations are not
/// checked. Returns:
///
/// - [`Error::Target`] for a target or an instance without a circuit, and for programs that cannot
///   be compared,
/// - [`Error::Simulator`] if the simulator is missing or fails,
/// - [`Error::OwnCircuit`] or [`Error::Read`] for a folder that is not a circuit.
pub fn cosim(
    request: &Request,
    simulator: &dyn Simulator,
    context: Context<'_>,
) -> Result<(Report, Option<Waves>), Error> {
    let own = request.rtl.as_deref().map(|folder| own::files(folder, context.reader)).transpose()?;
    // Default: npukit's own circuit.
    let own = own.unwrap_or_default();
    let mut done = Done::new(request, &own, simulator);
    if let Input::Assembly(_) = request.source.input(context)? {
        let (program, notes) = done.run_asm(context)?;
        let report = done.report(&program, simulator.name()?, notes);
        return Ok((report, done.waves));
    }
    let program = request.source.program_for(&request.inputs, context)?;
    let origin = program.origin.as_ref();
    let Samples { samples, notes } =
        samples(&*program.compiled, origin, &request.inputs, &request.preprocess, context)?;
    for sample in &samples {
        done.run(&*program.compiled, sample)?;
        if done.difference().is_some() {
            break;
        }
    }
    let report = done.report(&program, simulator.name()?, notes);
    Ok((report, done.waves))
}

/// Samples that were run.
struct Done<'r> {
    request: &'r Request,
    own: &'r [npukit_target::rtl::File],
    simulator: &'r dyn Simulator,
    samples: usize,
    /// Judgements of the last sample, one per segment.
    judgements: Vec<CosimJudgement>,
    simulated: u64,
    circuit: String,
    seconds: f64,
    waves: Option<Waves>,
}

impl<'r> Done<'r> {
    fn new(request: &'r Request, own: &'r [npukit_target::rtl::File], simulator: &'r dyn Simulator) -> Self {
        let (judgements, circuit) = (Vec::new(), String::new());
        Self {
            request,
            own,
            simulator,
            samples: 0,
            judgements,
            simulated: 0,
            circuit,
            seconds: 0.0,
            waves: None,
        }
    }

    /// Returns the options for running programs.
    fn options(&self) -> CosimOptions {
        CosimOptions {
            defects: defects(self.request.is_released),
            latency: self.request.latency,
            response_latency: self.request.response_latency,
            stalls: self.request.stalls,
        }
    }

    /// Runs all segments for a sample, up to the first that differs.
    fn run(&mut self, compiled: &dyn Compiled, sample: &Sample) -> Result<(), Error> {
        let options = self.options();
        self.samples += 1;
        self.judgements.clear();
        let mut failed = None;
        // The closure stops the run at a difference, so that error is expected.
        let _ended = compiled.cosim(sample, &options, &mut |cosim| match self.judge(cosim) {
            Ok(()) if self.difference().is_none() => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Break(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        self.name_segment(compiled.info().segments.unwrap_or(1));
        failed.map_or(Ok(()), Err)
    }

    /// Runs a program on its circuit, and compares.
    fn judge(&mut self, cosim: &CosimRun<'_>) -> Result<(), Error> {
        self.circuit.clone_from(&cosim.circuit.summary);
        let build = Build::of(cosim.circuit, self.own, false);
        let Simulated { seen, seconds } = self.simulator.simulate(&build, cosim.run)?;
        self.seconds += seconds;
        let mut judgement = {
            let _phase = Phase::begin("compare");
            (cosim.compare)(&seen)?
        };
        if let Some(difference) = self.first_of(cosim, &judgement) {
            judgement.difference = Some(difference);
        }
        let is_wanted = judgement.difference.is_some() || self.waves.is_none();
        if let Some(path) = self.request.waves.as_deref().filter(|_| is_wanted) {
            let around = judgement.difference.as_ref().and_then(|difference| difference.cycle);
            let vcd = waves(cosim, self.own, around, self.simulator)?;
            let _phase = Phase::begin("write waveforms");
            self.waves = Some(Waves { fst: vcd::to_fst(WAVES, &vcd)?, gtkwave: vcd::save_file(&vcd, path) });
        }
        self.simulated += judgement.simulated;
        self.judgements.push(judgement);
        Ok(())
    }

    /// Returns the difference after the first instruction that leaves one in a memory, unless this
    /// is the difference of the judgement, which names the last writer of a number. Repeats the run
    /// with fewer instructions, by bisection.
    fn first_of(&self, cosim: &CosimRun<'_>, judgement: &CosimJudgement) -> Option<CosimDifference> {
        let of_memory = judgement.difference.as_ref().filter(|difference| difference.address.is_some())?;
        let _phase = Phase::begin("find the first difference");
        let (mut equal, mut different, mut found) = (0, of_memory.instruction? as usize + 1, None);
        while equal + 1 < different {
            let middle = equal.midpoint(different);
            match self.difference_in_memory(cosim, middle) {
                Ok(Some(difference)) => (different, found) = (middle, Some(difference)),
                Ok(None) => equal = middle,
                // A shorter run that fails does not hide the difference.
                Err(_) => break,
            }
        }
        found
    }

    /// Runs the first `count` instructions, and returns the difference that they leave in a memory.
    fn difference_in_memory(
        &self,
        cosim: &CosimRun<'_>,
        count: usize,
    ) -> Result<Option<CosimDifference>, Error> {
        let mut judged = None;
        let run = &mut |first: &CosimRun<'_>| {
            let build = Build::of(first.circuit, self.own, false);
            let seen = self.simulator.simulate(&build, first.run).map_err(Error::from);
            judged = Some(seen.and_then(|simulated| Ok((first.compare)(&simulated.seen)?)));
        };
        (cosim.first)(count, run)?;
        let difference = judged.transpose()?.and_then(|judgement| judgement.difference);
        Ok(difference.filter(|difference| difference.address.is_some()))
    }

    /// Names the segment that differs, if there are several.
    fn name_segment(&mut self, segments: usize) {
        let last = self.judgements.len().saturating_sub(1);
        let difference = self.judgements.last_mut().and_then(|judgement| judgement.difference.as_mut());
        if let Some(difference) = difference.filter(|_| segments > 1) {
            difference.segment = Some(last as u64);
            difference.message = format!("segment {last}, {}", difference.message);
        }
    }

    fn difference(&self) -> Option<&CosimDifference> {
        self.judgements.last()?.difference.as_ref()
    }

    /// Adds up the cycles of all segments.
    fn cycles(&self) -> CosimCycles {
        let none = CosimCycles { rtl: 0, model: 0, compared: !self.judgements.is_empty() };
        self.judgements.iter().fold(none, |sum, CosimJudgement { cycles, .. }| CosimCycles {
            rtl: sum.rtl.saturating_add(cycles.rtl),
            model: sum.model.saturating_add(cycles.model),
            compared: sum.compared && cycles.compared,
        })
    }

    /// Returns the parts that were compared in any of the segments.
    fn compared(&self) -> Vec<CosimPart> {
        let mut compared: Vec<CosimPart> = Vec::new();
        for part in self.judgements.iter().flat_map(|judgement| &judgement.compared) {
            match compared.iter_mut().find(|known| known.what == part.what) {
                Some(known) => {
                    known.numbers += part.numbers;
                    known.different += part.different;
                }
                None => compared.push(part.clone()),
            }
        }
        compared
    }

    fn report(&self, program: &Program, simulator: String, notes: Vec<String>) -> Report {
        let Remarks { notes: mut all, warnings } = program.remarks();
        let report = program.report();
        for note in notes.iter().chain(self.judgements.iter().flat_map(|judgement| &judgement.notes)) {
            if !all.contains(note) {
                all.push(note.clone());
            }
        }
        Report {
            name: report.name,
            target: report.target,
            circuit: self.circuit.clone(),
            simulator,
            instructions: report.instructions,
            samples: self.samples,
            segments: program.compiled.info().segments.unwrap_or(1),
            equal: !self.judgements.is_empty() && self.difference().is_none(),
            cycles: self.cycles(),
            difference: self.difference().cloned(),
            compared: self.compared(),
            simulated_cycles: self.simulated,
            seconds: self.seconds,
            cycles_per_second: if self.seconds > 0.0 { self.simulated as f64 / self.seconds } else { 0.0 },
            notes: all,
            warnings,
        }
    }
}

/// Number of cycles of waveforms before and after the requested cycle.
const AROUND: u64 = 512;

/// Records waveforms (VCD) around a cycle, or from the start: repeats the run in a simulator that
/// writes them.
fn waves(
    cosim: &CosimRun<'_>,
    own: &[npukit_target::rtl::File],
    around: Option<u64>,
    simulator: &dyn Simulator,
) -> Result<Vec<u8>, Error> {
    // Default: record from the start.
    let from = around.unwrap_or(0).saturating_sub(AROUND);
    let mut run: Run = cosim.run.clone();
    run.option("waves", WAVES);
    run.option("waves-from", from);
    run.option("max-cycles", from.saturating_add(2 * AROUND));
    run.outputs = vec![WAVES];
    let mut seen = simulator.simulate(&Build::of(cosim.circuit, own, true), &run)?.seen;
    let missing =
        || SimulatorError::Output { file: WAVES.to_owned(), reason: "it was not written".to_owned() };
    Ok(seen.remove(WAVES).ok_or_else(missing)?)
}

const WAVES: &str = "waves.vcd";
