//! [`Lowering`]: places of values while steps are emitted, and the moves of specification 5.4 from
//! which macros are composed.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::{Graph, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};

use super::code::{Code, Place};
use super::macros::Macros;
use super::memory::{Memory, Region};
use super::options::{Options, WeightPath};
use super::plan::Plan;
use super::{LowerError, Weights};
use crate::config::{Config, WORD_LANES};
use crate::lower::steps::{Layers, Step};
use crate::machine::weights::WeightImage;

/// Place of a value at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtHost {
    /// In its slot of the graph.
    Slot,
    /// In a window, not received yet.
    Window(Place),
}

/// Constant that the compiler creates.
struct Resident {
    slot: ValueId,
    /// Region in L2; `None` if it is not there.
    region: Option<Region>,
    /// Last step that used it.
    step: usize,
}

/// State of the emission: places of values in L2 and at the host, and the code so far.
pub struct Lowering<'a> {
    pub code: Code,
    /// Graph with the host's slots as values. The compiler adds more.
    pub graph: Graph,
    memory: Memory,
    /// Places of all allocated values.
    pub plan: Plan,
    l2_words: u32,
    in_l2: BTreeMap<ValueId, Region>,
    /// Number of values that share each region, by the region's word.
    owners: BTreeMap<u32, usize>,
    at_host: BTreeMap<ValueId, AtHost>,
    /// Constants that stay in L2 while there is room, by name.
    resident: BTreeMap<String, Resident>,
    /// Steps that use each value, in ascending order.
    uses: BTreeMap<ValueId, Vec<usize>>,
    /// Current step, then its name and operands.
    step: usize,
    name: String,
    pinned: Vec<ValueId>,
    pub weights: &'a mut Weights,
    /// Whether products use 16 bits of their activations.
    pub two_byte_activations: bool,
    /// Path of weights to the engines.
    weight_path: WeightPath,
    /// Regions of weights that the current step has loaded to L2.
    brought: Vec<Region>,
    /// Weight images that the compiler creates, by name.
    pub images: BTreeMap<String, Vec<u32>>,
    /// For each constant, the images of each pass over its weights.
    pub passes: BTreeMap<String, Vec<Vec<u32>>>,
    /// Host slots of rotation tables that the machine has computed.
    pub tables: BTreeMap<String, [ValueId; 2]>,
    /// Images of zeros by rows, columns, and whether they have scales.
    pub blanks: BTreeMap<(usize, usize, bool), Arc<WeightImage>>,
}

impl<'a> Lowering<'a> {
    pub fn new(config: &Config, layers: &Layers, options: &Options, weights: &'a mut Weights) -> Self {
        let graph = layers.graph.clone();
        let mut uses: BTreeMap<ValueId, Vec<usize>> = BTreeMap::new();
        for (index, step) in layers.steps.iter().enumerate() {
            step.operands.iter().for_each(|&id| uses.entry(id).or_default().push(index));
        }
        let at_host = graph.inputs.iter().map(|&id| (id, AtHost::Slot)).collect();
        Self {
            code: Code::default(),
            graph,
            memory: Memory::new(config.l2_words),
            plan: Plan::default(),
            l2_words: config.l2_words,
            in_l2: BTreeMap::new(),
            owners: BTreeMap::new(),
            at_host,
            resident: BTreeMap::new(),
            uses,
            step: 0,
            name: String::new(),
            pinned: Vec::new(),
            weights,
            two_byte_activations: layers.two_byte_activations,
            weight_path: options.weights,
            brought: Vec::new(),
            images: BTreeMap::new(),
            passes: BTreeMap::new(),
            tables: BTreeMap::new(),
            blanks: BTreeMap::new(),
        }
    }

    /// Returns the maximum number of L2 words in use at once, and the total of all allocated words.
    pub fn words(&self) -> [u64; 2] {
        [self.memory.maximum, self.memory.aggregate]
    }

    pub fn begin(&mut self, index: usize, step: &Step, name: &str) {
        (self.step, self.name) = (index, name.to_owned());
        self.pinned = step.operands.clone();
    }

    /// Stores results that are outputs, and frees values that no later step uses.
    pub fn end(&mut self, step: &Step) {
        for &id in &step.results {
            if self.graph.is_output(id) {
                self.store(id);
            }
        }
        for &id in step.operands.iter().chain(&step.results) {
            if self.next_use(id).is_none() {
                self.forget(id);
            }
        }
        self.pinned.clear();
        self.code.leave();
        std::mem::take(&mut self.brought).into_iter().for_each(|region| self.release(region));
    }

