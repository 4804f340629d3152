//! [`Compiled`]: a program for an instance, to be written, run and timed.

use std::io::Write;
use std::ops::ControlFlow;

use npukit_graph::Graph;
use npukit_graph::rescale::Scales;
use npukit_numeric::Tensor;
use npukit_trace::{MemoryMap, Recorder};

use crate::config::run_options::RunOptions;
use crate::contract::bounds::BoundedProgram;
use crate::contract::cosim::{CosimJudge, CosimOptions};
use crate::contract::instance::Instance;
use crate::contract::machine::{Machine, MachineOptions};
use crate::contract::output::{Inputs, Output, RunResult};
use crate::contract::port::Port;
use crate::contract::proof::FieldProgram;
use crate::contract::values::{OwnValues, Writer};
use crate::error::TargetError;
use crate::files::parts::ArtifactFile;
use crate::lint::Finding;
use crate::report::ProgramReport;
use crate::report::time::{MeasuredSamples, Pace, TimeForm, TimeOptions, TimeReport};

/// A layer: what a program computes in one go, and leaves in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// As in [`ProgramReport::layers`].
    pub name: String,
    /// Names of the values of the graph that it ends in: they are in memory, whole, when it is done.
    /// Empty for one that only moves vectors about.
    pub results: Vec<String>,
}

/// What is known of a program without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramInfo {
    /// What is reported of it.
    pub report: ProgramReport,
    /// Inputs, with the shape of one sample.
    pub inputs: Vec<Port>,
    /// Outputs, with the shape of one sample.
    pub outputs: Vec<Port>,
    /// Layers in order, with the values of the compiled graph that they end in; empty when they are not known (the program
    /// was read from files).
    ///
    /// A layer's results may be made outputs of the graph: the program then computes the same values, and gives these.
    pub layers: Vec<Layer>,
    /// Exponents of inputs and outputs by name, where they are not 0: what lies in memory is the value divided by
    /// `2^exponent`, and whoever converts numbers for it does that.
    pub scales: Scales,
    /// Those of the model's multiply-accumulates that the host does.
    pub host_macs: u64,
    /// Programs that the machine runs one after the other, with steps of the host between them. `None` for one program.
    pub segments: Option<usize>,
    /// What [`Compiled::write_time`] writes.
    pub time_forms: &'static [TimeForm],
}

impl ProgramInfo {
    /// A program with these inputs and outputs, of which nothing else is known.
    pub fn new(report: ProgramReport, inputs: Vec<Port>, outputs: Vec<Port>) -> Self {
        Self {
            report,
            inputs,
            outputs,
            layers: Vec::new(),
            scales: Scales::new(),
            host_macs: 0,
            segments: None,
            time_forms: &[],
        }
    }

    /// The error of a part that is not there. A segment alone may have what a program in segments has not.
    pub fn unsupported(&self, verb: &'static str) -> TargetError {
        let verb = match verb {
            _ if self.segments.is_none() => verb,
            "time --trace" => "time --trace of several segments: trace the artifact of one of them",
            "time --cycles" => "time --cycles of several segments: give the artifact of one of them",
            "time --samples" => "time --samples of several segments: give the artifact of one of them",
            "time --from-samples" => {
                "time --from-samples of several segments: give the artifact of one of them"
            }
            "verify --bounds" => "verify --bounds of several segments: give the artifact of one of them",
            verb => verb,
        };
        TargetError::Unsupported { target: self.report.target.clone(), verb }
    }
}

/// The words of a program, and the instance that reads them.
pub struct ProgramWords {
    /// The instance.
    pub instance: Box<dyn Instance>,
    /// The programs: one, but where the host calls several.
    pub parts: Vec<ProgramPart>,
}

/// A program in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramPart {
    /// What it is, where there are several.
    pub name: String,
    /// As [`Instance::disassemble`] takes them.
    pub bytes: Vec<u8>,
    /// Index of the first instruction of each layer and the layer's name, in the order of instructions.
    pub layers: Vec<(usize, String)>,
}

/// A program for an instance.
pub trait Compiled: Send + Sync {
    /// What is known of it, made when somebody asks first.
    fn info(&self) -> &ProgramInfo;

