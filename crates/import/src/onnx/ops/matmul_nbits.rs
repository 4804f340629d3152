//! MatMulNBits: a product with weights of 2, 4 or 8 bits, with one scale and zero point per block
//! of a row.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, MatMul};
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::super::attributes::unsupported;
use super::super::context::{Context, described};
use super::super::error::Reason;
use crate::elements::{packed, typed};
use crate::shape::check_constant;

/// Layout of the weights.
struct Blocks {
    /// Weights per row. A row computes one column of the result.
    columns: usize,
    rows: usize,
    bits: usize,
    /// Weights per block.
    size: usize,
    /// For each weight of a row, the block of its scale and zero point. `None` if it is the block
    /// that holds its bits; otherwise, columns were quantized in order of importance.
    order: Option<Vec<usize>>,
}

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "A")?;
    let blocks = Blocks::read(context)?;
    context.attributes.without_effect("accuracy_level"); // we compute in 32-bit floats
    let weights = blocks.weights(context)?;
    let weights = typed(context.element(x), vec![blocks.columns, blocks.rows], TensorData::F32(weights))?;
    let weights = context.make_constant(weights);
    let Some(bias) = context.optional(5) else { return Ok(vec![context.emit(MatMul, vec![x, weights])?]) };
    let product = context.helper("product", MatMul, vec![x, weights])?;
    Ok(vec![context.emit(Binary { kind: BinaryKind::Add }, vec![product, bias])?])
}

impl Blocks {
    fn read(context: &mut Context<'_>) -> Result<Self, Reason> {
        let mut size = |name: &'static str| {
            let stated = context.attributes.int(name)?.ok_or(Reason::AttributeMissing { name })?;
            let legal = || unsupported(name, stated, "1 to 2147483647");
            usize::try_from(stated)
                .ok()
                .filter(|size| (1..=i32::MAX as usize).contains(size))
                .ok_or_else(legal)
        };
        let (columns, rows, block) = (size("K")?, size("N")?, size("block_size")?);
        check_constant(&[columns, rows])?;
        let bits = context.attributes.int_or("bits", 4)?;
        if ![2, 4, 8].contains(&bits) {
            return Err(unsupported("bits", bits, "2, 4 or 8"));
        }
        let prepacked = context.attributes.int_or("weight_prepacked", 0)?;
        if prepacked != 0 {
            return Err(unsupported(
                "weight_prepacked",
                prepacked,
                "0: other layouts are of one graphics card",
            ));
        }
        let order = order(context, columns, columns.div_ceil(block))?;
        Ok(Self { columns, rows, bits: bits as usize, size: block, order })
    }

    /// Blocks per row.
    fn count(&self) -> usize {
        self.columns.div_ceil(self.size)
    }

    /// Bytes per block.
    fn bytes(&self) -> usize {
        (self.size * self.bits).div_ceil(8)
    }

    /// Dequantizes the weights, `[columns, rows]`.
    fn weights(&self, context: &mut Context<'_>) -> Result<Vec<f32>, Reason> {
        let Self { columns, rows, bits, size, ref order } = *self;
        let count = self.count();
        let codes =
            self.bytes_of(context, 1, "B", rows.saturating_mul(count).saturating_mul(self.bytes()))?;
        // The file holds these elements, so they do not use the folding budget.
        context.allow(rows * columns);
        let scales = context.input(2, "scales")?;
        let scales = self.numbers(context, scales, "scales")?;
        let zeros = self.zeros(context)?;
        let mut weights = vec![0.0; rows * columns];
        for block in 0..rows * count {
            let (row, first) = (block / count, block % count * size);
            let bytes = &codes[block * self.bytes()..][..self.bytes()];
            let length = size.min(columns - first);
            for (column, code) in (first..).zip(packed(bytes, bits, length)) {
                let group = order.as_ref().map_or(block, |order| row * count + order[column]);
                weights[column * rows + row] = (code as f32 - zeros[group]) * scales[group];
            }
        }
        Ok(weights)
    }

    /// Zero point of each block: floats, or integers whose rows begin at a byte boundary. Defaults
    /// to the middle of the range.
    fn zeros(&self, context: &mut Context<'_>) -> Result<Vec<f32>, Reason> {
        let count = self.count();
        let Some(zeros) = context.optional(3) else {
            return Ok(vec![(1 << (self.bits - 1)) as f32; self.rows * count]);
        };
        if context.element(zeros).is_float() {
            return self.numbers(context, zeros, "zero_points");
        }
        let width = (count * self.bits).div_ceil(8);
        let bytes = self.bytes_of(context, 3, "zero_points", self.rows * width)?;
        let row = |row: &[u8]| packed(row, self.bits, count).map(|zero| zero as f32).collect::<Vec<f32>>();
        Ok(bytes.chunks(width).flat_map(row).collect())
    }

    /// Returns one number per block.
    fn numbers(&self, context: &Context<'_>, id: ValueId, operand: &'static str) -> Result<Vec<f32>, Reason> {
        let tensor = context.constant(id, operand)?;
        let expected = self.rows * self.count();
        match tensor.as_f32() {
            Some(numbers) if numbers.len() == expected => Ok(numbers.to_vec()),
            _ => Err(wrong(operand, &tensor, format!("{expected} floats"))),
        }
    }

    fn bytes_of(
        &self,
        context: &mut Context<'_>,
        index: usize,
        operand: &'static str,
        expected: usize,
    ) -> Result<Vec<u8>, Reason> {
        let id = context.input(index, operand)?;
        let tensor = context.constant(id, operand)?;
        match tensor.data() {
            TensorData::I32(bytes) if tensor.element() == ElementType::U8 && bytes.len() == expected => {
                Ok(bytes.iter().map(|&byte| byte as u8).collect())
            }
            _ => Err(wrong(operand, &tensor, format!("{expected} bytes"))),
        }
    }
}

/// Reads operand g_idx: for each of `columns` weights of a row, its block of `count` blocks.
fn order(context: &mut Context<'_>, columns: usize, count: usize) -> Result<Option<Vec<usize>>, Reason> {
    let Some(order) = context.optional(4) else { return Ok(None) };
    let order = context.constant(order, "g_idx")?;
    let legal = || wrong("g_idx", &order, format!("{columns} numbers of blocks, each 0 to {}", count - 1));
    let TensorData::I32(blocks) = order.data() else { return Err(legal()) };
    // Some files fill up the last block with numbers, although the row ends before.
    let blocks = blocks.get(..columns).ok_or_else(legal)?;
    let block = |&block: &i32| usize::try_from(block).ok().filter(|&block| block < count);
    blocks.iter().map(block).collect::<Option<_>>().ok_or_else(legal).map(Some)
}

fn wrong(operand: &'static str, tensor: &Tensor, legal: String) -> Reason {
    Reason::OperandValue { operand, found: described(tensor), legal }
}
