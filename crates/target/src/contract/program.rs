//! [`Compiled`]: a program for an instance, which can be written, run and timed.

use std::io::Write;
use std::ops::ControlFlow;

use npukit_graph::Graph;
use npukit_graph::rescale::Scales;
use npukit_numeric::Tensor;
use npukit_trace::{MemoryMap, Recorder};

use crate::config::compile_options::ModelReading;
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

/// A layer: a part of a program whose results are complete in memory when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name, as in [`ProgramReport::layers`].
    pub name: String,
    /// Names of the graph values that the layer computes; they are completely in memory when it
    /// ends. Empty for a layer that only moves vectors.
    pub results: Vec<String>,
}

/// Work of the host in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostWork {
    /// Number of result elements of each of [`ProgramReport::host_steps`]; `None` if unknown.
    pub elements: Vec<Option<u64>>,
    /// Bytes that the host copies to and from the machine's memory: inputs, outputs, and values
    /// between segments or calls. Copies that the clock times do not count. `None` if unknown.
    pub copied_bytes: Option<u64>,
}

impl HostWork {
    /// Returns the work of steps that each keep the shape of the output to which they apply.
    fn on_outputs(report: &ProgramReport, outputs: &[Port]) -> Self {
        let elements = |name: &str| {
            let output = outputs.iter().find(|output| output.name == name)?;
            Some(output.shape.iter().fold(1, |all: u64, &size| all.saturating_mul(size as u64)))
        };
        let elements = report.host_steps.iter().map(|step| elements(&step.output)).collect();
        Self { elements, copied_bytes: None }
    }
}

/// Properties of a program that are known without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramInfo {
    /// Report of the program.
    pub report: ProgramReport,
    /// Inputs, with the shape of one sample.
    pub inputs: Vec<Port>,
    /// Outputs, with the shape of one sample.
    pub outputs: Vec<Port>,
    /// Names of the inputs whose integers the host converts to real numbers: they are not indices.
    pub real_inputs: Vec<String>,
    /// Layers in order, with the values of the compiled graph that they compute. Empty if unknown,
    /// because the program was read from files.
    ///
    /// A layer's results may be made outputs of the graph: the program then computes the same
    /// values and returns these too.
    pub layers: Vec<Layer>,
    /// Nonzero exponents of inputs and outputs by name. Memory holds the value divided by
    /// `2^exponent`; the code that converts values for the program does the scaling.
    pub scales: Scales,
    /// Number of the model's multiply-accumulates that the host computes.
    pub host_macs: u64,
    /// Work of the host in a run.
    pub host: HostWork,
    /// Number of programs that the machine runs in sequence, with host steps in between. `None` for
    /// a single program.
    pub segments: Option<usize>,
    /// Forms that [`Compiled::write_time`] can write.
    pub time_forms: &'static [TimeForm],
    /// Options with which its model was read; empty for the defaults, and if unknown.
    pub reading: ModelReading,
}

impl ProgramInfo {
    /// Creates the info of a program with these inputs and outputs; everything further is unknown.
    /// Its host steps are assumed to keep the shape of the output to which they apply.
    pub fn new(report: ProgramReport, inputs: Vec<Port>, outputs: Vec<Port>) -> Self {
        Self {
            host: HostWork::on_outputs(&report, &outputs),
            report,
            inputs,
            outputs,
            real_inputs: Vec::new(),
            layers: Vec::new(),
            scales: Scales::new(),
            host_macs: 0,
            segments: None,
            time_forms: &[],
            reading: ModelReading::new(),
        }
    }

    /// Sets the bytes that the host copies.
    #[must_use]
    pub fn with_copies(mut self, bytes: Option<u64>) -> Self {
        self.host.copied_bytes = bytes;
        self
    }

    /// Returns the error of an unsupported verb. If only segmented programs lack the verb, the
    /// message suggests a single segment.
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

/// Words of a program, with the instance that decodes them.
pub struct ProgramWords {
    /// Instance that decodes the words.
    pub instance: Box<dyn Instance>,
    /// Programs: one, unless the host calls several.
    pub parts: Vec<ProgramPart>,
}

/// One program as words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramPart {
    /// Name of the part, if there are several; otherwise empty.
    pub name: String,
    /// Words, as [`Instance::disassemble`] takes them.
    pub bytes: Vec<u8>,
    /// Index of the first instruction of each layer and the layer's name, in instruction order.
    pub layers: Vec<(usize, String)>,
}

/// A program for an instance.
pub trait Compiled: Send + Sync {
    /// Returns what is known without running the program; computed at the first call.
    fn info(&self) -> &ProgramInfo;

