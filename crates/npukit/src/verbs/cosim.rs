//! `npu cosim`: a program on the circuit of its machine, in a simulator, beside the machine and its clock.

mod own;
mod simulator;
mod vcd;

use npukit_rtl::{Build, Run};
use npukit_target::{
    Compiled, Cosim, CosimCycles, CosimDifference, CosimJudgement, CosimOptions, CosimPart, Phase,
};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess, Sample, Samples};
use crate::program::Program;
use crate::remarks::Remarks;
use crate::source::Source;
use crate::test_vectors::samples;
use crate::verbs::rtl::defects;

pub use simulator::{Simulated, Simulator, SimulatorError};

/// What to run, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The program.
    pub source: Source,
    /// Its inputs; a sample is made up where there are none.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// Takes the circuit with the defects of the released one, and the machine too.
    pub is_released: bool,
    /// Cycles from the address of a read to its data; those of the board when not given.
    pub latency: Option<u64>,
    /// Cycles from written data to the response; as for reads when not given.
    pub response_latency: Option<u64>,
    /// Seed of random waits of memory and streams.
    pub stalls: Option<u64>,
    /// Folder of a person's own circuit, as `npu rtl` writes it.
    pub rtl: Option<String>,
    /// Gives waveforms around the first difference, or of the beginning where there is none.
    pub waves: bool,
}

/// A circuit beside machine and clock.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// Name of the artifact.
    pub name: String,
    /// Target and instance.
    pub target: String,
    /// The circuit, in a line.
    pub circuit: String,
    /// What simulates it.
    pub simulator: String,
    /// Instructions.
    pub instructions: usize,
    /// Samples run: all, or those up to the first that differs.
    pub samples: usize,
    /// Whether all that was compared is equal, over all samples.
    pub equal: bool,
    /// Of the last sample that was run.
    pub cycles: CosimCycles,
    /// The first difference; null when all is equal.
    pub difference: Option<CosimDifference>,
    /// What was compared of the last sample that was run.
    pub compared: Vec<CosimPart>,
    /// Cycles that were simulated for this, those of waveforms left out.
    pub simulated_cycles: u64,
    /// What that took, in seconds, without building the simulator.
    pub seconds: f64,
    /// Cycles simulated in a second.
    pub cycles_per_second: f64,
    /// What was taken for granted, and what was not compared.
    pub notes: Vec<String>,
    /// What its user should know of.
    pub warnings: Vec<String>,
}

/// Runs all samples on the circuit, up to the first that differs; also gives the waveforms that were asked for (FST).
///
/// # Errors
///
/// Those of [`run`](super::run::run) for program and inputs; [`Error::NotByHand`] for a program that a person wrote;
/// [`Error::Target`] for a target without a circuit, an instance of which there is none, and programs that cannot be
/// compared; [`Error::Simulator`] when there is no simulator, and for what goes wrong in it; [`Error::OwnCircuit`] and
/// [`Error::Read`] for a folder that is no circuit.
pub fn cosim(
    request: &Request,
    simulator: &dyn Simulator,
    context: Context<'_>,
) -> Result<(Report, Option<Vec<u8>>), Error> {
    if request.source.is_by_hand(context)? {
        let (path, option) = (request.source.path.clone(), "`npu cosim`".to_owned());
        return Err(Error::NotByHand { path, option });
    }
    let own = request.rtl.as_deref().map(|folder| own::files(folder, context.reader)).transpose()?;
    // Default: the circuit is ours.
    let own = own.unwrap_or_default();
    let program = request.source.program_for(&request.inputs, context)?;
    let origin = program.origin.as_ref();
    let Samples { samples, notes } =
        samples(&*program.compiled, origin, &request.inputs, &request.preprocess, context)?;
    let mut done = Done::default();
    for sample in &samples {
        done.run(&*program.compiled, sample, request, &own, simulator)?;
        if done.difference().is_some() {
            break;
        }
    }
    let report = done.report(&program, simulator.name()?, notes);
    Ok((report, done.waves))
}

