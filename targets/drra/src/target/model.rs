//! [`Compiled`] for a compiled [`Model`]: its verbs.

mod field;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use npukit_numeric::{ElementType, Tensor};
use npukit_target::{
    Activity, ArtifactFile, Compiled, CycleSpan, DriverData, FieldProgram, Finding, HazardMode,
    HostStepReport, HostWork, Inputs, KindTime, Layer, LayerCycles, LayerWork, MachineOptions, MemoryReport,
    Output, Port, PortError, PortPlace, ProgramInfo, ProgramPart, ProgramReport, ProgramWords, RunOptions,
    RunResult, Saturation, Saturations, Stage, TargetError, TimeOptions, TimeReport, Whole, as_element,
};
use npukit_trace::{MemoryMap, Recorder};

use super::machine::ModelMachine;
use super::maps::{Needed, Shown, maps};
use super::meant;
use super::options::chosen;
use super::program::{INSTRUCTIONS, clock};
use super::trace::record;
use crate::check::{ELSEWHERE, findings};
use crate::clock::{Counts, Liveness, ROW_BYTES, no_activity};
use crate::isa::asm::{Listing, disassemble};
use crate::machine::exec::word::{fits, integer};
use crate::program::artifact::Model;
use crate::program::artifact::model::write;
use crate::program::call::Call;
use crate::program::driver::{Runner, SampleRun};
use crate::program::executable::{Executable, Ready, StepCalls};
use crate::program::plan::{Plan, Step, Task, Value};
use crate::target::DrraInstance;
use field::ModelField;

/// Name of the only cost model: the fabric is simulated cycle by cycle.
const MODEL: &str = "fabric";

impl Model {
    /// Returns a value of the plan. Indices from files are checked when they are read.
    fn value(&self, number: usize) -> &Value {
        &self.executable.plan.values[number]
    }

    fn ports(&self, numbers: &[usize]) -> Vec<Port> {
        numbers.iter().map(|&number| port(self.value(number))).collect()
    }

    /// Quantizes the inputs of a sample, and counts the numbers that do not fit.
    fn integers(&self, inputs: &Inputs) -> Result<(Vec<Vec<i16>>, u64), PortError> {
        let (mut all, mut saturated) = (Vec::new(), 0);
        for &number in &self.executable.plan.inputs {
            let value = self.value(number);
            let tensor = as_element(port(value).tensor(inputs)?, ElementType::F32);
            let numbers = tensor
                .as_f32()
                .ok_or_else(|| PortError::Element { name: value.name.clone(), element: ElementType::F32 })?;
            saturated += numbers.iter().filter(|&&x| !fits(x.into(), value.fraction)).count() as u64;
            all.push(numbers.iter().map(|&x| integer(x.into(), value.fraction)).collect());
        }
        Ok((all, saturated))
    }

    /// Returns the inputs of a sample in units of the integers, without rounding.
    fn reals(&self, inputs: &Inputs) -> Result<Vec<Vec<f64>>, PortError> {
        let reals = |&number: &usize| {
            let value = self.value(number);
            let tensor = as_element(port(value).tensor(inputs)?, ElementType::F32);
            let numbers = tensor
                .as_f32()
                .ok_or_else(|| PortError::Element { name: value.name.clone(), element: ElementType::F32 })?;
            let scale = 2f64.powi(value.fraction);
            Ok(numbers.iter().map(|&x| f64::from(x) * scale).collect())
        };
        self.executable.plan.inputs.iter().map(reals).collect()
    }

    fn layers_of(&self) -> impl Iterator<Item = (&Step, u64)> {
        self.executable.plan.steps.iter().zip(self.executable.cycles())
    }

    /// Returns the steps without a call.
    fn host_steps(&self) -> Vec<HostStepReport> {
        let steps = self.executable.plan.steps.iter().zip(&self.executable.calls);
        let own = steps.filter(|(_, calls)| calls.iter().all(Vec::is_empty));
        own.map(|(step, _)| host_step(&self.executable.plan, step)).collect()
    }