    /// Loads weights to L2 if requested and if there is room; otherwise they stream.
    pub fn bring_weights(&mut self, images: &[u32]) {
        if self.weight_path == WeightPath::Stream {
            return;
        }
        for &image in images {
            if self.code.is_brought(image) {
                continue;
            }
            // The weights begin at an even word. Words 0 and 2 cannot be encoded because their slot
            // value 1 means streaming.
            let values = (self.code.words_of(image) + 4) * WORD_LANES;
            let Some(region) = self.memory.allocate(values) else { continue };
            self.owners.insert(region.base, 1);
            self.plan.allocate(self.step, region);
            self.plan.hold(self.step, region, "weights");
            self.brought.push(region);
            self.code.bring(image, region.base.next_multiple_of(2).max(4));
        }
    }

    /// Keeps a value in place during the current step.
    pub fn pin(&mut self, id: ValueId) {
        self.pinned.push(id);
    }

    /// Returns the size of L2 in words.
    pub const fn l2_words(&self) -> u32 {
        self.l2_words
    }

    /// Returns the next step that uses a value.
    fn next_use(&self, id: ValueId) -> Option<usize> {
        self.uses.get(&id)?.iter().copied().find(|&step| step > self.step)
    }

    pub fn values(&self, id: ValueId) -> usize {
        self.graph.shape(id).iter().product()
    }

    /// Adds a slot to the host's graph.
    pub fn slot(&mut self, name: &str, shape: Vec<usize>) -> ValueId {
        let info = ValueInfo { shape, element: ElementType::F32 };
        let name = self.graph.values.len().to_string() + " " + name;
        self.graph.add_value(npukit_graph::Value { name, info, constant: None })
    }

