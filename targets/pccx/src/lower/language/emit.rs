//! [`Emitter`]: a program of a language model under construction, and the operations of its
//! parts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use npukit_graph::language::{Description, Hadamard, Part, Weights};
use npukit_graph::op::{Binary, BinaryKind};
use npukit_graph::{Graph, Node, Op, Value, ValueId, ValueInfo};
use npukit_numeric::{BLOCK, ElementType, Tensor};

use super::matrices::{Reads, sums};
use super::{Language, ModelPart, Rows, Template, source};
use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, CvoFunc, MacFlags};
use crate::lower::code::{Code, Place};
use crate::lower::limits::MAX_ROWS;
use crate::lower::macros::Macros;
use crate::lower::memory::{Memory, Region};
use crate::lower::{Executable, Isa, LowerError};
use crate::machine::weights::WeightImage;
use crate::program::Program;
use crate::program::host::{Host, HostStep, Layer};

/// The host's contribution to a part of a model on an instance without MUL.
const MULTIPLY_HELP: &str = "the host multiplies values in pairs, because no instruction does";

/// Part of L2 that logits of several texts may use twice, as a divisor.
const LOGITS: usize = 8;

/// Program under construction.
pub struct Emitter<'a> {
    pub language: &'a Language,
    pub code: Code,
    /// Slots and nodes of the host.
    pub graph: Graph,
    memory: Memory,
    /// Number of tokens that the program processes.
    pub tokens: usize,
    /// Whether each token is of a text of its own.
    pub in_texts: bool,
    /// Largest number of earlier tokens.
    pub room: usize,
    resident: BTreeMap<String, Region>,
    /// Images of ones by number of columns. Each image sums up 32 columns.
    ones: BTreeMap<usize, u32>,
    /// Images that spread values, by their number and whether they do the opposite.
    spreading: BTreeMap<(usize, bool), u32>,
    /// Images of zeros that the host replaces, by rows and columns.
    pub blanks: BTreeMap<[usize; 2], Arc<WeightImage>>,
    layers: Vec<Layer>,
    /// Part of the model of each layer of the host.
    parts: Vec<ModelPart>,
    /// Work and properties of the part that is being emitted.
    part: PartWork,
}

#[derive(Default)]
struct PartWork {
    of: ModelPart,
    macs: u64,
    has_8_bit_weights: bool,
    needs_host: bool,
}

/// Rows that several matrices multiply.
pub struct Operand {
    rows: usize,
    width: usize,
    /// The rows.
    whole: Region,
    /// The rows part by part, by number of columns of a part, if a matrix needs that and it is
    /// another order.
    parts: Vec<(usize, Region)>,
    /// Sums of the blocks of each row.
    sums: Option<Region>,
}

/// Values by which others are multiplied: in L2, or at the host.
#[derive(Clone, Copy)]
pub enum Factors {
    /// As many values in L2.
    Region(Region),
    /// A value that the host knows before the program begins: as many values, or one row of them.
    Known(ValueId),
}

impl Macros for Emitter<'_> {
    fn code(&mut self) -> &mut Code {
        &mut self.code
    }

    fn allocate(&mut self, values: usize) -> Result<Region, LowerError> {
        self.memory.allocate(values).ok_or_else(|| LowerError::L2Full {
            node: self.part.of.to_string(),
            values,
            largest: self.memory.largest(),
            l2_words: self.language.config.l2_words,
        })
    }

    fn release(&mut self, region: Region) {
        self.memory.release(region);
    }

    fn keep(&mut self, name: &str, values: impl FnOnce() -> Vec<f32>) -> Result<Region, LowerError> {
        if let Some(&region) = self.resident.get(name) {
            return Ok(region);
        }
        let values = values();
        let region = self.allocate(values.len())?;
        let slot = self.constant(name, vec![values.len()], values)?;
        self.code.send_first(slot, region);
        self.resident.insert(name.to_owned(), region);
        Ok(region)
    }
}