    /// Returns the files that its drivers load, the manifest first.
    ///
    /// # Errors
    ///
    /// A program without files: it was read from files of another kind, or does not encode.
    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        Err(self.info().unsupported("compile"))
    }

    /// Returns the instructions as words, for a listing.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no disassembler; a program that does not
    /// encode.
    fn words(&self) -> Result<ProgramWords, TargetError> {
        Err(self.info().unsupported("disasm of an artifact"))
    }

    /// Runs one sample bit-exactly with these options.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit; a fault of the machine; [`TargetError::Differs`] if hardware would
    /// deviate and the options do not choose; [`TargetError::Unrepeatable`].
    fn run_with(&self, _inputs: &Inputs, _options: &RunOptions) -> Result<RunResult, TargetError> {
        Err(self.info().unsupported("run"))
    }

    /// Returns the program on its machine, before its first step, with the inputs in memory.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target cannot step such programs; the errors of
    /// [`Self::run_with`] for invalid inputs.
    fn machine(
        &self,
        _inputs: &Inputs,
        _options: &MachineOptions<'_>,
    ) -> Result<Box<dyn Machine>, TargetError> {
        Err(self.info().unsupported("debug"))
    }

    /// Returns the program on its machine over a prime field, for a comparison with a graph.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target's machine does not compute over a field; a
    /// program whose hardware results differ from its instructions.
    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        Err(self.info().unsupported("verify"))
    }

    /// Returns the program on its machine with ranges for numbers. `graph` is the simplified model;
    /// results are bounded against its constants.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target's machine does not compute with ranges, or not in
    /// the instance's number format.
    fn in_bounds(&self, _graph: &Graph) -> Result<Box<dyn BoundedProgram + '_>, TargetError> {
        Err(self.info().unsupported("verify --bounds"))
    }

    /// Returns the lint findings of the program, in instruction order.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no linter; words that do not decode.
    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        Err(self.info().unsupported("lint"))
    }

    /// Runs the program on the circuit of its machine and passes the run to `judge`. For a
    /// segmented program this happens once per segment, on the machine's results of the earlier
    /// segments. Returns the machine's outputs, or `None` if `judge` ended the run.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no circuit; [`TargetError::Unbuildable`] if
    /// the circuit does not support the instance; inputs that do not fit; [`TargetError::Option`]
    /// for invalid options; a fault of the machine; [`TargetError::Differs`] if the results of the
    /// released circuit are unknown.
    fn cosim(
        &self,
        _inputs: &Inputs,
        _options: &CosimOptions,
        _judge: &mut CosimJudge<'_>,
    ) -> Result<ControlFlow<(), Vec<Output>>, TargetError> {
        Err(self.info().unsupported("cosim"))
    }

    /// Returns how long the program takes.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no clock; [`TargetError::Option`] for invalid
    /// options; a program that the clock cannot run.
    fn time(&self, _options: &TimeOptions) -> Result<TimeReport, TargetError> {
        Err(self.info().unsupported("time"))
    }

    /// Records the activity of each unit in `recorder`; returns the total number of cycles.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no trace; invalid options as for
    /// [`Self::time`].
    fn record(&self, _options: &TimeOptions, _recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        Err(self.info().unsupported("time --trace"))
    }

    /// Returns which places of each memory are in use when, for a program with the report `time`;
    /// empty if unknown.
    fn memory_maps(&self, _time: &TimeReport) -> Vec<MemoryMap> {
        Vec::new()
    }

    /// Writes the clock's results in one of [`ProgramInfo::time_forms`].
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] for another form; invalid options as for [`Self::time`]; write
    /// errors of `out`.
    fn write_time(
        &self,
        form: TimeForm,
        _options: &TimeOptions,
        _out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        Err(self.info().unsupported(form.verb()))
    }

    /// Returns readers for values in the formats of the target's own tools and memories.
    fn own_values(&self) -> OwnValues<'_> {
        OwnValues::default()
    }
}

impl dyn Compiled + '_ {
    /// Returns [`ProgramInfo::report`].
    pub fn report(&self) -> ProgramReport {
        self.info().report.clone()
    }

    /// Returns [`ProgramInfo::inputs`].
    pub fn inputs(&self) -> Vec<Port> {
        self.info().inputs.clone()
    }

    /// Returns [`ProgramInfo::outputs`].
    pub fn outputs(&self) -> Vec<Port> {
        self.info().outputs.clone()
    }

    /// Runs one sample bit-exactly on a machine with zeroed memory.
    ///
    /// # Errors
    ///
    /// The errors of [`Compiled::run_with`].
    pub fn run(&self, inputs: &Inputs) -> Result<RunResult, TargetError> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// Returns the time of the whole program, without options.
    ///
    /// # Errors
    ///
    /// The errors of [`Compiled::time`].
    pub fn pace(&self) -> Result<Pace, TargetError> {
        let options = TimeOptions { is_brief: true, ..TimeOptions::default() };
        Ok(Pace::of(&self.time(&options)?))
    }

    /// Like [`Compiled::time`], but takes the times from the samples of the hardware's sampling
    /// unit. `name` is the file name, for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no sampling unit; bytes that are not samples
    /// of this program; invalid options as for [`Compiled::time`].
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

    /// Reads input values from a text file of the target's own tools; `name` is for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no text form of values; an invalid file, with
    /// the place.
    pub fn read_text(&self, name: &str, bytes: &[u8]) -> Result<Tensor, TargetError> {
        let read = self.own_values().read_text.ok_or_else(|| self.info().unsupported("text inputs"))?;
        read(name, bytes)
    }

    /// Returns the tensors in an image of `memory`, its bytes from address 0, as a board has them
    /// after a run. These are the outputs in the model's shapes, after host steps, preceded by the
    /// inputs that the program does not overwrite. `raw` of both is before host steps.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target cannot read images; [`TargetError::Option`] for a
    /// memory without outputs; an image that is too short, with both sizes.
    pub fn read_image(&self, memory: &str, image: &[u8]) -> Result<Vec<Output>, TargetError> {
        let unsupported = || self.info().unsupported("diff of an image of memory");
        let read = self.own_values().read_image.ok_or_else(unsupported)?;
        read(memory, image)
    }

    /// Returns the last instruction that writes an element of an output; `None` if unknown.
    pub fn writer(&self, output: &str, element: usize) -> Option<Writer> {
        self.own_values().writer?(output, element)
    }

    /// Converts a sample of input `port` from rows of vectors to the model's shape.
    ///
    /// `None` if it already has that shape, or if the artifact does not record it.
    pub fn to_model(&self, port: &str, sample: &Tensor) -> Option<Tensor> {
        self.own_values().unpack?(port, sample)
    }
}
