//! GatherBlockQuantized: rows of a table of narrow numbers, with one scale and zero point per block
//! of a row.

use npukit_graph::ValueId;
use npukit_graph::op::Gather;
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::super::attributes::unsupported;
use super::super::context::{Context, described};
use super::super::error::Reason;
use crate::elements::{packed, typed};
use crate::shape::check_constant;

/// Layout of the table, and the axes of its scales.
struct Table {
    /// Shape of the elements, not of the bytes that hold them.
    shape: Vec<usize>,
    /// Elements per byte.
    per_byte: usize,
    bits: usize,
    /// Axis with blocks.
    axis: usize,
    /// Elements per block along the axis.
    block: usize,
    /// Default zero point.
    zero: f32,
}

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, indices) = (context.input(0, "data")?, context.input(1, "indices")?);
    let scales = context.input(2, "scales")?;
    let table = Table::read(context, data)?;
    let axis = Context::axis("gather_axis", context.attributes.int_or("gather_axis", 0)?, table.shape.len())?;
    if table.per_byte > 1 && axis + 1 == table.shape.len() {
        return Err(unsupported("gather_axis", axis, "an axis before the last, whose elements share bytes"));
    }
    let values = table.values(context, data, scales)?;
    let values = typed(context.element(scales), table.shape, TensorData::F32(values))?;
    let values = context.make_constant(values);
    if context.is_constant(indices) {
        let shape = context.shape(indices).to_vec();
        context.reserve(&shape)?;
    }
    Ok(vec![context.emit(Gather { axis }, vec![values, indices])?])
}

impl Table {
    fn read(context: &mut Context<'_>, data: ValueId) -> Result<Self, Reason> {
        let (element, mut shape) = (context.element(data), context.shape(data).to_vec());
        let axis =
            Context::axis("quantize_axis", context.attributes.int_or("quantize_axis", 1)?, shape.len())?;
        let stated = context.attributes.int_or("bits", 4)?;
        // Bytes hold numbers of the stated bits; other types determine their width.
        let is_packed = element == ElementType::U8;
        let bits = if is_packed { stated as usize } else { element.bits() };
        if is_packed && ![2, 4, 8].contains(&stated) {
            return Err(unsupported("bits", stated, "2, 4 or 8"));
        }
        let per_byte = if is_packed { 8 / bits } else { 1 };
        if let Some(last) = shape.last_mut() {
            *last = last.saturating_mul(per_byte);
        }
        check_constant(&shape)?;
        let zero = if is_packed { (1 << (bits - 1)) as f32 } else { 0.0 };
        let stated = context.attributes.int_or("block_size", 128)?;
        let legal = || unsupported("block_size", stated, "1 to 2147483647, or 0 for one block in floats");
        let block = match usize::try_from(stated).map_err(|_| legal())? {
            0 if element.is_float() => shape[axis].max(1),
            size if (1..=i32::MAX as usize).contains(&size) => size,
            _ => return Err(legal()),
        };
        Ok(Self { shape, per_byte, bits, axis, block, zero })
    }

    /// Number of elements before the axis, along it and after it.
    fn extents(&self) -> [usize; 3] {
        let product = |sizes: &[usize]| sizes.iter().product();
        [product(&self.shape[..self.axis]), self.shape[self.axis], product(&self.shape[self.axis + 1..])]
    }

    /// Dequantizes the table.
    fn values(&self, context: &mut Context<'_>, data: ValueId, scales: ValueId) -> Result<Vec<f32>, Reason> {
        let codes = self.codes(&*context.constant(data, "data")?)?;
        let scales = context.constant(scales, "scales")?;
        let mut blocks = self.shape.clone();
        blocks[self.axis] = blocks[self.axis].div_ceil(self.block);
        let scales = match scales.as_f32() {
            Some(floats) => spread(floats, scales.shape(), &blocks),
            None => None,
        }
        .ok_or_else(|| wrong("scales", &scales, format!("floats of shape {blocks:?}")))?;
        let zeros = self.zeros(context, &blocks)?;
        // The file holds these elements, so they do not use the folding budget.
        context.allow(codes.len());
        let [_, length, inner] = self.extents();
        let count = blocks[self.axis];
        let value = |(index, code): (usize, f32)| {
            let (row, place, column) = (index / inner / length, index / inner % length, index % inner);
            let block = (row * count + place / self.block) * inner + column;
            (code - zeros.as_ref().map_or(self.zero, |zeros| zeros[block])) * scales[block]
        };
        Ok(codes.into_iter().enumerate().map(value).collect())
    }

    /// Returns the zero point of each block, or `None` if the node has none. They are packed like
    /// the table.
    fn zeros(&self, context: &mut Context<'_>, blocks: &[usize]) -> Result<Option<Vec<f32>>, Reason> {
        let Some(zeros) = context.optional(3) else { return Ok(None) };
        let zeros = context.constant(zeros, "zero_points")?;
        let mut stored = blocks.to_vec();
        if let Some(last) = stored.last_mut() {
            *last = last.div_ceil(self.per_byte);
        }
        if zeros.shape() != stored {
            return Err(wrong("zero_points", &zeros, format!("as the data, of shape {stored:?}")));
        }
        let codes = self.codes(&zeros)?;
        // Rows end at a byte boundary, so the last byte may have unused elements.
        let (held, used) = match (stored.last(), blocks.last()) {
            (Some(&held), Some(&used)) => ((held * self.per_byte).max(1), used),
            _ => (1, 1),
        };
        Ok(Some(codes.chunks(held).flat_map(|row| &row[..used.min(row.len())]).copied().collect()))
    }

    /// Elements as numbers, unpacked from shared bytes.
    fn codes(&self, tensor: &Tensor) -> Result<Vec<f32>, Reason> {
        match tensor.data() {
            TensorData::F32(floats) => Ok(floats.clone()),
            TensorData::I32(bytes) if self.per_byte > 1 => {
                let bytes: Vec<u8> = bytes.iter().map(|&byte| byte as u8).collect();
                Ok(packed(&bytes, self.bits, bytes.len() * self.per_byte).map(|code| code as f32).collect())
            }
            TensorData::I32(integers) => Ok(integers.iter().map(|&code| code as f32).collect()),
            _ => Err(wrong("data", tensor, "bytes, or numbers of 4 or 8 bits".to_owned())),
        }
    }
}

/// Broadcasts numbers of shape `from` to shape `to`, whose axes of size 1 repeat. Returns `None` if
/// the shapes do not fit.
fn spread(numbers: &[f32], from: &[usize], to: &[usize]) -> Option<Vec<f32>> {
    if from == to {
        return Some(numbers.to_vec());
    }
    let fits = from.len() == to.len() && from.iter().zip(to).all(|(&from, &to)| from == to || from == 1);
    let place = |index: usize| {
        let (mut rest, mut place, mut stride) = (index, 0, 1);
        for (&from, &to) in from.iter().zip(to).rev() {
            place += if from == 1 { 0 } else { rest % to * stride };
            (rest, stride) = (rest / to, stride * from);
        }
        numbers.get(place).copied()
    };
    fits.then(|| (0..to.iter().product()).map(place).collect()).flatten()
}

fn wrong(operand: &'static str, tensor: &Tensor, legal: String) -> Reason {
    Reason::OperandValue { operand, found: described(tensor), legal }
}