impl<'a> Emitter<'a> {
    pub fn new(language: &'a Language, rows: Rows, room: usize) -> Self {
        Self {
            language,
            code: Code::with_tokens(),
            graph: Graph { name: language.model.description().name.clone(), ..Graph::default() },
            memory: Memory::new(language.config.l2_words),
            tokens: rows.count(),
            in_texts: matches!(rows, Rows::Texts(_)),
            room,
            resident: BTreeMap::new(),
            ones: BTreeMap::new(),
            spreading: BTreeMap::new(),
            blanks: BTreeMap::new(),
            layers: Vec::new(),
            parts: Vec::new(),
            part: PartWork::default(),
        }
    }

    /// Returns the finished program.
    pub fn finish(mut self) -> Template {
        let is_extended = self.has_mul();
        let reading = self.language.config.reading;
        let patches = std::mem::take(&mut self.code.patches);
        let program = Program { reading, ..self.code.finish(is_extended) };
        let words = [self.memory.maximum, self.memory.aggregate];
        let host = Host { graph: self.graph, layers: self.layers, words, ..Host::default() };
        Template { executable: Executable { program, host }, parts: self.parts, patches }
    }

    pub fn of(&self) -> &'a Description {
        self.language.model.description()
    }

    /// Whether element-wise products are instructions.
    pub fn has_mul(&self) -> bool {
        self.language.options.isa == Isa::Ext
    }

    /// Returns the number of values that L2 holds.
    pub fn l2_values(&self) -> usize {
        self.language.config.l2_words as usize * WORD_LANES
    }

    /// Begins a part of the model, for reports and messages.
    pub fn begin(&mut self, layer: Option<usize>, name: &'static str) {
        self.end();
        self.part = PartWork { of: ModelPart { layer, name }, ..PartWork::default() };
    }

    /// Ends the last part.
    pub fn end(&mut self) {
        let PartWork { of, macs, has_8_bit_weights, needs_host } = std::mem::take(&mut self.part);
        let end = self.code.position();
        let begins = self.layers.last().map_or(0, |layer| layer.end);
        if end > begins || macs > 0 {
            let help = needs_host.then(|| MULTIPLY_HELP.to_owned());
            let (name, results) = (of.to_string(), Vec::new());
            self.parts.push(of);
            self.layers.push(Layer { name, end, macs, results, host: None, help, has_8_bit_weights });
        }
    }

    /// Counts multiply-accumulates of the part.
    pub fn count(&mut self, macs: usize) {
        self.part.macs += macs as u64;
    }

    /// Adds a slot to the host's graph.
    pub fn slot(&mut self, name: &str, shape: Vec<usize>) -> ValueId {
        self.named(&format!("{} {name}", self.graph.values.len()), shape)
    }

    /// Adds a slot with a name of its own.
    pub fn named(&mut self, name: &str, shape: Vec<usize>) -> ValueId {
        let info = ValueInfo { shape, element: ElementType::F32 };
        self.graph.add_value(Value { name: name.to_owned(), info, constant: None })
    }

    /// Adds a value that the caller provides for each run.
    pub fn input(&mut self, name: &str, shape: Vec<usize>) -> ValueId {
        self.graph.add_input(name, ValueInfo { shape, element: ElementType::F32 })
    }

    /// Adds a value that is the same in each run.
    ///
    /// # Errors
    /// A number of values that does not match the shape: an internal error.
    pub fn constant(
        &mut self,
        name: &str,
        shape: Vec<usize>,
        values: Vec<f32>,
    ) -> Result<ValueId, LowerError> {
        let tensor = Tensor::from_f32(shape, values).map_err(|_| LowerError::Fault("a constant"))?;
        Ok(self.graph.add_constant(name, tensor))
    }

    /// Returns a region with values that the host sends before the program begins.
    pub fn sent(&mut self, slot: ValueId) -> Result<Region, LowerError> {
        let region = self.allocate(self.graph.shape(slot).iter().product())?;
        self.code.send_first(slot, region);
        Ok(region)
    }

    /// Moves values to a new slot of the host.
    pub fn received(&mut self, region: Region, shape: Vec<usize>) -> ValueId {
        let slot = self.slot("from L2", shape);
        let place = self.code.store(region);
        self.code.receive(slot, place);
        slot
    }

    /// Lets the host compute a node of values in L2, in place.
    pub fn on_host(&mut self, op: Op, region: Region, other: &[ValueId], shape: &[usize]) {
        self.part.needs_host = true;
        let operand = self.received(region, shape.to_vec());
        let result = self.slot("computed", shape.to_vec());
        let name = self.graph.value(result).name.clone();
        let inputs = std::iter::once(operand).chain(other.iter().copied()).collect();
        self.code.step(HostStep::Compute { node: self.graph.nodes.len() as u32 });
        self.graph.nodes.push(Node { name, op, inputs, outputs: vec![result] });
        self.code.send(result, region);
    }

    /// Multiplies rows in L2 by others, element by element.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn multiply(&mut self, region: Region, width: usize, by: Factors) -> Result<(), LowerError> {
        let rows = region.values / width.max(1);
        if !self.has_mul() {
            let shape = [rows, width];
            let by = match by {
                Factors::Known(slot) => slot,
                Factors::Region(factors) => self.received(factors, shape.to_vec()),
            };
            self.on_host(Binary { kind: BinaryKind::Mul }.into(), region, &[by], &shape);
            return Ok(());
        }
        let (factors, is_own) = match by {
            Factors::Region(factors) => (factors, false),
            Factors::Known(slot) => (self.sent(slot)?, true),
        };
        if factors.values == region.values {
            self.code.cvo(CvoFunc::Mul, factors.base, region.base, region.values, CvoFlags::PLAIN);
        } else {
            for row in 0..rows {
                self.code.cvo(CvoFunc::Mul, factors.base, region.at(row * width), width, CvoFlags::PLAIN);
            }
        }
        if is_own {
            self.release(factors);
        }
        Ok(())
    }

    /// Adds values in L2 to as many others.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn add(&mut self, to: Region, from: Region) -> Result<(), LowerError> {
        let one = self.scalar(1.0)?;
        self.scale([from.base, one, to.base], true, from.values, CvoFlags::ADD)
    }

    /// Prepares rows for products with matrices.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn operand(
        &mut self,
        layer: Option<usize>,
        parts: &[Part],
        whole: Region,
        rows: usize,
    ) -> Result<Operand, LowerError> {
        let width = whole.values / rows.max(1);
        let matrices = parts.iter().filter_map(|&part| self.language.matrices.get(&(layer, part)));
        let reads: Vec<Reads> =
            matrices.flat_map(|matrix| matrix.passes.iter().map(|pass| pass.reads)).collect();
        let mut operand = Operand { rows, width, whole, parts: Vec::new(), sums: None };
        let sizes: BTreeSet<usize> = reads.iter().filter_map(|reads| reads.size()).collect();
        for size in sizes.into_iter().filter(|_| rows > 1) {
            let parts = self.allocate(whole.values)?;
            for row in 0..rows {
                for first in (0..width).step_by(size) {
                    let count = (width - first).min(size);
                    let to = parts.at(first * rows + row * count);
                    self.code.copy(whole.at(row * width + first), to, count);
                }
            }
            operand.parts.push((size, parts));
        }
        if reads.contains(&Reads::Sums) {
            let (results, ones) = (sums(width), self.ones(width)?);
            let region = self.allocate(rows * results)?;
            self.code.product(ones, whole.base, region.base, [rows, width, results], MacFlags::default());
            operand.sums = Some(region);
        }
        Ok(operand)
    }

    /// Frees the rows and the data that was prepared from them.
    pub fn finished(&mut self, operand: Operand) {
        let parts = operand.parts.into_iter().map(|(_, region)| region);
        parts.chain([operand.whole]).chain(operand.sums).for_each(|region| self.release(region));
    }

    /// Returns the image of ones that sums up blocks of `width` columns.
    fn ones(&mut self, width: usize) -> Result<u32, LowerError> {
        if let Some(&image) = self.ones.get(&width) {
            return Ok(image);
        }
        let image = WeightImage::zeros(sums(width), width);
        let mut image = image.map_err(|error| LowerError::Weights { name: "ones".to_owned(), error })?;
        for block in 0..width.div_ceil(BLOCK) {
            let ones = |column: usize| i8::from(column / BLOCK == block);
            image.set_row(block, &(0..width).map(ones).collect::<Vec<_>>());
        }
        let image = self.code.image(Arc::new(image));
        self.ones.insert(width, image);
        Ok(image)
    }

    /// Multiplies rows of `width` values by a [`Hadamard`] matrix, or by its inverse; returns the
    /// results, which replace the rows.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn spread(&mut self, region: Region, width: usize, back: bool) -> Result<Region, LowerError> {
        let image = self.spreading(width, back)?;
        let (results, rows) = (self.allocate(region.values)?, region.values / width);
        let flags = MacFlags { w_scale: true, ..MacFlags::default() };
        let most = Code::most_rows(width);
        for first in (0..rows).step_by(most) {
            let (from, to) = (region.at(first * width), results.at(first * width));
            self.code.product(image, from, to, [(rows - first).min(most), width, width], flags);
        }
        self.release(region);
        Ok(results)
    }

    /// Returns the image of a Hadamard matrix, or of its inverse: exact, as all elements of a row
    /// have the same magnitude or are 0.
    fn spreading(&mut self, width: usize, back: bool) -> Result<u32, LowerError> {
        if let Some(&image) = self.spreading.get(&(width, back)) {
            return Ok(image);
        }
        let matrix = Hadamard::without_signs(width, width);
        let scale = 1.0 / (matrix.block() as f32).sqrt();
        let error = |error| LowerError::Weights { name: "a Hadamard matrix".to_owned(), error };
        let mut image = WeightImage::zeros(width, width).map_err(error)?.with_scales(vec![scale; width]);
        for result in 0..width {
            // The elements that a result reads are a column of the matrix, which is a row of its
            // inverse.
            let mut row: Vec<f32> = (0..width).map(|place| f32::from(place == result)).collect();
            if back {
                matrix.apply(&mut row)
            } else {
                matrix.invert(&mut row)
            }
            let codes: Vec<i8> = row.iter().map(|element| (element / scale).round() as i8).collect();
            image.set_row(result, &codes);
        }
        let image = self.code.image(Arc::new(image));
        self.spreading.insert((width, back), image);
        Ok(image)
    }

    /// Emits the product of rows and a matrix, plus its biases; returns the results.
    ///
    /// # Errors
    /// Too little room in L2; a part that the model does not have.
    pub fn product(
        &mut self,
        layer: Option<usize>,
        part: Part,
        operand: &Operand,
    ) -> Result<Region, LowerError> {
        let matrix = self.language.matrices.get(&(layer, part)).ok_or(LowerError::Fault("a matrix"))?;
        let region = self.allocate(operand.rows * matrix.rows)?;
        let mut has_sum = self.biases(layer, part, region, operand.rows)?;
        self.part.has_8_bit_weights |= matrix.form == super::Form::Eight;
        self.count(operand.rows * matrix.rows * matrix.columns);
        for pass in &matrix.passes {
            let (source, k) = operand.place(pass.reads)?;
            let flags = MacFlags { accm: has_sum, w_scale: true, ..MacFlags::default() };
            self.multiply_by(&pass.images, [source, region.base], [operand.rows, k, matrix.rows], flags);
            has_sum = true;
        }
        Ok(region)
    }

    /// Emits the logits of all rows, for some tokens of the vocabulary at a time; returns the
    /// places of each row's logits at the host. The rows share each reading of the weights.
    ///
    /// # Errors
    /// Too little room in L2; a head that the model does not have.
    pub fn logits_at_once(&mut self, normed: Region, rows: usize) -> Result<Vec<Place>, LowerError> {
        let matrix = self.language.matrices.get(&(None, Part::Head)).ok_or(LowerError::Fault("a matrix"))?;
        let operand = self.operand(None, &[Part::Head], normed, rows)?;
        let most = (self.l2_values() / LOGITS / rows / WORD_LANES * WORD_LANES).clamp(WORD_LANES, MAX_ROWS);
        let places: Vec<Place> = (0..rows).map(|_| self.code.reserve(matrix.rows)).collect();
        let regions = [self.allocate(rows * most)?, self.allocate(rows * most)?];
        let images =
            (0..matrix.rows).step_by(MAX_ROWS).map(|first| first..(first + MAX_ROWS).min(matrix.rows));
        let parts = images.flat_map(|rows| rows.clone().step_by(most).map(move |first| (first, rows.end)));
        for ((first, end), region) in parts.zip(regions.into_iter().cycle()) {
            let count = (end - first).min(most);
            for (index, pass) in matrix.passes.iter().enumerate() {
                let (source, k) = operand.place(pass.reads)?;
                let flags = MacFlags { accm: index > 0, w_scale: true, ..MacFlags::default() };
                let image = self.code.image(pass.part(first, count));
                self.code.product(image, source, region.base, [rows, k, count], flags);
            }
            for (row, &place) in places.iter().enumerate() {
                let logits = Region { base: region.at(row * count), values: count };
                self.code.store_at(place, first / WORD_LANES, logits);
            }
        }
        regions.into_iter().for_each(|region| self.release(region));
        self.finished(operand);
        self.part.has_8_bit_weights |= matrix.form == super::Form::Eight;
        self.count(rows * matrix.rows * matrix.columns);
        Ok(places)
    }

    /// Whether rows can be multiplied with the head at once: logits are whole words without biases.
    pub fn shares_head(&self) -> bool {
        let head = self.language.model.weights(Part::Head, None);
        let is_plain = matches!(head, Some(Weights::Matrix(_, None)));
        self.in_texts && is_plain && self.of().vocabulary.is_multiple_of(WORD_LANES)
    }

    /// Emits the product of one pass. Only a product of one row has several images.
    fn multiply_by(
        &mut self,
        images: &[Arc<WeightImage>],
        [source, dst]: [u32; 2],
        [rows, k, n]: [usize; 3],
        flags: MacFlags,
    ) {
        for (part, image) in images.iter().enumerate() {
            let number = self.code.image(Arc::clone(image));
            let first = part * MAX_ROWS;
            let dst = dst + (first / WORD_LANES) as u32;
            self.code.product(number, source, dst, [rows, k, (n - first).min(MAX_ROWS)], flags);
        }
    }

    /// Writes the biases of a matrix to each row; returns whether there are any.
    fn biases(
        &mut self,
        layer: Option<usize>,
        part: Part,
        region: Region,
        rows: usize,
    ) -> Result<bool, LowerError> {
        let Some(Weights::Matrix(weights, Some(bias))) = self.language.model.weights(part, layer) else {
            return Ok(false);
        };
        let places = source(self.of(), part, layer, weights).rows;
        let values: Vec<f32> = places.iter().map(|row| row.map_or(0.0, |row| bias[row])).collect();
        let width = values.len();
        let name = format!("{} bias {part:?}", self.part.of);
        let slot = self.constant(&name, vec![width], values)?;
        self.code.send_first(slot, Region { values: width, ..region });
        (1..rows).for_each(|row| self.code.copy(region.base, region.at(row * width), width));
        Ok(true)
    }
}

impl Operand {
    /// Returns the first word and the number of columns that a pass reads.
    fn place(&self, reads: Reads) -> Result<(u32, usize), LowerError> {
        Ok(match reads {
            Reads::All => (self.whole.base, self.width),
            Reads::Part { size, part } => {
                let first = part * size;
                let place = match self.parts.iter().find(|(own, _)| *own == size) {
                    Some((_, parts)) => parts.at(first * self.rows),
                    None => self.whole.at(first),
                };
                (place, self.width.saturating_sub(first).min(size))
            }
            Reads::Sums => (self.sums.ok_or(LowerError::Fault("sums"))?.base, sums(self.width)),
        })
    }
}
