//! Runs a program with its host's part: [`run`] once, on a machine after its reset; a [`Session`]
//! any number of times, on any machine. The machine executes instructions, and the host the steps
//! in between.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use npukit_graph::op::Window;
use npukit_graph::quantize::rows::RowsError;
use npukit_graph::{EvalError, ValueId};
use npukit_numeric::Tensor;
use npukit_target::Phase;
use npukit_target::sim::Fault;
use thiserror::Error;

use crate::config::{Config, WORD_LANES};
use crate::isa::fault::{Direction, FaultKind};
use crate::isa::op::Banks;
use crate::machine::arith::{Arithmetic, Bits, Rows};
use crate::machine::state::MachineError;
use crate::machine::weights::WeightError;
use crate::machine::{AccessError, Machine};
use crate::program::Program;
use crate::program::host::{Cache, CacheForm, Host, HostStep, StepError, Tokens, lay_out};

/// Reason why a program did not finish.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// An instance that cannot be simulated.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A window that MEMCPY does not support.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// An instruction faulted.
    #[error(transparent)]
    Fault(#[from] Fault<FaultKind>),
    /// An invalid host operation.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A slot is used before it is filled.
    #[error("host operation {index} uses slot `{slot}`, which no earlier step fills")]
    Empty {
        /// Index of the host operation.
        index: usize,
        /// Name of the slot.
        slot: String,
    },
    /// A range exceeds its window.
    #[error("host operation {index}: {bytes} bytes at unit {unit} end beyond window {window} {direction}")]
    Window {
        /// Index of the host operation.
        index: usize,
        /// Number of the window.
        window: u32,
        /// Direction of the window.
        direction: Direction,
        /// First unit of 16 bytes.
        unit: u32,
        /// Number of bytes that the operation accesses.
        bytes: usize,
    },
    /// A slot has the wrong type or shape for the step.
    #[error("host operation {index}: slot `{slot}` is {found}; the step needs {legal}")]
    Slot {
        /// Index of the host operation.
        index: usize,
        /// Name of the slot.
        slot: String,
        /// Type and shape of the slot.
        found: String,
        /// Type and shape that the step needs.
        legal: String,
    },
    /// Keys or values that cannot be quantized to weights.
    #[error("host operation {index}: slot `{slot}`: {error}")]
    Rows {
        /// Index of the host operation.
        index: usize,
        /// Name of the slot.
        slot: String,
        /// Reason why the quantization fails.
        error: RowsError,
    },
    /// Weights of an unsupported size.
    #[error("host operation {index}: {error}")]
    Weights {
        /// Index of the host operation.
        index: usize,
        /// Reason why the size is unsupported.
        error: WeightError,
    },
    /// A node that the host cannot compute.
    #[error("the host cannot compute node `{node}`: {error}")]
    Node {
        /// Name of the node in the host's graph.
        node: String,
        /// Reason why the node fails.
        error: String,
    },
    /// Weights that cannot be stored in L2.
    #[error("host operation {index}: image {number} does not have 4-bit weights, which L2 needs")]
    Unpacked {
        /// Index of the host operation.
        index: usize,
        /// Index of the image.
        number: u32,
    },
    /// A cache without vectors, or with another form.
    #[error("host operation {index}: cache {cache} {found}; the step needs {legal}")]
    Cache {
        /// Index of the host operation.
        index: usize,
        /// Index of the cache.
        cache: u32,
        /// Content of the cache.
        found: String,
        /// Content that the step needs.
        legal: String,
    },
    /// Inputs that do not match the program.
    #[error(transparent)]
    Inputs(#[from] EvalError),
}

/// Next event of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The host operation with this index.
    Host(usize),
    /// The instruction with this index.
    Instruction(usize),
}

/// Callback before each event of a run.
pub(crate) type Observer<'o, A> = dyn FnMut(&Session<'_, A>, Moment) + 'o;

/// Values of the host by slot.
type Slots<A> = BTreeMap<ValueId, <A as Arithmetic>::Slot>;