    /// Returns the number of elements that each host step makes.
    fn host_elements(&self) -> Vec<Option<u64>> {
        let steps = self.executable.plan.steps.iter().zip(&self.executable.calls);
        let own = steps.filter(|(_, calls)| calls.iter().all(Vec::is_empty));
        own.map(|(step, _)| Some(self.value(step.result).elements() as u64)).collect()
    }

    /// Returns the bytes of the rows with which the driver fills the input buffer, and which it
    /// takes from the output buffer, over all calls.
    fn copied_bytes(&self) -> u64 {
        let rows = self.executable.numbered().map(|(_, _, call)| call.input_rows() + call.output_rows());
        rows.map(|rows| (rows * ROW_BYTES) as u64).sum()
    }

    /// Use of the input and output buffers per call, and of the instruction memories per kernel.
    fn memory(&self) -> BTreeMap<String, MemoryReport> {
        let Executable { fabric, kernels, calls, .. } = &self.executable;
        let calls: Vec<&Call> = calls.iter().flatten().flatten().map(|(call, _)| call).collect();
        let rows = |of: fn(&Call) -> usize, depth: usize| {
            fill(calls.iter().map(|&call| of(call) as u64), depth as u64, "rows of 16 words")
        };
        let cells = kernels.iter().flat_map(|ready| ready.compiled.program.cells.values());
        let words = fabric.cells.iter().map(|cell| cell.iram_words as u64).min();
        let mut all = vec![
            ("input buffer", rows(Call::input_rows, fabric.input_depth)),
            ("output buffer", rows(Call::output_rows, fabric.output_depth)),
        ];
        all.extend(
            words.map(|depth| {
                (INSTRUCTIONS, fill(cells.map(|cell| cell.len() as u64), depth, "instructions"))
            }),
        );
        all.into_iter().map(|(name, report)| (name.to_owned(), report)).collect()
    }

    /// Returns the findings in the kernels, each with the first step that calls the kernel.
    fn findings(&self) -> Result<Vec<Finding>, TargetError> {
        let Executable { fabric, kernels, calls, plan, .. } = &self.executable;
        let uses =
            |number: usize| calls.iter().position(|step| step.iter().flatten().any(|call| call.1 == number));
        let (mut all, mut before) = (Vec::new(), 0);
        for (number, ready) in kernels.iter().enumerate() {
            let step = uses(number).and_then(|step| plan.steps.get(step));
            let found = findings(fabric, &ready.compiled.program, ELSEWHERE).map_err(TargetError::failed)?;
            all.extend(found.into_iter().map(|mut finding| {
                finding.instruction = finding.instruction.map(|index| before + index);
                finding.layer = step.map(|step| step.name.clone());
                finding.message =
                    format!("kernel {number} ({}), {}", ready.kernel.kind.name(), finding.message);
                finding
            }));
            before += ready.compiled.program.instructions();
        }
        Ok(all)
    }

    /// Returns the outputs of a run, and the saturated numbers.
    fn result(&self, ran: &SampleRun, saturated: u64) -> Result<RunResult, TargetError> {
        let mut outputs = Vec::new();
        for &number in &self.executable.plan.outputs {
            let (value, words) = (self.value(number), &ran.values[number]);
            let scale = 2f64.powi(-value.fraction);
            let reals = words.iter().map(|&word| (f64::from(word) * scale) as f32).collect();
            let values = Tensor::from_f32(value.shape.clone(), reals);
            let values = values.map_err(|_| self.info().unsupported("outputs of that shape"))?;
            outputs.push(Output {
                name: value.name.clone(),
                values,
                raw: words.iter().map(|&word| word.into()).collect(),
            });
        }
        let steps = self.executable.plan.steps.iter().zip(&ran.saturations).filter(|(_, count)| **count > 0);
        let layers: Vec<Saturation> =
            steps.map(|(step, &count)| Saturation { layer: step.name.clone(), count }).collect();
        let results = ran.saturations.iter().sum();
        let saturations = Saturations { inputs: saturated, results, layers };
        Ok(RunResult { outputs, saturations, data: Vec::new() })
    }

