//! [`Lowering`]: what lies where while steps are emitted, and the moves of specification 5.4 that macros
//! are made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::{Graph, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};

use super::code::{Code, Place, word};
use super::memory::{Memory, Region};
use super::options::{Options, WeightPath};
use super::plan::Plan;
use super::{LowerError, Weights};
use crate::config::{Config, WORD_LANES};
use crate::isa::op::{CvoFlags, CvoFunc};
use crate::lower::steps::{Layers, Step};
use crate::machine::weights::WeightImage;

/// Where the host has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtHost {
    /// In its slot.
    Slot,
    /// In a window, to be received.
    Window(Place),
}

/// A constant of the compiler's.
struct Resident {
    slot: ValueId,
    /// Where it is in L2.
    region: Option<Region>,
    /// The step that used it last.
    step: usize,
}

/// A lowering in progress.
pub struct Lowering<'a> {
    pub code: Code,
    /// The plan's graph, whose values are slots; more are added.
    pub graph: Graph,
    memory: Memory,
    /// Where what was placed lies.
    pub plan: Plan,
    l2_words: u32,
    in_l2: BTreeMap<ValueId, Region>,
    /// How many values lie in a region, by its word.
    owners: BTreeMap<u32, usize>,
    at_host: BTreeMap<ValueId, AtHost>,
    /// Constants that stay in L2 while there is room, by name.
    resident: BTreeMap<String, Resident>,
    /// Steps that use a value, the last one last.
    uses: BTreeMap<ValueId, Vec<usize>>,
    /// The step at work, its name and operands.
    step: usize,
    name: String,
    pinned: Vec<ValueId>,
    pub weights: &'a mut Weights,
    /// Whether products take 16 bits of their activations.
    pub two_byte_activations: bool,
    /// How weights come.
    weight_path: WeightPath,
    /// Where weights lie that the step at work has brought to L2.
    brought: Vec<Region>,
    /// Images of the compiler's own, by name.
    pub images: BTreeMap<String, Vec<u32>>,
    /// Those of each pass of a constant's weights.
    pub passes: BTreeMap<String, Vec<Vec<u32>>>,
    /// Tables of rotations that the machine has computed, at the host.
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

    /// Most words of L2 in use at once, and the words of all that was placed.
    pub fn words(&self) -> [u64; 2] {
        [self.memory.maximum, self.memory.aggregate]
    }

    pub fn begin(&mut self, index: usize, step: &Step, name: &str) {
        (self.step, self.name) = (index, name.to_owned());
        self.pinned = step.operands.clone();
    }

    /// Sends results off that are outputs, and frees what no step uses any more.
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

    /// Brings weights to L2 where that is asked for, if there is room beside what lies there; otherwise they stream.
    pub fn bring_weights(&mut self, images: &[u32]) {
        if self.weight_path == WeightPath::Stream {
            return;
        }
        for &image in images {
            if self.code.is_brought(image) {
                continue;
            }
            // They begin at an even word; words 0 and 2 have no place in a slot that says 1 of weights that stream.
            let values = (self.code.words_of(image) + 4) * WORD_LANES;
            let Some(region) = self.memory.allocate(values) else { continue };
            self.owners.insert(region.base, 1);
            self.plan.allocate(self.step, region);
            self.plan.hold(self.step, region, "weights");
            self.brought.push(region);
            self.code.bring(image, region.base.next_multiple_of(2).max(4));
        }
    }

    /// Keeps a value where it is while the step is at work.
    pub fn pin(&mut self, id: ValueId) {
        self.pinned.push(id);
    }

    /// Words of L2.
    pub const fn l2_words(&self) -> u32 {
        self.l2_words
    }

    /// The next step that uses a value.
    fn next_use(&self, id: ValueId) -> Option<usize> {
        self.uses.get(&id)?.iter().copied().find(|&step| step > self.step)
    }

    pub fn values(&self, id: ValueId) -> usize {
        self.graph.shape(id).iter().product()
    }

    /// Adds a slot.
    pub fn slot(&mut self, name: &str, shape: Vec<usize>) -> ValueId {
        let info = ValueInfo { shape, element: ElementType::F32 };
        let name = self.graph.values.len().to_string() + " " + name;
        self.graph.add_value(npukit_graph::Value { name, info, constant: None })
    }

    /// A constant that stays in L2 from its first use on, while there is room, and at least for the step at work.
    ///
    /// # Errors
    ///
    /// Too little room in L2.
    pub fn keep(&mut self, name: &str, values: impl FnOnce() -> Vec<f32>) -> Result<Region, LowerError> {
        self.keep_made(name, values, |_, _| Ok(()))
    }

    /// The same of what `make` makes of the values that the host sends, in their place.
    ///
    /// # Errors
    ///
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

    /// The word of a scalar that stays in L2.
    ///
    /// # Errors
    ///
    /// Too little room in L2.
    pub fn scalar(&mut self, value: f32) -> Result<u32, LowerError> {
        Ok(self.keep(&format!("the number {value}"), || word(value))?.base)
    }

    /// Room in L2; values that are used last go to the host if there is none, and then constants that were resident.
    ///
    /// # Errors
    ///
    /// No room even so.
    pub fn allocate(&mut self, values: usize) -> Result<Region, LowerError> {
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
                // Default: what no step uses any more goes first.
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

    /// Frees a resident constant that the step at work does not use; whether there was one.
    fn forget_kept(&mut self) -> bool {
        let step = self.step;
        let region = self
            .resident
            .values_mut()
            .filter(|resident| resident.step != step)
            .find_map(|resident| resident.region.take());
        region.map(|region| self.release(region)).is_some()
    }

    /// Gives back a region that holds no value.
    pub fn release(&mut self, region: Region) {
        let owners = self.owners.get_mut(&region.base).expect("what is released was allocated");
        *owners -= 1;
        if *owners == 0 {
            self.owners.remove(&region.base);
            self.memory.release(region);
        }
    }

    /// A value is no longer in L2.
    pub fn forget(&mut self, id: ValueId) {
        if let Some(region) = self.in_l2.remove(&id) {
            self.release(region);
        }
    }

    /// A value is in L2.
    pub fn place(&mut self, id: ValueId, region: Region) {
        self.plan.hold(self.step, region, &self.graph.value(id).name);
        self.in_l2.insert(id, region);
    }

    /// `alias` is the same values as `id`, which is in L2.
    pub fn share(&mut self, id: ValueId, alias: ValueId) {
        let region = self.in_l2[&id];
        *self.owners.get_mut(&region.base).expect("what is in L2 was allocated") += 1;
        self.place(alias, region);
    }

    pub fn is_in_l2(&self, id: ValueId) -> bool {
        self.in_l2.contains_key(&id)
    }

    /// The value in L2; the host sends it when it is not there.
    ///
    /// # Errors
    ///
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

    /// A region for a result that begins as `operand` and may take its place.
    ///
    /// # Errors
    ///
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

    /// The region of an operand that is used for the last time, and is nobody else's.
    ///
    /// # Errors
    ///
    /// Too little room in L2.
    pub fn take(&mut self, operand: ValueId) -> Result<Option<Region>, LowerError> {
        let region = self.fetch(operand)?;
        let alone = self.owners.get(&region.base) == Some(&1) && self.next_use(operand).is_none();
        // Twice an operand of one step is not alone.
        let once = self.pinned.iter().filter(|id| **id == operand).count() <= 1;
        if alone && once && self.graph.constant(operand).is_none() {
            self.in_l2.remove(&operand);
            return Ok(Some(region));
        }
        Ok(None)
    }

    /// A region for a result of as many values as `operand`, which may take its place.
    ///
    /// # Errors
    ///
    /// Too little room in L2.
    pub fn like(&mut self, operand: ValueId) -> Result<Region, LowerError> {
        match self.take(operand)? {
            Some(region) => Ok(region),
            None => self.allocate(self.values(operand)),
        }
    }

    /// Moves a value to the host, which need not look at it yet.
    fn store(&mut self, id: ValueId) {
        if self.at_host.contains_key(&id) || self.graph.constant(id).is_some() {
            return;
        }
        if let Some(&region) = self.in_l2.get(&id) {
            let place = self.code.store(region);
            self.at_host.insert(id, AtHost::Window(place));
        }
    }

    /// A value lies in a window.
    pub fn stored(&mut self, id: ValueId, place: Place) {
        self.at_host.insert(id, AtHost::Window(place));
    }

    /// The value is in its slot from here on.
    pub fn bring_to_host(&mut self, id: ValueId) {
        self.store(id);
        if let Some(at @ AtHost::Window(_)) = self.at_host.get_mut(&id) {
            let AtHost::Window(place) = std::mem::replace(at, AtHost::Slot) else { return };
            self.code.receive(id, place);
        }
    }

    /// A host step has filled the slot.
    pub fn filled(&mut self, id: ValueId) {
        self.at_host.insert(id, AtHost::Slot);
    }

    /// Puts `factor * vector` into `dst`, or adds it. The scalar goes into the word before the vector, which
    /// `owns` says is its own; otherwise, and before every further part, it is put back afterwards.
    ///
    /// # Errors
    ///
    /// Too little room in L2.
    pub fn scale(
        &mut self,
        [vector, scalar, dst]: [u32; 3],
        owns: bool,
        length: usize,
        flags: CvoFlags,
    ) -> Result<(), LowerError> {
        let one = WORD_LANES;
        for (words, part) in Code::parts(length).rev() {
            let (source, head) = (vector + words, vector + words - 1);
            let saved = if words == 0 && owns { None } else { Some(self.allocate(one)?) };
            if let Some(saved) = saved {
                self.code.copy(head, saved.base, one);
            }
            if scalar != head {
                self.code.copy(scalar, head, one);
            }
            self.code.cvo(CvoFunc::Scale, source - 1, dst + words, part, flags);
            if let Some(saved) = saved {
                self.code.copy(saved.base, head, one);
                self.release(saved);
            }
        }
        Ok(())
    }
}