/// Runs `program` on `inputs`, in the order of the host's inputs; returns the outputs in the host's
/// order.
///
/// # Errors
/// [`RunError::Machine`] if the simulator does not support so large an L2; the errors of
/// [`Session::new`] and [`Session::run`].
pub fn run(
    config: &Config,
    program: &Program,
    host: &Host,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, RunError> {
    Session::new(&mut Machine::new(config)?, program, host)?.run(inputs)
}

/// Keys and values of earlier tokens, by number.
type Caches = BTreeMap<u32, Cache>;

/// A program on a machine with its host, for any number of runs. Between two runs, memories and
/// caches keep the content that the program has written.
pub struct Session<'a, A: Arithmetic = Bits> {
    program: &'a Program,
    host: &'a Host,
    machine: &'a mut Machine<A>,
    slots: Slots<A>,
    /// Weights that the host has made.
    images: BTreeMap<u32, Arc<A::Image>>,
    /// Weights of the program that a run has used so far.
    known: BTreeMap<u32, Arc<A::Image>>,
    caches: Caches,
    /// Number of issued products with streamed weights.
    products: usize,
    /// Constant banks after the issued instructions.
    banks: Banks,
}

/// State of a session outside its machine, between two events.
#[derive(Clone)]
pub(crate) struct SessionState<A: Arithmetic = Bits> {
    slots: Slots<A>,
    images: BTreeMap<u32, Arc<A::Image>>,
    known: BTreeMap<u32, Arc<A::Image>>,
    caches: Caches,
    products: usize,
    banks: Banks,
}

impl<A: Arithmetic> Default for SessionState<A> {
    fn default() -> Self {
        let (slots, images, known) = (Slots::<A>::new(), BTreeMap::new(), BTreeMap::new());
        Self { slots, images, known, caches: Caches::new(), products: 0, banks: Banks::default() }
    }
}

impl<A: Arithmetic> SessionState<A> {
    /// Moves the caches of another state to this one.
    pub(crate) fn take_caches(&mut self, other: &mut Self) {
        self.caches = std::mem::take(&mut other.caches);
    }

    /// Shortens the caches to the first `count` tokens, and returns whether they have all of them.
    pub(crate) fn keep(&mut self, count: usize) -> bool {
        !self.caches.is_empty() && self.caches.values_mut().all(|cache| cache.truncate(count))
    }

    /// Returns the caches, for [`Self::restored`].
    pub(crate) fn saved(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, cache) in &self.caches {
            bytes.extend(number.to_le_bytes());
            cache.save(&mut bytes);
        }
        bytes
    }

    /// Returns a state with saved caches; `None` if they are damaged, or not of `count` tokens.
    pub(crate) fn restored(bytes: &[u8], count: usize) -> Option<Self> {
        let (mut bytes, mut caches) = (bytes, Caches::new());
        while let Some((number, rest)) = bytes.split_first_chunk() {
            bytes = rest;
            let cache = Cache::restored(&mut bytes, count)?;
            caches.insert(u32::from_le_bytes(*number), cache);
        }
        bytes.is_empty().then(|| Self { caches, ..Self::default() })
    }

    /// Whether there are no cached tokens.
    pub(crate) fn is_empty(&self) -> bool {
        self.caches.is_empty()
    }

    /// Replaces the program's images by the given images.
    pub(crate) fn knowing(self, known: BTreeMap<u32, Arc<A::Image>>) -> Self {
        Self { known, ..self }
    }
}

impl Session<'_> {
    /// Runs the program on `inputs`, in the order of the host's inputs; returns the outputs in the
    /// host's order.
    ///
    /// # Errors
    /// [`RunError::Inputs`] for inputs that do not match; [`RunError::Fault`] if an instruction
    /// faults; [`RunError::Step`], [`RunError::Node`] and others if a host operation cannot be
    /// executed: a slot without a value, a missing window or missing rows.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, RunError> {
        npukit_graph::eval::check_inputs(&self.host.graph, inputs)?;
        let inputs = inputs.iter().map(|tensor| Arc::new(tensor.clone())).collect();
        let outputs = self.run_slots(inputs, &mut |_, _| ())?;
        Ok(outputs.into_iter().map(Arc::unwrap_or_clone).collect())
    }
}

