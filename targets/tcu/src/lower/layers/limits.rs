//! Early checks, before anything proportional to a tensor's size is built. They refuse tensors that
//! are not floats, empty tensors, and extremely large ones.

use npukit_graph::{NodeId, Op, ValueId};
use npukit_numeric::ElementType;

use super::{Builder, ConstantsShortage, Reject};
use crate::lower::layers::ops;
use crate::lower::memory::view::natural_channels;

/// Maximum number of vectors of a tensor.
const MAX_VECTORS: u64 = 1 << 24;
/// Maximum number of elements of a tensor.
const MAX_ELEMENTS: u64 = 1 << 28;
/// Maximum number of vectors that a node may read, counting each use.
const MAX_USES: u64 = 1 << 26;
/// Maximum number of scalars in all constants together; they take 1 GiB on the host.
const MAX_CONSTANTS: u64 = 1 << 28;

impl Builder<'_> {
    /// Reports every input of the graph that cannot be an input of the program.
    pub(super) fn require_inputs(&mut self) {
        for &input in &self.graph.inputs {
            if let Err(reject) = self.require_tensor(input) {
                let name = &self.graph.value(input).name;
                self.fusion.report(name, "input", reject);
            }
        }
    }

    /// Checks that the operands and results of a node are float tensors of supported size.
    ///
    /// # Errors
    ///
    /// Describes the first operand or result that is not supported.
    pub(super) fn require_operands(&self, id: NodeId) -> Result<(), Reject> {
        let node = self.graph.node(id);
        // Empty parts of a concatenation do not change its result.
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
        Err(Reject::new(format!("`{name}` of shape {shape:?} has no elements"), "remove it from the model"))
    }

    /// Refuses a tensor whose lists of vectors would exhaust the host's memory.
    ///
    /// # Errors
    ///
    /// Reports the tensor's shape and the limits.
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
            "use a smaller image",
        ))
    }

    /// Refuses a node that would list more vectors than a program may.
    ///
    /// # Errors
    ///
    /// Reports the number of uses and the limit.
    pub fn require_uses(&self, uses: impl IntoIterator<Item = usize>) -> Result<(), Reject> {
        let uses = uses.into_iter().fold(1u64, |product, factor| product.saturating_mul(factor as u64));
        if uses <= MAX_USES {
            return Ok(());
        }
        Err(Reject::new(
            format!("it reads {uses} vectors, counting each use; the limit is {MAX_USES}"),
            "use a smaller image, a smaller kernel or fewer channels",
        ))
    }

    /// Reserves `vectors` more vectors of constants, up to the limit for any program. Whether they
    /// fit in DRAM1 is checked once all constants are known.
    ///
    /// # Errors
    ///
    /// Fails if the constants exceed the host's memory; reports a DRAM1 shortage if they exceed
    /// DRAM1 as well.
    pub fn require_constants(&self, vectors: u64) -> Result<(), Reject> {
        let needed = self.objects.constant_vectors().saturating_add(vectors);
        if needed.saturating_mul(self.array_size() as u64) <= MAX_CONSTANTS {
            return Ok(());
        }
        if needed > self.config.dram1_depth {
            return Err(Reject::Shortage(ConstantsShortage { vectors }));
        }
        Err(Reject::new(
            format!(
                "up to this node the constants take {needed} vectors; the limit is {MAX_CONSTANTS} scalars"
            ),
            "use smaller kernels or fewer channels, or an instance with a smaller array",
        ))
    }
}

/// Returns the error for elements that are not floats: the array has a single number format.
pub fn no_floats(element: ElementType) -> Reject {
    Reject::new(
        format!("its elements are {element:?}, not floats"),
        "convert it to float, or end the model before it and compute the rest on the host",
    )
}