    /// Formats the plan, one line per step.
    pub fn plan(&self) -> String {
        let calls = self.executable.calls.iter().map(|step| step.iter().flatten().count());
        let line = |((step, cycles), calls): ((&Step, u64), usize)| {
            let Value { shape, fraction, .. } = self.value(step.result);
            format!(
                "{} ({}): {shape:?}, fraction {fraction}, {calls} calls, {cycles} cycles\n",
                step.name, step.op
            )
        };
        self.layers_of().zip(calls).map(line).collect()
    }

    /// Formats the instructions of each kernel, with the steps that call it.
    pub fn assembly(&self) -> String {
        let Executable { fabric, kernels, .. } = &self.executable;
        let kernels = kernels.iter().enumerate().map(|(number, ready)| {
            let (name, cycles) = (ready.kernel.kind.name(), ready.cycles());
            let callers = self.callers(number).join(", ");
            let listed = disassemble(fabric, &ready.compiled.program, Listing::Named);
            format!("# kernel {number}, {name}: {cycles} cycles; {callers}\n{}", listed.text())
        });
        kernels.collect()
    }

    /// Describes how often each step calls a kernel.
    fn callers(&self, kernel: usize) -> Vec<String> {
        let steps = self.executable.plan.steps.iter().zip(&self.executable.calls);
        let count = |calls: &StepCalls| calls.iter().flatten().filter(|call| call.1 == kernel).count();
        let counted = steps.map(|(step, calls)| (step, count(calls))).filter(|(_, count)| *count > 0);
        let text = |(step, count): (&Step, usize)| match count {
            1 => format!("1 call of `{}`", step.name),
            _ => format!("{count} calls of `{}`", step.name),
        };
        counted.map(text).collect()
    }
}

/// Describes a step of the driver for reports.
pub(super) fn host_step(plan: &Plan, step: &Step) -> HostStepReport {
    HostStepReport {
        node: step.name.clone(),
        op: step.op.clone(),
        // The index of the result is checked when a file is read, so it is valid here.
        output: plan.values[step.result].name.clone(),
        reason: reason(step),
    }
}

/// Returns the reason why the driver executes a step.
fn reason(step: &Step) -> String {
    let shift = step.tasks.iter().find_map(|task| match task {
        Task::Move { shift, .. } if *shift != 0 => Some(*shift),
        _ => None,
    });
    match shift {
        Some(places) => format!("the driver multiplies by 2^{}, for which the dpu has no mode", -places),
        None => "the driver copies elements between calls".to_owned(),
    }
}

/// Report of a memory that is refilled in each call.
fn fill(used: impl Iterator<Item = u64>, depth: u64, unit: &str) -> MemoryReport {
    let (maximum, aggregate) = used.fold((0, 0), |(most, all): (u64, u64), one| (most.max(one), all + one));
    MemoryReport { maximum, aggregate, depth, unit: unit.to_owned() }
}

fn port(value: &Value) -> Port {
    Port { name: value.name.clone(), shape: value.shape.clone(), vectors: None, element: None }
}

/// Returns the driver's data of a run: the words of its inputs and outputs.
fn data(inputs: &[Vec<i16>], outputs: &[Output]) -> Vec<DriverData> {
    let data = |place, bytes| DriverData { place, extension: "bin", bytes, is_before_host: false };
    let given = inputs.iter().map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect());
    let given = given.enumerate().map(|(place, bytes)| data(PortPlace::Input(place), bytes));
    // Words have 16 bits, although a wider integer type holds them.
    let words = |output: &Output| output.raw.iter().flat_map(|&word| (word as i16).to_le_bytes()).collect();
    let made = outputs.iter().map(words);
    let made = made.enumerate().map(|(place, bytes)| data(PortPlace::Output(place), bytes));
    given.chain(made).collect()
}