impl<'a, A: Arithmetic> Session<'a, A> {
    /// Opens the program's windows. The machine's memories keep their content.
    ///
    /// # Errors
    /// [`RunError::Access`] if MEMCPY does not support the size of a window.
    pub fn new(machine: &'a mut Machine<A>, program: &'a Program, host: &'a Host) -> Result<Self, RunError> {
        machine.unbind();
        for window in &program.windows {
            let bytes = usize::try_from(window.size_bytes).unwrap_or(usize::MAX).min(1 << 21);
            machine.open_window(window.direction, window.number, bytes)?;
        }
        let (slots, images, known) = (Slots::<A>::new(), BTreeMap::new(), BTreeMap::new());
        let (caches, banks) = (Caches::new(), Banks::default());
        Ok(Self { program, host, machine, slots, images, known, caches, products: 0, banks })
    }

    /// Runs the program like [`Session::run`], on values of the arithmetic. `observe` is called
    /// before each host operation and instruction.
    pub(crate) fn run_slots(
        &mut self,
        inputs: Vec<A::Slot>,
        observe: &mut Observer<'_, A>,
    ) -> Result<Vec<A::Slot>, RunError> {
        self.begin(inputs);
        let phase = Phase::detail("run instructions", self.program.code.len());
        let mut index = 0;
        for (before, range) in self.program.segments() {
            let (end, hosts) = (range.end, index..index + before.len());
            index = hosts.end;
            for moment in hosts.map(Moment::Host).chain(range.map(Moment::Instruction)) {
                observe(self, moment);
                self.happen(moment)?;
            }
            phase.reach(end);
        }
        // Weights that the host has made can be as large as the caches.
        self.images.clear();
        let output = |&id: &ValueId| self.slot(index, id);
        self.host.graph.outputs.iter().map(output).collect()
    }

    /// Resets the host to its inputs, and the queue of weights to its start.
    pub(crate) fn begin(&mut self, inputs: Vec<A::Slot>) {
        self.machine.unbind_weights();
        self.slots = self.host.graph.inputs.iter().copied().zip(inputs).collect();
        self.images.clear();
        (self.products, self.banks) = (0, Banks::default());
    }

    /// Executes an instruction; for a product, binds its weights before.
    fn instruction(&mut self, index: usize) -> Result<(), RunError> {
        let Some(op) = self.program.code.get(index) else { return Ok(()) };
        self.banks.step(op);
        if op.takes_weights(&self.banks) {
            // Without weights, the instruction itself reports the fault `FaultKind::NoWeight`.
            if let Some(&number) = self.program.bindings.get(self.products)
                && let Some(image) = self.find_image(number)
            {
                self.machine.bind_weights(image);
            }
            self.products += 1;
        }
        self.machine.step(op).map_err(|kind| Fault { instruction: index, kind }.into())
    }

    /// Executes one event of a run.
    pub(crate) fn happen(&mut self, moment: Moment) -> Result<(), RunError> {
        match moment {
            Moment::Instruction(index) => self.instruction(index),
            Moment::Host(index) => match self.program.host_ops.get(index) {
                Some(op) => self.step(index, &HostStep::decode(index, op)?),
                None => Ok(()),
            },
        }
    }

    /// Returns the state outside the machine, for [`Session::resume`].
    pub(crate) fn pause(self) -> SessionState<A> {
        let Self { slots, images, known, caches, products, banks, .. } = self;
        SessionState { slots, images, known, caches, products, banks }
    }

    /// Continues with a saved state, on a machine with open windows.
    pub(crate) fn resume(
        machine: &'a mut Machine<A>,
        program: &'a Program,
        host: &'a Host,
        kept: SessionState<A>,
    ) -> Self {
        let SessionState { slots, images, known, caches, products, banks } = kept;
        Self { program, host, machine, slots, images, known, caches, products, banks }
    }

    /// Returns the weights of an image, made by the host or from the program.
    fn find_image(&mut self, number: u32) -> Option<Arc<A::Image>> {
        if let Some(image) = self.images.get(&number).or(self.known.get(&number)) {
            return Some(Arc::clone(image));
        }
        let image = A::image(self.program.images.get(number as usize)?);
        self.known.insert(number, Arc::clone(&image));
        Some(image)
    }

    /// Returns the machine, between two events.
    pub(crate) fn machine(&self) -> &Machine<A> {
        self.machine
    }

