//! [`Model`]: the supported fields of a TensorFlow Lite file, numbered as in `schema.fbs` (version
//! 3).

use npukit_numeric::ElementType;

use super::flatbuffer::{Damage, Table};
use crate::error::Reason;

/// Identifier of a file, after the offset of its first table.
pub(super) const IDENTIFIER: &[u8] = b"TFL3";

/// Content of a file, with at least one graph.
pub(super) struct Model<'a> {
    /// Graphs of the file. The interpreter runs the first one; operators refer to the others by
    /// number.
    pub(super) graphs: Vec<Graph<'a>>,
    /// Names of the signatures, and the numbers of their graphs.
    pub(super) signatures: Vec<(String, u32)>,
}

/// A graph of the file.
pub(super) struct Graph<'a> {
    /// Tensors, by number.
    pub(super) tensors: Vec<Tensor<'a>>,
    /// Operators, in the order in which they run.
    pub(super) operators: Vec<Operator<'a>>,
    /// Tensor numbers of the inputs.
    pub(super) inputs: Vec<i32>,
    /// Tensor numbers of the outputs.
    pub(super) outputs: Vec<i32>,
}

/// A tensor of a graph.
pub(super) struct Tensor<'a> {
    /// Name, which may be empty or not unique.
    pub(super) name: String,
    /// Sizes when the file was made; an open batch is 1.
    pub(super) shape: Vec<i32>,
    /// Sizes with -1 for open ones; empty if all are fixed.
    pub(super) signature: Vec<i32>,
    /// Code of the element type.
    pub(super) kind: i8,
    /// Elements; empty if the file does not store them.
    pub(super) data: &'a [u8],
    /// Quantization of the integers; `None` if they are not quantized.
    pub(super) scales: Option<Scales>,
    /// Whether it keeps its elements from run to run.
    pub(super) is_variable: bool,
    /// Positions of stored elements, if zeros are omitted.
    pub(super) sparsity: Option<Table<'a>>,
}

/// Quantization by `(q - zero point) * scale`.
#[derive(Clone)]
pub(super) struct Scales {
    pub(super) scale: Vec<f32>,
    pub(super) zero_point: Vec<i64>,
    pub(super) axis: i32,
}

/// An operator of a graph.
pub(super) struct Operator<'a> {
    /// Number of the operator in the schema.
    pub(super) code: i32,
    /// Name of a custom operator.
    pub(super) custom: String,
    /// Tensor numbers of the operands, -1 for an omitted one.
    pub(super) inputs: Vec<i32>,
    /// Tensor numbers of the results.
    pub(super) outputs: Vec<i32>,
    /// Options of the operator.
    pub(super) options: Option<Table<'a>>,
    /// Options of a custom operator, as bytes.
    pub(super) custom_options: &'a [u8],
}

impl<'a> Model<'a> {
    /// Reads the model in a file.
    ///
    /// # Errors
    ///
    /// [`Damage`] if offsets are outside the file, or if there are far more numbers than the file
    /// has bytes.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Damage> {
        if bytes.get(4..8) != Some(IDENTIFIER) {
            return Err(Damage { offset: 4, reason: "the identifier TFL3 is missing" });
        }
        let root = Table::root(bytes)?;
        let codes = root.tables(1)?;
        let buffers = root.tables(4)?;
        let mut room = Room(bytes.len());
        let graphs = root.tables(2)?.into_iter().map(|table| graph(&table, &codes, &buffers, &mut room));
        let graphs = graphs.collect::<Result<Vec<_>, _>>()?;
        if graphs.is_empty() {
            return Err(Damage { offset: 0, reason: "it does not hold a graph" });
        }
        let signatures = root.tables(7)?.into_iter().map(|table| {
            let name = table.text(2)?;
            room.take(1 + name.len())?;
            Ok((name, table.u32(4)?))
        });
        Ok(Self { graphs, signatures: signatures.collect::<Result<_, Damage>>()? })
    }
}

