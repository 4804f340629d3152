//! Helpers of [`NodeBuilder`] for operators that are composed of other operators: one line per
//! emitted operator.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Reduce, ReduceKind, Reshape, Tile, Unary, UnaryKind,
    Where,
};
use npukit_numeric::{ElementType, Storage, Tensor, TensorData};

use crate::elements::typed;
use crate::error::Reason;
use crate::node::NodeBuilder;
use crate::shape::tensor;

impl NodeBuilder<'_> {
    /// Adds a scalar constant with the element type of `like`.
    pub(crate) fn scalar(&mut self, like: ValueId, number: f32) -> Result<ValueId, Reason> {
        let element = self.element(like);
        let data = match element.storage() {
            Storage::F32 => TensorData::F32(vec![number]),
            Storage::I64 => TensorData::I64(vec![number as i64]),
            Storage::I32 => TensorData::I32(vec![number as i32]),
            Storage::Bool => TensorData::Bool(vec![number != 0.0]),
        };
        let tensor = typed(element, Vec::new(), data)?;
        Ok(self.make_constant(tensor))
    }

    /// Adds a constant of 64-bit integers.
    pub(crate) fn indices(&mut self, shape: Vec<usize>, values: Vec<i64>) -> Result<ValueId, Reason> {
        let tensor = tensor(shape, TensorData::I64(values))?;
        Ok(self.make_constant(tensor))
    }

    /// Adds a constant with the element type of `like`.
    pub(crate) fn floats_like(
        &mut self,
        like: ValueId,
        shape: Vec<usize>,
        values: Vec<f32>,
    ) -> Result<ValueId, Reason> {
        let tensor = typed(self.element(like), shape, TensorData::F32(values))?;
        Ok(self.make_constant(tensor))
    }

    /// Returns `value` repeated to `shape`, with the element type of `like`. A large result stays
    /// an Expand node.
    pub(crate) fn filled(&mut self, like: ValueId, value: f32, shape: &[usize]) -> Result<ValueId, Reason> {
        let scalar = self.scalar(like, value)?;
        let one = self.reshape(scalar, vec![1; shape.len()])?;
        self.helper("filled", Tile { repeats: shape.to_vec() }, vec![one])
    }

    pub(crate) fn binary(
        &mut self,
        kind: BinaryKind,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId, Reason> {
        let suffix = match kind {
            BinaryKind::Add => "sum",
            BinaryKind::Sub => "difference",
            BinaryKind::Mul => "product",
            BinaryKind::Div => "quotient",
            BinaryKind::Mod | BinaryKind::Fmod => "remainder",
            BinaryKind::Max | BinaryKind::Min => "extreme",
        };
        self.helper(suffix, Binary { kind }, vec![left, right])
    }

    pub(crate) fn compare(
        &mut self,
        kind: CompareKind,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId, Reason> {
        self.helper("condition", Compare { kind }, vec![left, right])
    }

    pub(crate) fn choose(
        &mut self,
        condition: ValueId,
        yes: ValueId,
        no: ValueId,
    ) -> Result<ValueId, Reason> {
        self.helper("choice", Where, vec![condition, yes, no])
    }

    pub(crate) fn unary(&mut self, kind: UnaryKind, x: ValueId) -> Result<ValueId, Reason> {
        self.helper("function", Unary { kind }, vec![x])
    }

    pub(crate) fn cast(&mut self, x: ValueId, to: ElementType) -> Result<ValueId, Reason> {
        if self.element(x) == to { Ok(x) } else { self.helper("cast", Cast::new(to), vec![x]) }
    }

    pub(crate) fn reshape(&mut self, x: ValueId, shape: Vec<usize>) -> Result<ValueId, Reason> {
        if self.shape(x) == shape { Ok(x) } else { self.helper("shape", Reshape { shape }, vec![x]) }
    }

    pub(crate) fn reduce(
        &mut self,
        kind: ReduceKind,
        x: ValueId,
        axes: Vec<usize>,
        keep_dims: bool,
    ) -> Result<ValueId, Reason> {
        self.helper("reduced", Reduce { kind, axes, keep_dims }, vec![x])
    }

    /// Converts negative indices, which count from the end of an axis of `size`, to positions from
    /// 0.
    pub(crate) fn counted_from_front(&mut self, indices: ValueId, size: usize) -> Result<ValueId, Reason> {
        let (zero, size) = (self.scalar(indices, 0.0)?, self.indices(Vec::new(), vec![size as i64])?);
        let size = self.cast(size, self.element(indices))?;
        let negative = self.compare(CompareKind::Less, indices, zero)?;
        let moved = self.binary(BinaryKind::Add, indices, size)?;
        self.choose(negative, moved, indices)
    }

    /// Returns a constant operand of any shape, or `None` if the operand is absent.
    pub(crate) fn reals(&mut self, index: usize, operand: &'static str) -> Result<Option<Tensor>, Reason> {
        let Some(id) = self.optional(index) else { return Ok(None) };
        Ok(Some(self.constant(id, operand)?.as_ref().clone()))
    }
}