impl Model {
    fn made_info(&self) -> ProgramInfo {
        let plan = &self.executable.plan;
        let report = ProgramReport {
            name: self.name.clone(),
            target: self.target.clone(),
            instructions: self
                .executable
                .kernels
                .iter()
                .map(|ready| ready.compiled.program.instructions())
                .sum(),
            macs: Some(self.macs),
            memory: self.memory(),
            host_steps: self.host_steps(),
            layers: plan.steps.iter().map(|step| step.name.clone()).collect(),
            choices: BTreeMap::new(),
            saturated_constants: plan.saturated_constants,
            warnings: self.executable.fabric.unreleased().into_iter().collect(),
        };
        let results = |step: &Step| vec![self.value(step.result).name.clone()];
        let layer = |step: &Step| Layer { name: step.name.clone(), results: results(step) };
        ProgramInfo {
            layers: plan.steps.iter().map(layer).collect(),
            reading: self.reading.clone(),
            host: HostWork { elements: self.host_elements(), copied_bytes: Some(self.copied_bytes()) },
            ..ProgramInfo::new(report, self.ports(&plan.inputs), self.ports(&plan.outputs))
        }
    }
}

impl Compiled for Model {
    fn info(&self) -> &ProgramInfo {
        self.info.get_or_init(|| self.made_info())
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        write(self)
    }

    fn words(&self) -> Result<ProgramWords, TargetError> {
        let Executable { fabric, kernels, .. } = &self.executable;
        // Default: a target name without `drra:` is the fabric's name.
        let name = self.target.strip_prefix("drra:").unwrap_or(&self.target).to_owned();
        let instance = Box::new(DrraInstance::new(&name, fabric.clone(), Vec::new()));
        let part = |(number, ready): (usize, &Ready)| {
            let bytes = instance.words(&ready.compiled.program)?;
            let (kind, callers) = (ready.kernel.kind.name(), self.callers(number).join(", "));
            let name = format!("kernel {number}, {kind}: {callers}");
            Ok(ProgramPart { name, bytes, layers: Vec::new() })
        };
        let parts = kernels.iter().enumerate().map(part).collect::<Result<_, TargetError>>()?;
        Ok(ProgramWords { instance, parts })
    }

    fn run_with(&self, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, TargetError> {
        let revision = meant(self.executable.fabric.options.revision, options.meaning, || self.findings())?;
        let (integers, saturated) = self.integers(inputs).map_err(TargetError::failed)?;
        let runner = Runner::new(&self.executable, revision, options.unset);
        options.repeat(|| {
            let result = self.result(&runner.run(&integers).map_err(TargetError::failed)?, saturated)?;
            let data = if options.driver_data { data(&integers, &result.outputs) } else { Vec::new() };
            Ok(RunResult { data, ..result })
        })
    }

    fn machine(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<Box<dyn npukit_target::Machine>, TargetError> {
        let revision = self.executable.fabric.options.revision;
        let revision = meant(revision, options.meaning, || self.findings())?;
        let (integers, _) = self.integers(inputs).map_err(TargetError::failed)?;
        let machine = ModelMachine::new(self, revision, integers)?;
        Ok(Box::new(match options.graph {
            Some(_) => machine.beside(self.reals(inputs).map_err(TargetError::failed)?)?,
            None => machine,
        }))
    }

    fn in_field(&self) -> Result<Box<dyn FieldProgram + '_>, TargetError> {
        let revision = self.executable.fabric.options.revision;
        let revision = meant(revision, HazardMode::Agreed, || self.findings())?;
        Ok(Box::new(ModelField::new(self, revision)))
    }

    fn lint(&self) -> Result<Vec<Finding>, TargetError> {
        self.findings()
    }

    fn record(&self, options: &TimeOptions, recorder: &mut Recorder<'_>) -> Result<u64, TargetError> {
        chosen(Stage::Time, &options.options)?;
        record(&self.executable, recorder)
    }

    fn memory_maps(&self, _time: &TimeReport) -> Vec<MemoryMap> {
        let (executable, mut now) = (&self.executable, 0);
        let Some(needed) = self.needed() else { return Vec::new() };
        let calls = executable.numbered().map(|(layer, kernel, _)| {
            let (start, cycles) = (now, executable.kernels[kernel].cycles());
            now += cycles;
            Shown { kernel, layer: Some(layer), start, cycles }
        });
        let total = executable.cycles().iter().sum();
        maps(&executable.fabric, total, &needed, calls)
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        let (clock_mhz, clock_source) = clock(&self.executable.fabric, options)?.unzip();
        let columns = self.executable.columns.len().max(1) as u64;
        let works: Vec<u64> = self
            .executable
            .plan
            .steps
            .iter()
            .map(|step| step.tasks.iter().map(|task| task.work()).sum())
            .collect();
        let (total, work): (u64, u64) = (self.executable.cycles().iter().sum(), works.iter().sum());
        let whole = Whole { cycles: total, multipliers: columns };
        let mut start = 0;
        let layers = self.layers_of().zip(&works).map(|((step, cycles), &macs)| {
            let span = CycleSpan::of(start, cycles);
            start += cycles;
            let time = LayerCycles { cycles, span, ..LayerCycles::default() };
            whole.layer(&LayerWork { name: &step.name, macs }, &time)
        });
        let counts = options.counts_activity.then(|| self.activity()).transpose()?;
        let time = TimeReport {
            cycles: BTreeMap::from([(MODEL.to_owned(), total)]),
            clock: MODEL.to_owned(),
            assumptions: self.assumptions(),
            notes: vec![
                "MACs of a layer are the words that dpus process, also for padding, sums and activations"
                    .to_owned(),
            ],
            milliseconds: clock_mhz.map(|mhz| total as f64 / (mhz * 1e3)),
            clock_mhz,
            clock_source,
            macs_computed: Some(work),
            utilization: Some(whole.utilization(work, total)),
            array_busy: whole.utilization(work, total),
            roofline: whole.roofline(work, 0, total),
            layers: layers.collect(),
            kinds: self.kinds(whole),
            ..TimeReport::default()
        };
        Ok(time.with_activity(counts))
    }
}

impl Model {
    /// Returns the memory lifetimes of each kernel in a run of its first call; `None` if a kernel
    /// faults.
    fn needed(&self) -> Option<BTreeMap<usize, Needed>> {
        let mut kernels = BTreeMap::new();
        for (_, kernel, call) in self.executable.numbered() {
            if let Entry::Vacant(entry) = kernels.entry(kernel) {
                let mut lives = Liveness::default();
                self.executable.watch(kernel, call, &mut lives).ok()?;
                entry.insert(lives.finish(self.executable.kernels[kernel].cycles(), call.output_lines()));
            }
        }
        Some(kernels)
    }

