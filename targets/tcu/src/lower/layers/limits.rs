//! What is refused before anything of its size is made: tensors without floats, empty ones, and
//! those out of proportion.

use npukit_graph::{NodeId, Op, ValueId};
use npukit_numeric::ElementType;

use super::{Builder, ConstantsShortage, Reject};
use crate::lower::layers::ops;
use crate::lower::memory::view::natural_channels;

/// The most vectors a tensor may take.
const MAX_VECTORS: u64 = 1 << 24;
/// The most elements a tensor may have.
const MAX_ELEMENTS: u64 = 1 << 28;
/// The most vectors a node may read, counting each use.
const MAX_USES: u64 = 1 << 26;
/// The most scalars all constants together may take: 1 GiB here.
const MAX_CONSTANTS: u64 = 1 << 28;

impl Builder<'_> {
    /// Reports every input of the graph that cannot be one of the program.
    pub(super) fn require_inputs(&mut self) {
        for &input in &self.graph.inputs {
            if let Err(reject) = self.require_tensor(input) {
                let name = &self.graph.value(input).name;
                self.fusion.report(name, "input", reject);
            }
        }
    }

    /// Refuses a node whose operands or results are not tensors of floats of a reasonable size.
    ///
    /// # Errors
    ///
    /// What is wrong with the first such operand or result.
    pub(super) fn require_operands(&self, id: NodeId) -> Result<(), Reject> {
        let node = self.graph.node(id);
        // Parts without elements do not change what they are joined to.
        let joins = matches!(node.op, Op::Concat(_));
        node.inputs.iter().filter(|_| !joins).try_for_each(|&operand| self.require_elements(operand))?;
        let floats = |&result: &ValueId| self.graph.value(result).info.element == ElementType::F32;
        if let Some(reject) = ops::refusal::of_other_types(&node.op)
            && !node.outputs.iter().all(floats)
        {
            return Err(reject);
        }
        node.outputs.iter().try_for_each(|&result| self.require_tensor(result))
    }

    fn require_tensor(&self, value: ValueId) -> Result<(), Reject> {
        let value_info = &self.graph.value(value).info;
        if value_info.element != ElementType::F32 {
            return Err(no_floats(value_info.element));
        }
        self.require_elements(value)?;
        self.require_size(value)
    }

    fn require_elements(&self, value: ValueId) -> Result<(), Reject> {
        let shape = self.graph.shape(value);
        if !shape.contains(&0) {
            return Ok(());
        }
        let name = &self.graph.value(value).name;
        Err(Reject::new(
            format!("`{name}` of shape {shape:?} has no elements"),
            "remove it from the model: nothing can be computed with it",
        ))
    }

    /// Refuses a tensor whose lists of vectors would fill the host's memory.
    ///
    /// # Errors
    ///
    /// The size, and what is possible.
    pub(super) fn require_size(&self, value: ValueId) -> Result<(), Reject> {
        let shape = self.graph.shape(value);
        let product =
            |sizes: &[usize]| sizes.iter().fold(1, |all: u64, &size| all.saturating_mul(size as u64));
        let blocks = natural_channels(shape).div_ceil(self.array_size()) as u64;
        let pixels = product(&shape[..shape.len().saturating_sub(1)]);
        if pixels.saturating_mul(blocks) <= MAX_VECTORS && product(shape) <= MAX_ELEMENTS {
            return Ok(());
        }
        let name = &self.graph.value(value).name;
        Err(Reject::new(
            format!(
                "`{name}` of shape {shape:?} is larger than {MAX_VECTORS} vectors or {MAX_ELEMENTS} elements"
            ),
            "make the image smaller",
        ))
    }

    /// Refuses a node that would list more vectors than a program may.
    ///
    /// # Errors
    ///
    /// The number of uses, and what is possible.
    pub fn require_uses(&self, uses: impl IntoIterator<Item = usize>) -> Result<(), Reject> {
        let uses = uses.into_iter().fold(1u64, |product, factor| product.saturating_mul(factor as u64));
        if uses <= MAX_USES {
            return Ok(());
        }
        Err(Reject::new(
            format!("it reads {uses} vectors, counting each use; programs end at {MAX_USES}"),
            "make the image, the kernel or the channels smaller",
        ))
    }

    /// Refuses `vectors` more of constants than any program may have. That DRAM1 holds them all is looked at
    /// when all are known.
    ///
    /// # Errors
    ///
    /// More constants than the host's memory holds: a shortage, when DRAM1 does not hold them either.
    pub fn require_constants(&self, vectors: u64) -> Result<(), Reject> {
        let needed = self.objects.constant_vectors().saturating_add(vectors);
        if needed.saturating_mul(self.array_size() as u64) <= MAX_CONSTANTS {
            return Ok(());
        }
        if needed > self.config.dram1_depth {
            return Err(Reject::Shortage(ConstantsShortage { vectors }));
        }
        Err(Reject::new(
            format!("with it the constants take {needed} vectors; programs end at {MAX_CONSTANTS} scalars"),
            "make the kernels or the channels smaller, or use an instance with a smaller array",
        ))
    }
}

/// A value that the array has no number format for.
pub fn no_floats(element: ElementType) -> Reject {
    Reject::new(
        format!("it is not of floats but of {element:?}"),
        "make it a float, or end the model before it and let the host do the rest",
    )
}
