//! [`Context`]: the view of an operator that its handler gets, and functions that add to the graph.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Clip, Relu, Unary, UnaryKind, Window};
use npukit_numeric::ElementType;

use super::flatbuffer::Damage;
use super::model::Operator;
use crate::error::Reason;
use crate::node::{NodeBuilder, unsupported};
use crate::padding;
use crate::tensorflow::proto::{Attr, AttrValue, NodeDef};
use crate::tensorflow::{self, Blocks};

/// Maximum stride, dilation or kernel, so that all computed sizes fit 64 bits.
const MAX_WINDOW: i32 = 1 << 24;

/// Operands that keep state from run to run, by index, with their new values.
pub(super) type States = Vec<(usize, ValueId)>;

/// An operator during its translation: a [`NodeBuilder`] with the options of TensorFlow Lite.
/// Operands are real numbers.
pub(super) struct Context<'a> {
    /// Name of the operator in the schema.
    pub(super) op: &'static str,
    /// Element type of the first result; a float type if the result is quantized.
    pub(super) result: ElementType,
    operator: &'a Operator<'a>,
    states: States,
    is_complex: bool,
    builder: NodeBuilder<'a>,
    blocks: &'a mut Blocks,
}

impl<'a> Deref for Context<'a> {
    type Target = NodeBuilder<'a>;

    fn deref(&self) -> &Self::Target {
        &self.builder
    }
}

impl DerefMut for Context<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

/// Problem of a field of the options.
fn damaged(Damage { offset, reason }: Damage) -> Reason {
    unsupported("builtin_options", format!("byte {offset}"), reason)
}

impl<'a> Context<'a> {
    /// Creates the context of an operator called `op`, whose first result has the type `result`.
    pub(super) fn new(
        builder: NodeBuilder<'a>,
        op: &'static str,
        operator: &'a Operator<'a>,
        result: ElementType,
        is_complex: bool,
        blocks: &'a mut Blocks,
    ) -> Self {
        Self { op, result, operator, states: Vec::new(), is_complex, builder, blocks }
    }

    /// Whether the first operand is complex: pairs of floats along an additional axis.
    pub(super) fn is_complex(&self) -> bool {
        self.is_complex
    }

    /// Sets the new value of the operand at `index`, which keeps state from run to run.
    pub(super) fn keep(&mut self, index: usize, value: ValueId) {
        self.states.push((index, value));
    }

    /// New values of the operands that keep state.
    pub(super) fn into_states(self) -> States {
        self.states
    }

    /// Returns an integer of the options; here and below, `default` is the schema's.
    pub(super) fn int(&self, field: usize, default: i32) -> Result<i32, Reason> {
        self.operator.options.map_or(Ok(default), |options| options.i32(field, default)).map_err(damaged)
    }

    /// Returns an enum of the options; 0 if it is absent.
    pub(super) fn code(&self, field: usize) -> Result<i8, Reason> {
        self.operator.options.map_or(Ok(0), |options| options.i8(field, 0)).map_err(damaged)
    }

    /// Returns a truth value of the options; false if it is absent.
    pub(super) fn flag(&self, field: usize) -> Result<bool, Reason> {
        Ok(self.code(field)? != 0)
    }

    /// Returns a float of the options.
    pub(super) fn float(&self, field: usize, default: f32) -> Result<f32, Reason> {
        self.operator.options.map_or(Ok(default), |options| options.f32(field, default)).map_err(damaged)
    }

    /// Returns the options of a custom operator as 32-bit integers.
    pub(super) fn custom_options(&self) -> Vec<i32> {
        let chunks = self.operator.custom_options.as_chunks().0;
        chunks.iter().take(8).map(|&bytes| i32::from_le_bytes(bytes)).collect()
    }

    /// Returns integers of the options; empty if the field is absent.
    pub(super) fn ints(&self, field: usize) -> Result<Vec<i32>, Reason> {
        self.operator
            .options
            .map_or_else(|| Ok(Vec::new()), |options| options.integers(field))
            .map_err(damaged)
    }