    /// Runs each kernel once, and counts the work of all calls.
    ///
    /// Errors: a fault of a kernel.
    fn activity(&self) -> Result<Activity, TargetError> {
        let Executable { fabric, plan, .. } = &self.executable;
        let mut kernels: BTreeMap<usize, Counts<'_>> = BTreeMap::new();
        let mut activity = no_activity(fabric, plan.steps.len());
        for (step, kernel, call) in self.executable.numbered() {
            let counts = match kernels.entry(kernel) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let mut counts = Counts::new(fabric);
                    self.executable.watch(kernel, call, &mut counts).map_err(TargetError::failed)?;
                    entry.insert(counts)
                }
            };
            activity.add(step, counts.macs(), &counts.bytes());
        }
        Ok(activity)
    }

    /// Returns the assumptions on which the cycles in a report rest.
    fn assumptions(&self) -> Vec<String> {
        let skew = self.executable.fabric.options.call_skew;
        let columns = format!(
            "a column starts {skew} cycle after the previous one, and its end arrives with the same delay"
        );
        let buffers = "buffers are filled and read between calls, which takes no cycles".to_owned();
        let is_late = skew > 0 && self.executable.columns.len() > 1;
        std::iter::once(buffers).chain(is_late.then_some(columns)).collect()
    }

    /// Distribution of time over kernels.
    fn kinds(&self, whole: Whole) -> Vec<KindTime> {
        let mut calls = vec![0_u64; self.executable.kernels.len()];
        for (_, number) in self.executable.calls.iter().flatten().flatten() {
            calls[*number] += 1;
        }
        let kernels = self.executable.kernels.iter().zip(calls);
        let kind = |(ready, calls): (&Ready, u64)| {
            let instructions = ready.compiled.program.instructions();
            whole.kind(&ready.kernel.kind.name(), instructions, calls, calls * ready.cycles())
        };
        kernels.map(kind).collect()
    }
}