    /// Returns the value of a slot or constant.
    pub(crate) fn held(&self, id: ValueId) -> Option<A::Slot> {
        let constant = || self.host.graph.values.get(id.0 as usize)?.constant.as_ref().map(A::constant);
        self.slots.get(&id).cloned().or_else(constant)
    }

    fn name(&self, id: ValueId) -> String {
        self.host.graph.values.get(id.0 as usize).map_or_else(|| id.0.to_string(), |value| value.name.clone())
    }

    fn slot(&self, index: usize, id: ValueId) -> Result<A::Slot, RunError> {
        let count = self.host.graph.values.len();
        let value = self.host.graph.values.get(id.0 as usize);
        let value = value.ok_or(StepError::Missing { index, what: "slot", number: id.0, count })?;
        self.held(id).ok_or_else(|| RunError::Empty { index, slot: value.name.clone() })
    }

    fn wrong(&self, index: usize, id: ValueId, slot: &A::Slot, legal: &str) -> RunError {
        let found = A::described(slot);
        RunError::Slot { index, slot: self.name(id), found, legal: legal.to_owned() }
    }

    fn step(&mut self, index: usize, step: &HostStep) -> Result<(), RunError> {
        match step {
            &HostStep::Receive { slot, window, unit } => self.receive(index, slot, window, unit),
            &HostStep::Send { slot, window, unit } => self.send(index, slot, None, window, unit),
            &HostStep::Part { slot, start, values, window, unit } => {
                let start = start as usize;
                self.send(index, slot, Some(start..start + values as usize), window, unit)
            }
            HostStep::Patches { slot, patches, window } => self.patches(index, *slot, *patches, window),
            &HostStep::Compute { node } => self.compute(index, node),
            // A wait has no effect because the machine executes instructions sequentially.
            HostStep::Wait => Ok(()),
            &HostStep::Weigh { slot, start, scales } => self.weigh(index, slot, start, scales),
            &HostStep::Scales { slot, start, image } => self.scales(index, slot, start, image),
            &HostStep::Weights { image, window, unit } => self.bring(index, image, window, unit),
            &HostStep::Squares { slot, row, centered, sums } => {
                self.squares(index, slot, [row, centered.into()], sums)
            }
            &HostStep::Append { slot, row, cache, vectors, form } => {
                self.append(index, slot, row as usize, cache..cache.saturating_add(vectors), form)
            }
            &HostStep::Cached { cache, part, image, factor } => {
                let made = self.cache(index, cache)?.image(part as usize, factor);
                let made = made.map_err(|error| RunError::Weights { index, error })?;
                self.images.insert(image, A::image(&Arc::new(made)));
                Ok(())
            }
            &HostStep::CachedScales { cache, slot } => self.cached_scales(index, cache, slot),
            HostStep::Keys { slot, matrix, image, factor, tokens } => {
                let (keys, features) = self.rows(index, *slot, *matrix, tokens, Axis::Columns)?;
                let factor = A::of_f32(*factor);
                let scales: Vec<A::Real> = keys.scales.iter().map(|&scale| scale * factor).collect();
                self.bind(index, *image, [scales.len(), features], &keys.codes, Some(scales))
            }
            HostStep::Values { slot, matrix, image, scales, tokens } => {
                let (values, features) = self.rows(index, *slot, *matrix, tokens, Axis::Rows)?;
                let by_feature = |i| values.codes.iter().skip(i).step_by(features).copied();
                let codes: Vec<A::Code> = (0..features).flat_map(by_feature).collect();
                let count = values.scales.len();
                self.fill(index, *scales, values.scales)?;
                self.bind(index, *image, [features, count], &codes, None)
            }
        }
    }

    fn receive(&mut self, index: usize, slot: ValueId, window: u32, unit: u32) -> Result<(), RunError> {
        let info = self.host.graph.values.get(slot.0 as usize).map(|value| value.info.shape.iter().product());
        let count = self.host.graph.values.len();
        let values: usize = info.ok_or(StepError::Missing { index, what: "slot", number: slot.0, count })?;
        let beyond = self.beyond(index, Direction::L2ToHost, window, unit, values);
        let content = self.machine.host_window(Direction::L2ToHost, window);
        let scalars = content.and_then(|content| A::load(content, place(unit, values)));
        let values = scalars.ok_or(beyond)?.map(A::value).collect();
        self.fill(index, slot, values)
    }

