//! [`Compiled`]: a program for an instance, to be written, run and timed.

use std::io::Write;
use std::ops::ControlFlow;

use npukit_graph::Graph;
use npukit_graph::rescale::Scales;
use npukit_numeric::{ElementType, Tensor};
use npukit_trace::{MemoryMap, Recorder};

use crate::config::run_options::RunOptions;
use crate::contract::bounds::BoundedProgram;
use crate::contract::cosim::{CosimJudge, CosimOptions};
use crate::contract::instance::Instance;
use crate::contract::machine::{Machine, MachineOptions};
use crate::contract::output::{Driven, Inputs, Output, RunResult};
use crate::contract::port::Port;
use crate::contract::proof::FieldProgram;
use crate::error::TargetError;
use crate::files::parts::ArtifactFile;
use crate::lint::Finding;
use crate::report::ProgramReport;
use crate::report::time::{Pace, TimeOptions, TimeReport};

/// The instruction that is the last to write something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Its place in the program, from 0.
    pub instruction: usize,
    /// The instruction as text.
    pub text: String,
}

/// A layer: what a program computes in one go, and leaves in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// As in [`ProgramReport::layers`].
    pub name: String,
    /// Names of the values of the graph that it ends in: they are in memory, whole, when it is done.
    /// Empty for one that only moves vectors about.
    pub results: Vec<String>,
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
    /// What it is.
    fn report(&self) -> ProgramReport;

    /// Those of the model's multiply-accumulates that the host does.
    fn host_macs(&self) -> u64 {
        0
    }

    /// Programs that the machine runs one after the other, with steps of the host between them.
    fn segments(&self) -> usize {
        1
    }

    /// What it takes.
    fn inputs(&self) -> Vec<Port>;

    /// Type of an input's elements, where the program has one: what a machine takes itself are real numbers, but a step of
    /// the host may take indices or truth values.
    fn input_element(&self, _name: &str) -> Option<ElementType> {
        None
    }

    /// What it gives.
    fn outputs(&self) -> Vec<Port>;

    /// Exponents of its inputs and outputs by name, where they are not 0: what lies in memory is the value divided by
    /// `2^exponent`, and whoever converts numbers for it does that.
    fn scales(&self) -> Scales {
        Scales::new()
    }

    /// Its layers in order, with the values of the compiled graph that they end in; empty when it
    /// does not know (it was read from files).
    ///
    /// A layer's results may be made outputs of the graph as well: the program then computes the
    /// same values, and gives these out.
    fn layers(&self) -> Vec<Layer> {
        Vec::new()
    }

    /// The files its drivers load, the manifest first.
    ///
    /// # Errors
    ///
    /// A program that has no files, because it came from files that are not the drivers' or does not
    /// encode.
    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        Err(self.unsupported("compile"))
    }

    /// Its instructions in words, for a listing of them.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no disassembler; a program that does not encode.
    fn words(&self) -> Result<ProgramWords, TargetError> {
        Err(self.unsupported("disasm of an artifact"))
    }

    /// Runs one sample, bit-exactly, on a machine whose memory is zero at the start.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run_with`].
    fn run(&self, inputs: &Inputs) -> Result<RunResult, TargetError> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// Runs one sample, bit-exactly, as the options say.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit, what the machine faults on, [`TargetError::Differs`] when hardware would
    /// compute something else and the options do not choose, [`TargetError::Unrepeatable`].
    fn run_with(&self, _inputs: &Inputs, _options: &RunOptions) -> Result<RunResult, TargetError> {
        Err(self.unsupported("run"))
    }

    /// Runs one sample as [`Self::run`] does, and gives what a driver has of it: nothing where drivers have no format
    /// of their own.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run`].
    fn drive(&self, inputs: &Inputs) -> Result<Driven, TargetError> {
        Ok(Driven { result: self.run(inputs)?, data: Vec::new() })
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
        Err(self.unsupported("debug"))
    }

    /// The program on its machine over a prime field, where it can be compared with a graph.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target's machine computes with numbers only; a program that hardware and its
    /// instructions disagree on.
    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        Err(self.unsupported("verify"))
    }

    /// The program on its machine with ranges for numbers. `graph` is the simplified model, whose constants results are
    /// bounded against.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target's machine does not compute with ranges, or not in the instance's number
    /// format.
    fn in_bounds(&self, _graph: &Graph) -> Result<Box<dyn BoundedProgram + '_>, TargetError> {
        Err(self.unsupported("verify --bounds"))
    }

    /// What is wrong with the program, in the order of its instructions.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no lint; words that do not decode.
    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        Err(self.unsupported("lint"))
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
        Err(self.unsupported("cosim"))
    }

    /// Says how long it takes.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no clock; options that it does not take
    /// ([`TargetError::Option`]); a program that its clock cannot run.
    fn time(&self, _options: &TimeOptions) -> Result<TimeReport, TargetError> {
        Err(self.unsupported("time"))
    }

    /// What [`Self::time`] says of the whole, without options: quicker where the compiler knows.
    ///
    /// # Errors
    ///
    /// Those of [`Self::time`].
    fn pace(&self) -> Result<Pace, TargetError> {
        Ok(Pace::of(&self.time(&TimeOptions::default())?))
    }

    /// As [`Self::time`], from what the hardware's sampling unit gave; `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no sampling unit; bytes that are not samples of
    /// this program; options as for [`Self::time`].
    fn time_samples(
        &self,
        _name: &str,
        _bytes: &[u8],
        _options: &TimeOptions,
    ) -> Result<TimeReport, TargetError> {
        Err(self.unsupported("time --from-samples"))
    }

    /// Writes what the hardware's sampling unit would give.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no sampling unit; options as for [`Self::time`];
    /// what `out` refuses.
    fn samples(&self, _options: &TimeOptions, _out: &mut dyn Write) -> Result<(), TargetError> {
        Err(self.unsupported("time --samples"))
    }

    /// Tells `recorder` what each unit does when, and gives the cycles of the whole.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no trace; options as for [`Self::time`].
    fn record(&self, _options: &TimeOptions, _recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        Err(self.unsupported("time --trace"))
    }

    /// Who needs which places of each memory when, of a program whose `time` was reported; empty where nobody tells.
    fn memory_maps(&self, _time: &TimeReport) -> Vec<MemoryMap> {
        Vec::new()
    }

    /// What names of traces end in (without the dot) that are in a format of the target's own tools.
    fn own_traces(&self) -> &'static [&'static str] {
        &[]
    }

    /// Writes a trace in the format of the target's own tools whose names end in `extension`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::time`] and [`Self::record`]; [`TargetError::Unsupported`] for an extension that is not one of
    /// [`Self::own_traces`].
    fn trace_as(
        &self,
        _extension: &str,
        _options: &TimeOptions,
        _out: &mut dyn Write,
    ) -> Result<(), TargetError> {
        Err(self.unsupported("time --trace in that format"))
    }

    /// Writes what every part of the machine does in each cycle, as text.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no account by cycles; options as for
    /// [`Self::time`]; what `out` refuses.
    fn cycles(&self, _options: &TimeOptions, _out: &mut dyn Write) -> Result<(), TargetError> {
        Err(self.unsupported("time --cycles"))
    }

    /// What an image of `memory`, its bytes from address 0 on as a board has them after a run, holds: outputs in the
    /// model's shapes with host steps applied, and before them the inputs over which the program does not write (`raw`
    /// of both without host steps).
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target reads no images; [`TargetError::Option`] for a memory in which no
    /// outputs are; an image that ends too early, with the sizes.
    fn read_image(&self, _memory: &str, _image: &[u8]) -> Result<Vec<Output>, TargetError> {
        Err(self.unsupported("diff of an image of memory"))
    }

    /// The instruction that writes an element of an output last; none where that is not known.
    fn writer(&self, _output: &str, _element: usize) -> Option<Writer> {
        None
    }

    /// A sample of input `port` in the model's shape, for one given as rows of vectors.
    ///
    /// None when it is already, or when the artifact does not say how.
    fn to_model(&self, _port: &str, _sample: &Tensor) -> Option<Tensor> {
        None
    }

    /// Reads a text file of the target's own tools as input values; `name` is for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no text form of values; a file that is not in it,
    /// with the place.
    fn read_text(&self, _name: &str, _bytes: &[u8]) -> Result<Tensor, TargetError> {
        Err(self.unsupported("text inputs"))
    }

    /// The error of a part that is not there.
    fn unsupported(&self, verb: &'static str) -> TargetError {
        TargetError::Unsupported { target: self.report().target, verb }
    }
}