/// The samples that were run.
#[derive(Default)]
struct Done {
    judgements: Vec<CosimJudgement>,
    circuit: String,
    seconds: f64,
    waves: Option<Vec<u8>>,
}

impl Done {
    fn run(
        &mut self,
        compiled: &dyn Compiled,
        sample: &Sample,
        request: &Request,
        own: &[npukit_rtl::File],
        simulator: &dyn Simulator,
    ) -> Result<(), Error> {
        let options = CosimOptions {
            defects: defects(request.is_released),
            latency: request.latency,
            response_latency: request.response_latency,
            stalls: request.stalls,
        };
        let cosim = compiled.cosim(sample, &options)?;
        self.circuit = cosim.circuit().summary.clone();
        let build = Build::of(cosim.circuit(), own, false);
        let Simulated { seen, seconds } = simulator.simulate(&build, cosim.run())?;
        self.seconds += seconds;
        let judgement = {
            let _phase = Phase::begin("compare");
            cosim.compare(&seen)?
        };
        if request.waves && (judgement.difference.is_some() || self.waves.is_none()) {
            let around = judgement.difference.as_ref().and_then(|difference| difference.cycle);
            self.waves = Some(waves(&*cosim, own, around, simulator)?);
        }
        self.judgements.push(judgement);
        Ok(())
    }

    fn difference(&self) -> Option<&CosimDifference> {
        self.judgements.last()?.difference.as_ref()
    }

    fn report(&self, program: &Program, simulator: String, notes: Vec<String>) -> Report {
        let Remarks { notes: mut all, warnings } = program.remarks();
        let report = program.report();
        let last = self.judgements.last();
        all.extend(notes);
        all.extend(last.into_iter().flat_map(|last| last.notes.iter().cloned()));
        let simulated: u64 = self.judgements.iter().map(|judgement| judgement.simulated).sum();
        Report {
            name: report.name,
            target: report.target,
            circuit: self.circuit.clone(),
            simulator,
            instructions: report.instructions,
            samples: self.judgements.len(),
            equal: last.is_some() && self.difference().is_none(),
            // Default: there is at least a sample, made up where none is given.
            cycles: last.map_or(CosimCycles { rtl: 0, model: 0, compared: false }, |last| last.cycles),
            difference: self.difference().cloned(),
            compared: last.map(|last| last.compared.clone()).unwrap_or_default(),
            simulated_cycles: simulated,
            seconds: self.seconds,
            cycles_per_second: if self.seconds > 0.0 { simulated as f64 / self.seconds } else { 0.0 },
            notes: all,
            warnings,
        }
    }
}

/// Cycles of waveforms before and after the one that is asked for.
const AROUND: u64 = 512;

/// Waveforms around a cycle, or of the beginning: the same run again, in a simulator that writes them.
fn waves(
    cosim: &dyn Cosim,
    own: &[npukit_rtl::File],
    around: Option<u64>,
    simulator: &dyn Simulator,
) -> Result<Vec<u8>, Error> {
    // Default: of the beginning.
    let from = around.unwrap_or(0).saturating_sub(AROUND);
    let mut run: Run = cosim.run().clone();
    run.option("waves", WAVES);
    run.option("waves-from", from);
    run.option("max-cycles", from.saturating_add(2 * AROUND));
    run.outputs = vec![WAVES];
    let mut seen = simulator.simulate(&Build::of(cosim.circuit(), own, true), &run)?.seen;
    let missing =
        || SimulatorError::Output { file: WAVES.to_owned(), reason: "it was not written".to_owned() };
    let _phase = Phase::begin("write waveforms");
    Ok(vcd::to_fst(WAVES, &seen.remove(WAVES).ok_or_else(missing)?)?)
}

const WAVES: &str = "waves.vcd";