    /// Fills a slot of floats; the number of values must match the slot.
    fn fill(&mut self, index: usize, slot: ValueId, values: Vec<A::Real>) -> Result<(), RunError> {
        let value = self.host.graph.values.get(slot.0 as usize);
        let (number, count) = (slot.0, self.host.graph.values.len());
        let info = &value.ok_or(StepError::Missing { index, what: "slot", number, count })?.info;
        let found = values.len();
        let filled = A::filled(info, values).ok_or_else(|| RunError::Slot {
            index,
            slot: self.name(slot),
            found: format!("{:?} {}", info.shape, info.element.name()),
            legal: format!("{found} floats"),
        })?;
        self.slots.insert(slot, filled);
        Ok(())
    }

    /// Writes some or all values of a slot to a window.
    fn send(
        &mut self,
        index: usize,
        slot: ValueId,
        part: Option<Range<usize>>,
        window: u32,
        unit: u32,
    ) -> Result<(), RunError> {
        let held = self.slot(index, slot)?;
        let count = A::shape(&held).iter().product();
        // Default: without a part, all values are sent.
        let part = part.unwrap_or(0..count);
        if part.end > count {
            return Err(self.wrong(index, slot, &held, "more elements"));
        }
        let values = A::sent(&held).ok_or_else(|| self.wrong(index, slot, &held, "floats"))?;
        self.save(index, window, unit, part.len(), values.skip(part.start))
    }

    /// Writes scalars to a window, from which MEMCPY reads them.
    fn save(
        &mut self,
        index: usize,
        window: u32,
        unit: u32,
        count: usize,
        scalars: impl Iterator<Item = A::Scalar>,
    ) -> Result<(), RunError> {
        let beyond = self.beyond(index, Direction::HostToL2, window, unit, count);
        let content = self.machine.host_window(Direction::HostToL2, window);
        content.and_then(|content| A::save(content, place(unit, count), scalars)).ok_or(beyond)
    }

    /// Returns the error for a range of scalars that exceeds its window.
    fn beyond(&self, index: usize, direction: Direction, window: u32, unit: u32, scalars: usize) -> RunError {
        RunError::Window { index, window, direction, unit, bytes: 2 * scalars }
    }

    fn compute(&mut self, index: usize, number: u32) -> Result<(), RunError> {
        let count = self.host.graph.nodes.len();
        let node = self.host.graph.nodes.get(number as usize);
        let node = node.ok_or(StepError::Missing { index, what: "node", number, count })?;
        let operands =
            node.inputs.iter().map(|&id| self.slot(index, id)).collect::<Result<Vec<_>, RunError>>()?;
        let results = A::computed(&self.host.graph, node, &operands)
            .map_err(|error| RunError::Node { node: node.name.clone(), error: error.to_string() })?;
        self.slots.extend(node.outputs.iter().copied().zip(results));
        Ok(())
    }

    fn weigh(&mut self, index: usize, slot: ValueId, start: u32, scales: ValueId) -> Result<(), RunError> {
        let (tensor, held) = (self.slot(index, slot)?, self.slot(index, scales)?);
        let scales = A::floats(&held).ok_or_else(|| self.wrong(index, scales, &held, "floats"))?;
        if A::sent(&tensor).is_none() {
            return Err(self.wrong(index, slot, &tensor, "floats"));
        }
        let start = start as usize;
        let part = start..start.saturating_add(scales.len());
        if part.end > A::shape(&tensor).iter().product() {
            return Err(self.wrong(index, slot, &tensor, "more elements"));
        }
        // Removing the slot's reference lets the values change in place, without a copy.
        self.slots.remove(&slot);
        let values = A::into_floats(tensor);
        let mut values = values.map_err(|tensor| self.wrong(index, slot, &tensor, "floats"))?;
        values[part].iter_mut().zip(&scales[..]).for_each(|(value, &scale)| *value = *value * scale);
        self.fill(index, slot, values)
    }