fn graph<'a>(
    table: &Table<'a>,
    codes: &[Table<'a>],
    buffers: &[Table<'a>],
    room: &mut Room,
) -> Result<Graph<'a>, Damage> {
    let (inputs, outputs) = (table.integers(1)?, table.integers(2)?);
    room.take(1 + inputs.len() + outputs.len())?;
    let tensors = table.tables(0)?.into_iter().map(|table| tensor(&table, buffers, room));
    let tensors = tensors.collect::<Result<_, _>>()?;
    let operators = table.tables(3)?.into_iter().map(|table| operator(&table, codes, room));
    Ok(Graph { tensors, operators: operators.collect::<Result<_, _>>()?, inputs, outputs })
}

/// Remaining numbers that may be read. A damaged file may share one vector among many tables.
struct Room(usize);

impl Room {
    fn take(&mut self, count: usize) -> Result<(), Damage> {
        let left = self.0.checked_sub(count);
        self.0 = left.ok_or(Damage { offset: 0, reason: "its tables repeat the same data too often" })?;
        Ok(())
    }
}

fn tensor<'a>(table: &Table<'a>, buffers: &[Table<'a>], room: &mut Room) -> Result<Tensor<'a>, Damage> {
    let (name, shape, signature) = (table.text(3)?, table.integers(0)?, table.integers(7)?);
    let scales = table.table(4)?.map(|table| scales(&table)).transpose()?.flatten();
    let numbers = scales.as_ref().map_or(0, |scales| scales.scale.len() + scales.zero_point.len());
    room.take(name.len() + shape.len() + signature.len() + numbers)?;
    let data = match buffers.get(table.u32(2)? as usize) {
        Some(buffer) => content(buffer)?,
        None => &[],
    };
    Ok(Tensor {
        name,
        shape,
        signature,
        kind: table.i8(1, 0)?,
        data,
        scales,
        is_variable: table.flag(5)?,
        sparsity: table.table(6)?,
    })
}

fn scales(table: &Table<'_>) -> Result<Option<Scales>, Damage> {
    let scale: Vec<f32> = table.elements(2)?.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let zero_point = table.elements(3)?.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect();
    let axis = table.i32(6, 0)?;
    Ok((!scale.is_empty()).then_some(Scales { scale, zero_point, axis }))
}

/// Bytes of a buffer. In a large file, they are stored after its tables.
fn content<'a>(buffer: &Table<'a>) -> Result<&'a [u8], Damage> {
    let (offset, size) = (buffer.u64(1)?, buffer.u64(2)?);
    if offset <= 1 {
        return buffer.bytes(0);
    }
    let range =
        usize::try_from(offset).ok().zip(offset.checked_add(size).and_then(|end| usize::try_from(end).ok()));
    let bytes = range.and_then(|(start, end)| buffer.file().get(start..end));
    bytes.ok_or(Damage { offset: 0, reason: "a buffer ends beyond the file" })
}

fn operator<'a>(table: &Table<'a>, codes: &[Table<'a>], room: &mut Room) -> Result<Operator<'a>, Damage> {
    let unknown = Damage { offset: 0, reason: "an operator's code is not among the file's codes" };
    let code = codes.get(table.u32(0)? as usize).ok_or(unknown)?;
    // Codes starting at 127 do not fit the older field.
    let number = i32::from(code.i8(0, 0)?).max(code.i32(3, 0)?);
    let (custom, inputs, outputs) = (code.text(1)?, table.integers(1)?, table.integers(2)?);
    room.take(1 + custom.len() + inputs.len() + outputs.len())?;
    let (options, custom_options) = (table.table(4)?, table.bytes(5)?);
    Ok(Operator { code: number, custom, inputs, outputs, options, custom_options })
}

/// Code of complex numbers of two floats.
pub(super) const COMPLEX: i8 = 8;

/// Returns the element type of a code; for complex numbers, the type of their parts.
pub(super) fn element_type(code: i8) -> Result<ElementType, Reason> {
    Ok(match code {
        0 | COMPLEX => ElementType::F32,
        1 => ElementType::F16,
        2 => ElementType::I32,
        3 => ElementType::U8,
        4 => ElementType::I64,
        6 => ElementType::Bool,
        7 => ElementType::I16,
        9 => ElementType::I8,
        10 => ElementType::F64,
        12 => ElementType::U64,
        15 => ElementType::U32,
        16 => ElementType::U16,
        17 => ElementType::I4,
        18 => ElementType::BF16,
        code => return Err(Reason::ElementType { name: format!("code {code}") }),
    })
}