    /// The files its drivers load, the manifest first.
    ///
    /// # Errors
    ///
    /// A program that has no files, because it came from files that are not the drivers' or does not
    /// encode.
    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        Err(self.info().unsupported("compile"))
    }

    /// Its instructions in words, for a listing of them.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no disassembler; a program that does not encode.
    fn words(&self) -> Result<ProgramWords, TargetError> {
        Err(self.info().unsupported("disasm of an artifact"))
    }

    /// Runs one sample, bit-exactly, as the options say.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit, what the machine faults on, [`TargetError::Differs`] when hardware would
    /// compute something else and the options do not choose, [`TargetError::Unrepeatable`].
    fn run_with(&self, _inputs: &Inputs, _options: &RunOptions) -> Result<RunResult, TargetError> {
        Err(self.info().unsupported("run"))
    }

    /// The program on its machine, its inputs in place, before its first step.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target's machine takes no steps of such programs; those of [`Self::run_with`] for
    /// inputs.
    fn machine(
        &self,
        _inputs: &Inputs,
        _options: &MachineOptions<'_>,
    ) -> Result<Box<dyn Machine>, TargetError> {
        Err(self.info().unsupported("debug"))
    }

    /// The program on its machine over a prime field, where it can be compared with a graph.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target's machine computes with numbers only; a program that hardware and its
    /// instructions disagree on.
    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        Err(self.info().unsupported("verify"))
    }

    /// The program on its machine with ranges for numbers. `graph` is the simplified model, whose constants results are
    /// bounded against.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target's machine does not compute with ranges, or not in the instance's number
    /// format.
    fn in_bounds(&self, _graph: &Graph) -> Result<Box<dyn BoundedProgram + '_>, TargetError> {
        Err(self.info().unsupported("verify --bounds"))
    }

    /// What is wrong with the program, in the order of its instructions.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no lint; words that do not decode.
    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        Err(self.info().unsupported("lint"))
    }

    /// Has the program with these inputs judged on the circuit of its machine: once, or once for each of its segments, on
    /// what the machine gives for those before. Gives the outputs by the machine, or nothing where `judge` has ended it.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no circuit; [`TargetError::Unbuildable`] when this instance has
    /// none; inputs that do not fit; options that it does not take ([`TargetError::Option`]); what the machine faults on;
    /// [`TargetError::Differs`] where what the released circuit computes is not known.
    fn cosim(
        &self,
        _inputs: &Inputs,
        _options: &CosimOptions,
        _judge: &mut CosimJudge<'_>,
    ) -> Result<ControlFlow<(), Vec<Output>>, TargetError> {
        Err(self.info().unsupported("cosim"))
    }

    /// Says how long it takes.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no clock; options that it does not take
    /// ([`TargetError::Option`]); a program that its clock cannot run.
    fn time(&self, _options: &TimeOptions) -> Result<TimeReport, TargetError> {
        Err(self.info().unsupported("time"))
    }

    /// Tells `recorder` what each unit does when, and gives the cycles of the whole.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no trace; options as for [`Self::time`].
    fn record(&self, _options: &TimeOptions, _recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        Err(self.info().unsupported("time --trace"))
    }

    /// Who needs which places of each memory when, of a program whose `time` was reported; empty where nobody tells.
    fn memory_maps(&self, _time: &TimeReport) -> Vec<MemoryMap> {
        Vec::new()
    }

    /// Writes what the clock says in one of [`ProgramInfo::time_forms`].
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] for another form; options as for [`Self::time`]; what `out` refuses.
    fn write_time(
        &self,
        form: TimeForm,
        _options: &TimeOptions,
        _out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        Err(self.info().unsupported(form.verb()))
    }

    /// How values are read in the forms of the target's own tools and memories.
    fn own_values(&self) -> OwnValues<'_> {
        OwnValues::default()
    }
}

impl dyn Compiled + '_ {
    /// [`ProgramInfo::report`].
    pub fn report(&self) -> ProgramReport {
        self.info().report.clone()
    }

    /// [`ProgramInfo::inputs`].
    pub fn inputs(&self) -> Vec<Port> {
        self.info().inputs.clone()
    }

    /// [`ProgramInfo::outputs`].
    pub fn outputs(&self) -> Vec<Port> {
        self.info().outputs.clone()
    }

    /// Runs one sample, bit-exactly, on a machine whose memory is zero at the start.
    ///
    /// # Errors
    ///
    /// Those of [`Compiled::run_with`].
    pub fn run(&self, inputs: &Inputs) -> Result<RunResult, TargetError> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// The time of the whole, without options.
    ///
    /// # Errors
    ///
    /// Those of [`Compiled::time`].
    pub fn pace(&self) -> Result<Pace, TargetError> {
        let options = TimeOptions { is_brief: true, ..TimeOptions::default() };
        Ok(Pace::of(&self.time(&options)?))
    }

    /// As [`Compiled::time`], from what the hardware's sampling unit gave; `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no sampling unit; bytes that are not samples of this program;
    /// options as for [`Compiled::time`].
    pub fn time_samples(
        &self,
        name: &str,
        bytes: &[u8],
        options: &TimeOptions,
    ) -> Result<TimeReport, TargetError> {
        let info = self.info();
        if !info.time_forms.contains(&TimeForm::Samples) {
            return Err(info.unsupported("time --from-samples"));
        }
        let measured = MeasuredSamples { name: name.to_owned(), bytes: bytes.to_vec() };
        self.time(&TimeOptions { measured: Some(measured), ..options.clone() })
    }

    /// Reads a text file of the target's own tools as input values; `name` is for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no text form of values; a file that is not in it, with the place.
    pub fn read_text(&self, name: &str, bytes: &[u8]) -> Result<Tensor, TargetError> {
        let read = self.own_values().read_text.ok_or_else(|| self.info().unsupported("text inputs"))?;
        read(name, bytes)
    }

    /// What an image of `memory`, its bytes from address 0 on as a board has them after a run, holds: outputs in the
    /// model's shapes with host steps applied, and before them the inputs over which the program does not write (`raw`
    /// of both without host steps).
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target reads no images; [`TargetError::Option`] for a memory in which no
    /// outputs are; an image that ends too early, with the sizes.
    pub fn read_image(&self, memory: &str, image: &[u8]) -> Result<Vec<Output>, TargetError> {
        let unsupported = || self.info().unsupported("diff of an image of memory");
        let read = self.own_values().read_image.ok_or_else(unsupported)?;
        read(memory, image)
    }

    /// The instruction that writes an element of an output last; `None` where that is not known.
    pub fn writer(&self, output: &str, element: usize) -> Option<Writer> {
        self.own_values().writer?(output, element)
    }

    /// A sample of input `port` in the model's shape, for one given as rows of vectors.
    ///
    /// `None` when it is already, or when the artifact does not say how.
    pub fn to_model(&self, port: &str, sample: &Tensor) -> Option<Tensor> {
        self.own_values().unpack?(port, sample)
    }
}