    /// Fills a slot with the sum of squares of each row, repeated eight times; subtracts the row's
    /// mean first if `centered` is 1.
    fn squares(
        &mut self,
        index: usize,
        slot: ValueId,
        [row, centered]: [u32; 2],
        sums: ValueId,
    ) -> Result<(), RunError> {
        let tensor = self.slot(index, slot)?;
        let values = A::floats(&tensor).ok_or_else(|| self.wrong(index, slot, &tensor, "floats"))?;
        let of_row = |values: &[A::Real]| {
            let sum: A::Real = values.iter().copied().sum();
            let mean = if centered == 1 { A::share(sum, values.len()) } else { A::Real::default() };
            let square = |&value: &A::Real| (value - mean) * (value - mean);
            [values.iter().map(square).sum::<A::Real>(); WORD_LANES]
        };
        let all = values.chunks(row.max(1) as usize).flat_map(of_row).collect();
        self.fill(index, sums, all)
    }

    /// Fills a slot with the patches of the images in another slot.
    fn patches(
        &mut self,
        index: usize,
        slot: ValueId,
        patches: ValueId,
        window: &Window,
    ) -> Result<(), RunError> {
        let tensor = self.slot(index, slot)?;
        let wrong = |legal: &str| self.wrong(index, slot, &tensor, legal);
        let &[n, h, w, c] = A::shape(&tensor) else { return Err(wrong("images")) };
        let values = A::floats(&tensor).ok_or_else(|| wrong("floats"))?;
        let shape = self.host.graph.values.get(patches.0 as usize).map(|value| &value.info.shape[..]);
        let Some(&[_, row]) = shape else { return Err(wrong("images, whose patches have rows")) };
        let laid_out = lay_out(&values, [n, h, w, c], window, row);
        let laid_out = laid_out.ok_or_else(|| wrong("images in which its windows have places"))?;
        self.fill(index, patches, laid_out)
    }

    /// Returns the weights of an image, made by the host or from the program.
    fn image(&mut self, index: usize, number: u32) -> Result<Arc<A::Image>, RunError> {
        let count = self.program.images.len();
        let missing = StepError::Missing { index, what: "image", number, count };
        Ok(self.find_image(number).ok_or(missing)?)
    }

    /// Sets the scales of an image's rows from elements of a slot, starting at `start`.
    fn scales(&mut self, index: usize, slot: ValueId, start: u32, number: u32) -> Result<(), RunError> {
        let (tensor, image) = (self.slot(index, slot)?, self.image(index, number)?);
        let values = A::floats(&tensor).ok_or_else(|| self.wrong(index, slot, &tensor, "floats"))?;
        let scales = values.get(start as usize..).and_then(|rest| rest.get(..A::size(&image)[0]));
        let scales = scales.ok_or_else(|| self.wrong(index, slot, &tensor, "more elements"))?.to_vec();
        self.images.insert(number, Arc::new(A::with_scales(&image, scales)));
        Ok(())
    }

    /// Writes rows and scales of an image to a window.
    fn bring(&mut self, index: usize, number: u32, window: u32, unit: u32) -> Result<(), RunError> {
        let image = self.image(index, number)?;
        let lanes = A::lanes(&image).ok_or(RunError::Unpacked { index, number })?;
        self.save(index, window, unit, lanes.len(), lanes.iter().copied())
    }

    /// Quantizes the vectors of `tokens` in a matrix of a slot, one row per vector; also returns
    /// the number of features.
    fn rows(
        &self,
        index: usize,
        slot: ValueId,
        matrix: u32,
        tokens: &Tokens,
        axis: Axis,
    ) -> Result<(Rows<A>, usize), RunError> {
        let tensor = self.slot(index, slot)?;
        let wrong = |legal: &str| self.wrong(index, slot, &tensor, legal);
        let &[.., rows, columns] = A::shape(&tensor) else { return Err(wrong("matrices")) };
        let all = A::floats(&tensor).ok_or_else(|| wrong("floats"))?;
        let start = (matrix as usize).checked_mul(rows * columns);
        let values = start.and_then(|start| all.get(start..)?.get(..rows * columns));
        let values = values.filter(|values| !values.is_empty()).ok_or_else(|| wrong("more matrices"))?;
        let (there, features) = match axis {
            Axis::Rows => (rows, columns),
            Axis::Columns => (columns, rows),
        };
        let taken: usize = tokens.iter().map(|run| run.len()).fold(0, usize::saturating_add);
        if taken > there || tokens.iter().any(|run| run.end as usize > there) {
            return Err(wrong("more tokens"));
        }
        let vector = |token: usize| {
            let (first, step) = match axis {
                Axis::Rows => (token * columns, 1),
                Axis::Columns => (token, columns),
            };
            values.iter().skip(first).step_by(step).take(features).copied()
        };
        let tokens = tokens.iter().flat_map(|run| run.start as usize..run.end as usize);
        let taken: Vec<A::Real> = tokens.flat_map(vector).collect();
        let named = |error| RunError::Rows { index, slot: self.name(slot), error };
        let rows = A::quantized(taken.len() / features, features, &taken).map_err(named)?;
        Ok((rows, features))
    }

