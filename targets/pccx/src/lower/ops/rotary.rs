//! Rotation of pairs of features: `x cos + R x sin`, with `R` a matrix of -1, 0 and 1 (specification 5.4).

use std::sync::Arc;

use npukit_graph::op::{Concat, Reshape, RotaryEmbedding};
use npukit_graph::{NodeId, Op, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::{Found, Work};
use crate::config::WORD_LANES;
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::layers::{Layers, Step};
use crate::lower::memory::Region;
use crate::lower::reason::HostReason;
use crate::op::{CvoFlags, CvoFunc, MacFlags};
use crate::weights::WeightImage;

/// Most features of a head that is rotated: the matrix that turns it has as many rows and columns.
pub const MAX_FEATURES: usize = 1024;

/// A rotation with its tables.
#[derive(Clone, Debug)]
pub struct Rotary {
    pub op: RotaryEmbedding,
    /// `[positions, head]`, a value for each feature.
    pub cosines: ValueId,
    pub sines: ValueId,
    /// Features of a head.
    pub head: usize,
    /// The row of the tables for each head of the operand.
    pub positions: Vec<usize>,
}

impl Layers {
    /// A rotation of every head by the rows of the tables for its positions.
    ///
    /// # Errors
    ///
    /// Why it is the host's.
    pub(super) fn rotary(
        &mut self,
        op: &RotaryEmbedding,
        x: ValueId,
        cosines: ValueId,
        sines: ValueId,
    ) -> Found {
        let (heads, sequence, head, by_position) = match *self.graph.shape(x) {
            [_, heads, sequence, head] => (heads, sequence, head, false),
            [_, sequence, hidden] => {
                let heads = op.heads.max(1);
                (heads, sequence, hidden / heads, true)
            }
            _ => return Err(HostReason::RotaryAxes),
        };
        if !head.is_multiple_of(WORD_LANES) {
            return Err(HostReason::RotaryHeads);
        }
        let count = self.size(x) / head.max(1);
        if head > MAX_FEATURES {
            return Err(HostReason::RotaryFeatures);
        }
        let position = |index: usize| match by_position {
            true => index / heads,
            false => index / (heads * sequence) * sequence + index % sequence,
        };
        let positions = (0..count).map(position).collect();
        let cosines = self.table(op, cosines, head, 1.0)?;
        let sines = self.table(op, sines, head, 0.0)?;
        // Constant tables stay in L2; others are operands.
        let moving = [cosines, sines].into_iter().filter(|&table| self.graph.constant(table).is_none());
        let operands = std::iter::once(x).chain(moving).collect();
        Ok((Work::Rotary(Rotary { op: op.clone(), cosines, sines, head, positions }), operands))
    }

    /// A table with a value for each feature of a head; `rest` is that of features that stay.
    fn table(
        &mut self,
        op: &RotaryEmbedding,
        id: ValueId,
        head: usize,
        rest: f32,
    ) -> Result<ValueId, HostReason> {
        let pairs = if op.interleaved { "neighbours" } else { "halves" };
        let name =
            format!("{} by feature, {pairs} of {}, {rest} to {head}", self.graph.value(id).name, op.size);
        if let Some(known) = self.graph.find_value(&name) {
            return Ok(known);
        }
        let Some(table) = self.graph.constant(id) else {
            return self.moving_table(op, id, head, rest, name);
        };
        let half = (op.size / 2).max(1);
        let mut values = Vec::new();
        for row in table.as_f32().ok_or(HostReason::RotaryTables)?.chunks_exact(half) {
            let pair = |feature: usize| if op.interleaved { feature / 2 } else { feature % half };
            let feature = |feature: usize| match feature < op.size {
                true => row[pair(feature)],
                false => rest,
            };
            values.extend((0..head).map(feature));
        }
        let shape = vec![values.len() / head, head];
        let tensor = Tensor::new(shape, TensorData::F32(values)).map_err(|_| HostReason::Unmade)?;
        Ok(self.graph.add_constant(name, tensor))
    }

    /// The same of tables that the host computes in every run.
    fn moving_table(
        &mut self,
        op: &RotaryEmbedding,
        id: ValueId,
        head: usize,
        rest: f32,
        name: String,
    ) -> Result<ValueId, HostReason> {
        let shape = self.graph.shape(id).to_vec();
        let (half, rows) = (op.size / 2, shape.iter().rev().skip(1).product());
        let twice = match op.interleaved {
            true => {
                let single = self.on_host(Reshape { shape: vec![rows, half, 1] }, &[id], "as a column")?;
                self.on_host(Concat { axis: 2 }, &[single, single], "in pairs")?
            }
            false => self.on_host(Concat { axis: shape.len() - 1 }, &[id, id], "in halves")?,
        };
        let mut table = self.on_host(Reshape { shape: vec![rows, op.size] }, &[twice], "in rows")?;
        if op.size < head {
            let shape = vec![rows, head - op.size];
            let staying = vec![rest; rows * (head - op.size)];
            let staying = Tensor::from_f32(shape, staying).map_err(|_| HostReason::Unmade)?;
            let staying = self.graph.add_constant(format!("rest of {name}"), staying);
            table = self.on_host(Concat { axis: 1 }, &[table, staying], "with the rest")?;
        }
        self.graph.values[table.0 as usize].name = name;
        Ok(table)
    }

    /// A node more, for the host.
    fn on_host(
        &mut self,
        op: impl Into<Op>,
        operands: &[ValueId],
        what: &str,
    ) -> Result<ValueId, HostReason> {
        let name = format!("{} {what}", self.graph.value(operands[0]).name);
        let results = self.graph.add_node(name.clone(), op.into(), operands.to_vec(), &[&name]);
        let results = results.map_err(|_| HostReason::Unmade)?;
        let work = Work::Host(HostReason::AddedTables);
        let nodes = vec![NodeId((self.graph.nodes.len() - 1) as u32)];
        self.steps.push(Step { work, nodes, operands: operands.to_vec(), results: results.clone() });
        Ok(results[0])
    }
}

impl Lowering<'_> {
    /// Multiplies by the cosines, and what the matrix turns by the sines; their sum is the result.
    ///
    /// # Errors
    ///
    /// Too little room in L2.
    pub(super) fn rotate(&mut self, rotary: &Rotary, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let head = rotary.head;
        let source = self.fetch(x)?;
        let [cosines, sines] = [rotary.cosines, rotary.sines].map(|table| self.table(table));
        let (cosines, sines) = (cosines?, sines?);
        let turned = self.allocate(source.values)?;
        let image = self.turning(rotary)?;
        let heads = rotary.positions.len();
        self.multiply(&[image], [source.base, turned.base], [heads, head, head], MacFlags::default())?;
        let region = self.turn(x)?;
        for (index, position) in rotary.positions.iter().enumerate() {
            let (start, at) = (index * head, position * head);
            self.code.cvo(CvoFunc::Mul, cosines.at(at), region.at(start), head, CvoFlags::PLAIN);
            self.code.cvo(CvoFunc::Mul, sines.at(at), turned.at(start), head, CvoFlags::PLAIN);
        }
        let one = self.scalar(1.0)?;
        self.scale([turned.base, one, region.base], true, source.values, CvoFlags::ADD)?;
        self.release(turned);
        self.place(result, region);
        Ok(())
    }

    /// A table that stays in L2 when it is the same in every run.
    fn table(&mut self, id: ValueId) -> Result<Region, LowerError> {
        let Some(table) = self.graph.constant(id).cloned() else { return self.fetch(id) };
        let name = self.graph.value(id).name.clone();
        self.keep(&name, || table.as_f32().expect("tables are made of floats").to_vec())
    }

    /// The weights of `R`: of a pair `(a, b)`, `a` becomes `-b` and `b` becomes `a`; what stays becomes 0.
    fn turning(&mut self, rotary: &Rotary) -> Result<u32, LowerError> {
        let (head, size, half) = (rotary.head, rotary.op.size, rotary.op.size / 2);
        let key = format!("rotation of {size} of {head}, {}", rotary.op.interleaved);
        if let Some(&[image]) = self.images.get(&key).map(Vec::as_slice) {
            return Ok(image);
        }
        let mut weights = vec![0i8; head * head];
        for pair in 0..half {
            let [a, b] = if rotary.op.interleaved { [2 * pair, 2 * pair + 1] } else { [pair, pair + half] };
            weights[a * head + b] = -1;
            weights[b * head + a] = 1;
        }
        let image = WeightImage::new(head, head, &weights, None);
        let image = image.map_err(|error| LowerError::Weights { name: key.clone(), error })?;
        let image = self.code.image(Arc::new(image));
        self.images.insert(key, vec![image]);
        Ok(image)
    }
}