    /// Returns floats of the options; empty if the field is absent.
    pub(super) fn floats_of(&self, field: usize) -> Result<Vec<f32>, Reason> {
        let elements = self.operator.options.map_or(Ok(&[][..]), |options| options.elements(field));
        Ok(elements.map_err(damaged)?.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }

    /// Returns a window size at `field`, at least 1.
    pub(super) fn size(&self, field: usize, name: &'static str, default: i32) -> Result<usize, Reason> {
        let found = self.int(field, default)?;
        let legal = usize::try_from(found).ok().filter(|_| (1..=MAX_WINDOW).contains(&found));
        legal.ok_or_else(|| unsupported(name, found, format!("1 to {MAX_WINDOW}")))
    }

    /// Returns rows and columns. The schema stores columns at `field` and rows at the next field.
    pub(super) fn sizes(&self, field: usize, name: &'static str, default: i32) -> Result<[usize; 2], Reason> {
        Ok([self.size(field + 1, name, default)?, self.size(field, name, default)?])
    }

    /// Windows over an image `[n, h, w, c]` with the padding in field 0: SAME (0) or VALID (1).
    pub(super) fn window(
        &self,
        x: ValueId,
        kernel: [usize; 2],
        strides: [usize; 2],
        dilations: [usize; 2],
    ) -> Result<Window, Reason> {
        let mut window = Window { kernel, strides, dilations, pads: [0; 4], ceil_mode: false };
        let &[_, rows, columns, _] = self.shape(x) else { return Err(self.no_image(x)) };
        match self.code(0)? {
            0 => {
                let reach = window.reach()?;
                for (axis, size) in [rows, columns].into_iter().enumerate() {
                    let pads = padding::same(size, reach[axis], strides[axis]);
                    (window.pads[axis], window.pads[axis + 2]) = (pads / 2, pads - pads / 2);
                }
            }
            1 => {}
            other => return Err(unsupported("padding", other, "SAME (0) or VALID (1)")),
        }
        Ok(window)
    }

    /// Error for an operand that is not an image.
    pub(super) fn no_image(&self, x: ValueId) -> Reason {
        let (found, legal) = (format!("{:?}", self.shape(x)), "[n, h, w, c]".to_owned());
        Reason::OperandValue { operand: "input", found, legal }
    }

    /// Applies the activation function of the enum at `field` to the result.
    pub(super) fn activated(&mut self, y: ValueId, field: usize) -> Result<ValueId, Reason> {
        match self.code(field)? {
            0 => Ok(y),
            1 => self.emit(Relu, vec![y]),
            2 => self.emit(Clip { min: -1.0, max: 1.0 }, vec![y]),
            3 => self.emit(Clip { min: 0.0, max: 6.0 }, vec![y]),
            4 => self.emit(Unary { kind: UnaryKind::Tanh }, vec![y]),
            other => Err(unsupported("fused_activation_function", other, "0 to 4: NONE to TANH")),
        }
    }

    /// Adds the operand at `index` to `y`, if it is present.
    pub(super) fn biased(&mut self, y: ValueId, index: usize) -> Result<ValueId, Reason> {
        match self.optional(index) {
            Some(bias) => self.emit(Binary { kind: BinaryKind::Add }, vec![y, bias]),
            None => Ok(y),
        }
    }

    /// Adds TensorFlow's operator `op` with these attributes and operands, and returns its results.
    pub(super) fn tensorflow(
        &mut self,
        op: &str,
        attributes: impl IntoIterator<Item = (&'static str, Attr)>,
        operands: Vec<ValueId>,
    ) -> Result<Vec<ValueId>, Reason> {
        let attr: BTreeMap<_, _> = attributes
            .into_iter()
            .map(|(name, value)| (name.to_owned(), AttrValue { value: Some(value) }))
            .collect();
        let name = self.builder.name().to_owned();
        let node = NodeDef { name, op: op.to_owned(), attr, ..NodeDef::default() };
        let operands = operands.into_iter().map(Some).collect();
        tensorflow::translate(self.builder.builder(), &node, operands, self.blocks)
    }

    /// Returns all operands that are present.
    pub(super) fn all_operands(&mut self) -> Vec<ValueId> {
        (0..self.operands()).filter_map(|index| self.optional(index)).collect()
    }

    /// Returns an error if the handler left a part of the operator unread.
    pub(super) fn finish(&self) -> Result<(), Reason> {
        match self.unread() {
            Some(index) => Err(Reason::OperandUnknown { index, name: String::new(), opset: None }),
            None => Ok(()),
        }
    }
}