    /// Like [`Macros::keep`], but `make` emits code that transforms the values sent by the host
    /// in place.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn keep_made(
        &mut self,
        name: &str,
        values: impl FnOnce() -> Vec<f32>,
        make: impl FnOnce(&mut Self, Region) -> Result<(), LowerError>,
    ) -> Result<Region, LowerError> {
        let slot = match self.resident.get_mut(name) {
            Some(&mut Resident { region: Some(region), ref mut step, .. }) => {
                *step = self.step;
                return Ok(region);
            }
            Some(resident) => resident.slot,
            None => {
                let values = values();
                let tensor = Tensor::from_f32(vec![values.len()], values);
                self.graph.add_constant(name, tensor.map_err(|_| LowerError::Fault("a constant"))?)
            }
        };
        let region = self.allocate(self.values(slot))?;
        self.code.send_first(slot, region);
        self.plan.hold(self.step, region, &format!("constant {name}"));
        self.resident.insert(name.to_owned(), Resident { slot, region: Some(region), step: self.step });
        make(self, region)?;
        Ok(region)
    }

    /// Drops a resident constant that the current step does not use; returns whether there was one.
    fn forget_kept(&mut self) -> bool {
        let step = self.step;
        let region = self
            .resident
            .values_mut()
            .filter(|resident| resident.step != step)
            .find_map(|resident| resident.region.take());
        region.map(|region| self.release(region)).is_some()
    }

    /// Removes a value from L2.
    pub fn forget(&mut self, id: ValueId) {
        if let Some(region) = self.in_l2.remove(&id) {
            self.release(region);
        }
    }

    /// Records that a value is in L2.
    pub fn place(&mut self, id: ValueId, region: Region) {
        self.plan.hold(self.step, region, &self.graph.value(id).name);
        self.in_l2.insert(id, region);
    }

    /// Records that `alias` is the same data as `id`, which is in L2.
    pub fn share(&mut self, id: ValueId, alias: ValueId) {
        let region = self.in_l2[&id];
        *self.owners.get_mut(&region.base).expect("what is in L2 was allocated") += 1;
        self.place(alias, region);
    }

    pub fn is_in_l2(&self, id: ValueId) -> bool {
        self.in_l2.contains_key(&id)
    }

    /// Returns a value's region in L2; the host sends the value if it is not there.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn fetch(&mut self, id: ValueId) -> Result<Region, LowerError> {
        if let Some(&region) = self.in_l2.get(&id) {
            return Ok(region);
        }
        let region = self.allocate(self.values(id))?;
        self.send(id, region);
        self.place(id, region);
        Ok(region)
    }

    /// Sends a value to a region.
    pub fn send(&mut self, id: ValueId, region: Region) {
        if self.graph.constant(id).is_some() || self.graph.inputs.contains(&id) {
            self.code.send_first(id, region);
        } else {
            self.bring_to_host(id);
            self.code.send(id, region);
        }
    }

    /// Returns a region for a result, initialized with `operand`; it may be the operand's own
    /// region.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn turn(&mut self, operand: ValueId) -> Result<Region, LowerError> {
        if let Some(region) = self.take(operand)? {
            return Ok(region);
        }
        let (source, values) = (self.fetch(operand)?, self.values(operand));
        let region = self.allocate(values)?;
        self.code.copy(source.base, region.base, values);
        Ok(region)
    }

    /// Returns the region of an operand if this is its last use and no other value shares it.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn take(&mut self, operand: ValueId) -> Result<Option<Region>, LowerError> {
        let region = self.fetch(operand)?;
        let alone = self.owners.get(&region.base) == Some(&1) && self.next_use(operand).is_none();
        // An operand that a step uses twice must not be overwritten.
        let once = self.pinned.iter().filter(|id| **id == operand).count() <= 1;
        if alone && once && self.graph.constant(operand).is_none() {
            self.in_l2.remove(&operand);
            return Ok(Some(region));
        }
        Ok(None)
    }

    /// Returns a region for a result with the size of `operand`; it may be the operand's own
    /// region.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn like(&mut self, operand: ValueId) -> Result<Region, LowerError> {
        match self.take(operand)? {
            Some(region) => Ok(region),
            None => self.allocate(self.values(operand)),
        }
    }

    /// Moves a value to the host, which may receive it later.
    fn store(&mut self, id: ValueId) {
        if self.at_host.contains_key(&id) || self.graph.constant(id).is_some() {
            return;
        }
        if let Some(&region) = self.in_l2.get(&id) {
            let place = self.code.store(region);
            self.at_host.insert(id, AtHost::Window(place));
        }
    }

    /// Records that a value is in a window.
    pub fn stored(&mut self, id: ValueId, place: Place) {
        self.at_host.insert(id, AtHost::Window(place));
    }

    /// Makes the value available in its slot for later host steps.
    pub fn bring_to_host(&mut self, id: ValueId) {
        self.store(id);
        if let Some(at @ AtHost::Window(_)) = self.at_host.get_mut(&id) {
            let AtHost::Window(place) = std::mem::replace(at, AtHost::Slot) else { return };
            self.code.receive(id, place);
        }
    }

    /// Records that a host step has filled the slot.
    pub fn filled(&mut self, id: ValueId) {
        self.at_host.insert(id, AtHost::Slot);
    }
}

impl Macros for Lowering<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }

    /// Allocates room in L2. If L2 is full, values with the latest next use move to the host;
    /// then resident constants are dropped.
    ///
    /// # Errors
    /// There is still too little room.
    fn allocate(&mut self, values: usize) -> Result<Region, LowerError> {
        loop {
            if let Some(region) = self.memory.allocate(values) {
                self.owners.insert(region.base, 1);
                self.plan.allocate(self.step, region);
                return Ok(region);
            }
            let farthest = self
                .in_l2
                .keys()
                .filter(|id| !self.pinned.contains(id))
                // Default: values without a next use go first.
                .max_by_key(|&&id| self.next_use(id).unwrap_or(usize::MAX))
                .copied();
            let Some(id) = farthest else {
                if self.forget_kept() {
                    continue;
                }
                let (node, largest) = (self.name.clone(), self.memory.largest());
                return Err(LowerError::L2Full { node, values, largest, l2_words: self.l2_words });
            };
            self.store(id);
            self.forget(id);
        }
    }

    /// Frees a region that holds no value.
    fn release(&mut self, region: Region) {
        let owners = self.owners.get_mut(&region.base).expect("what is released was allocated");
        *owners -= 1;
        if *owners == 0 {
            self.owners.remove(&region.base);
            self.memory.release(region);
        }
    }

    /// Returns the region of a constant, and loads it on first use. It stays in L2 while there is
    /// room, at least during the current step.
    ///
    /// # Errors
    /// Too little room in L2.
    fn keep(&mut self, name: &str, values: impl FnOnce() -> Vec<f32>) -> Result<Region, LowerError> {
        self.keep_made(name, values, |_, _| Ok(()))
    }
}