    fn cache(&self, index: usize, cache: u32) -> Result<&Cache, RunError> {
        let empty =
            || ("is empty".to_owned(), "earlier tokens: run the programs of the text in order".to_owned());
        self.caches.get(&cache).ok_or_else(|| {
            let (found, legal) = empty();
            RunError::Cache { index, cache, found, legal }
        })
    }

    /// Appends the vectors of a row of a slot to caches.
    fn append(
        &mut self,
        index: usize,
        slot: ValueId,
        row: usize,
        caches: Range<u32>,
        form: CacheForm,
    ) -> Result<(), RunError> {
        let tensor = self.slot(index, slot)?;
        let wrong = |legal: &str| self.wrong(index, slot, &tensor, legal);
        let (&[rows, columns], vectors) = (A::shape(&tensor), caches.len()) else {
            return Err(wrong("rows of vectors"));
        };
        if row >= rows || vectors == 0 || !columns.is_multiple_of(vectors) || columns == 0 {
            return Err(wrong(&format!("row {row} with {vectors} vectors")));
        }
        let values = A::floats(&tensor).ok_or_else(|| wrong("floats"))?;
        let values = values.iter().skip(row * columns).take(columns).map(|&value| A::to_f32(value));
        let values =
            values.collect::<Option<Vec<f32>>>().ok_or_else(|| wrong("numbers that can be rounded"))?;
        for (cache, vector) in caches.zip(values.chunks_exact(columns / vectors)) {
            let held = self.caches.entry(cache).or_insert_with(|| Cache::new(form, vector.len()));
            if held.form() != form {
                let (found, legal) = (format!("has the form {:?}", held.form()), format!("{form:?}"));
                return Err(RunError::Cache { index, cache, found, legal });
            }
            held.push(vector).map_err(|error| RunError::Rows { index, slot: self.name(slot), error })?;
        }
        Ok(())
    }

    /// Fills a slot with the scales of a cache, followed by zeros.
    fn cached_scales(&mut self, index: usize, cache: u32, slot: ValueId) -> Result<(), RunError> {
        let scales = self.cache(index, cache)?.scales();
        let room = self.host.graph.values.get(slot.0 as usize).map(|value| value.info.shape.iter().product());
        let count = self.host.graph.values.len();
        let room: usize = room.ok_or(StepError::Missing { index, what: "slot", number: slot.0, count })?;
        if scales.len() > room {
            let (found, legal) = (format!("has {} tokens", scales.len()), format!("at most {room}"));
            return Err(RunError::Cache { index, cache, found, legal });
        }
        let padded = scales.iter().copied().chain(std::iter::repeat(0.0)).take(room).map(A::of_f32).collect();
        self.fill(index, slot, padded)
    }

    /// Makes weights that later products use.
    fn bind(
        &mut self,
        index: usize,
        image: u32,
        [n, k]: [usize; 2],
        codes: &[A::Code],
        scales: Option<Vec<A::Real>>,
    ) -> Result<(), RunError> {
        let weights = A::image_of([n, k], codes, scales);
        let weights = weights.map_err(|error| RunError::Weights { index, error })?;
        self.images.insert(image, Arc::new(weights));
        Ok(())
    }
}

/// Returns the range of scalars in a window, starting at a unit.
const fn place(unit: u32, scalars: usize) -> Range<usize> {
    let first = unit as usize * WORD_LANES;
    first..first + scalars
}

/// Axis of a matrix along which the tokens are arranged.
#[derive(Clone, Copy)]
enum Axis {
    Rows,
    Columns,
}
