//! Rotation of pairs of features: `x cos + R x sin`, with `R` a matrix of -1, 0 and 1
//! (specification 5.4).

use std::sync::Arc;

use npukit_graph::op::{Concat, Reshape, RotaryEmbedding};
use npukit_graph::{NodeId, Op, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::NodeWork;
use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, CvoFunc, MacFlags};
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::limits::MAX_FEATURES;
use crate::lower::macros::Macros;
use crate::lower::memory::Region;
use crate::lower::options::{Isa, Options, Rotations};
use crate::lower::reason::HostReason;
use crate::lower::steps::{Layers, Step};
use crate::lower::work::{Rotary, Work};
use crate::machine::bf16::{bf, val};
use crate::machine::weights::WeightImage;
use crate::program::host::HostStep;

/// Maximum squared distance of (cosine, sine) from the unit circle; beyond it, tables contain other
/// factors.
const OFF_CIRCLE: f32 = 1e-3;

impl Layers {
    /// Lowers a rotation of each head by the table rows for its positions.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn rotary(
        &mut self,
        op: &RotaryEmbedding,
        x: ValueId,
        [cosines, sines]: [ValueId; 2],
        options: &Options,
    ) -> NodeWork {
        let by_products = options.isa == Isa::Base;
        if by_products && [cosines, sines].iter().any(|&table| self.graph.constant(table).is_none()) {
            return Err(HostReason::NoMultiply);
        }
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
        // Constant tables stay in L2, so only the other tables are operands.
        let moving = [cosines, sines].into_iter().filter(|&table| self.graph.constant(table).is_none());
        let operands = std::iter::once(x).chain(moving).collect();
        let own_tables = options.rotations == Rotations::Npu && self.has_angles([cosines, sines]);
        let op = op.clone();
        let rotary = Rotary { op, cosines, sines, head, positions, own_tables, by_products };
        Ok((Work::Rotary(rotary), operands))
    }

    /// Whether constant tables are cosines and sines of angles.
    fn has_angles(&self, [cosines, sines]: [ValueId; 2]) -> bool {
        let values = |id| self.graph.constant(id).and_then(|tensor| tensor.as_f32());
        let (Some(cosines), Some(sines)) = (values(cosines), values(sines)) else { return false };
        let on_circle = |(x, y): (&f32, &f32)| (x * x + y * y - 1.0).abs() < OFF_CIRCLE;
        let within = cosines.iter().chain(sines).all(|x| x.abs() <= 1.0);
        within && cosines.len() == sines.len() && cosines.iter().zip(sines).all(on_circle)
    }

    /// Returns a table with a value for each feature of a head; features that do not rotate get
    /// `rest`.
    fn table(
        &mut self,
        op: &RotaryEmbedding,
        id: ValueId,
        head: usize,
        rest: f32,
    ) -> Result<ValueId, HostReason> {
        let pairs = if op.interleaved { "neighbors" } else { "halves" };
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

    /// Like [`Self::table`], for tables that the host computes in each run.
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

    /// Adds a node for the host.
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
    /// Emits the rotation: multiplies by the cosines, and the product with the turning matrix by
    /// the sines, and adds both.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn rotate(&mut self, rotary: &Rotary, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        if rotary.by_products {
            return self.rotate_by_products(rotary, x, result);
        }
        let head = rotary.head;
        let source = self.fetch(x)?;
        let [cosines, sines] = self.tables(rotary)?;
        let turned = self.allocate(source.values)?;
        let image = self.turning(rotary)?;
        let heads = rotary.positions.len();
        self.multiply(&[vec![image]], [source.base, turned.base], [heads, head, head], MacFlags::default())?;
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

    /// Emits the products of all heads with a diagonal of cosines, and with the turning matrix that
    /// has the sines as scales, for all heads of one position at once. The second product adds to
    /// the first.
    fn rotate_by_products(&mut self, rotary: &Rotary, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let (source, head) = (self.fetch(x)?, rotary.head);
        let region = self.allocate(source.values)?;
        let mut start = 0;
        for heads in rotary.positions.chunk_by(|a, b| a == b) {
            let images = self.rotating(rotary, heads[0])?;
            let places = [source.at(start * head), region.at(start * head)];
            for (image, accm) in images.into_iter().zip([false, true]) {
                let flags = MacFlags { accm, w_scale: true, ..MacFlags::default() };
                self.multiply(&[vec![image]], places, [heads.len(), head, head], flags)?;
            }
            start += heads.len();
        }
        self.place(result, region);
        Ok(())
    }

    /// Returns the weights that rotate heads of a position. The machine's tables are sent to the
    /// host as scales, once per program.
    fn rotating(&mut self, rotary: &Rotary, position: usize) -> Result<[u32; 2], LowerError> {
        let key = |table| format!("rotation by row {position} of {}", self.graph.value(table).name);
        let keys = [rotary.cosines, rotary.sines].map(key);
        let known = |key: &String| self.images.get(key).and_then(|images| images.first().copied());
        if let [Some(cosines), Some(sines)] = [known(&keys[0]), known(&keys[1])] {
            return Ok([cosines, sines]);
        }
        let slots = self.table_slots(rotary)?;
        let diagonal = self.ones(rotary.head)?;
        let patterns = [diagonal, self.turning(rotary)?];
        let mut found = [0; 2];
        for ((found, key), (slot, pattern)) in found.iter_mut().zip(keys).zip(slots.into_iter().zip(patterns))
        {
            *found = self.code.image_again(pattern);
            let start = (position * rotary.head) as u32;
            self.code.step(HostStep::Scales { slot, start, image: *found });
            self.images.insert(key, vec![*found]);
        }
        Ok(found)
    }

    /// Returns host slots of the tables that [`Lowering::tables`] makes.
    fn table_slots(&mut self, rotary: &Rotary) -> Result<[ValueId; 2], LowerError> {
        if !rotary.own_tables {
            return Ok([rotary.cosines, rotary.sines]);
        }
        let key =
            format!("{} {}", self.graph.value(rotary.cosines).name, self.graph.value(rotary.sines).name);
        if let Some(&slots) = self.tables.get(&key) {
            return Ok(slots);
        }
        let slots = self.tables(rotary)?.map(|region| {
            let slot = self.slot("table of a rotation", vec![region.values]);
            let place = self.code.store(region);
            self.code.receive(slot, place);
            slot
        });
        self.tables.insert(key, slots);
        Ok(slots)
    }

    /// Returns cosines and sines in L2. They stay there if they are the same in each run.
    fn tables(&mut self, rotary: &Rotary) -> Result<[Region; 2], LowerError> {
        let tables = [rotary.cosines, rotary.sines];
        if !rotary.own_tables {
            return Ok([self.table(tables[0])?, self.table(tables[1])?]);
        }
        let values = |id| self.graph.constant(id).and_then(|tensor| tensor.as_f32()).map(<[f32]>::to_vec);
        let (Some(cosines), Some(sines)) = (values(tables[0]), values(tables[1])) else {
            return Err(LowerError::Fault("tables"));
        };
        let names = tables.map(|id| self.graph.value(id).name.clone());
        if rotary.by_products {
            // Several angles have an equal sine or cosine. The angle nearest to 0 is used, because
            // BF16 represents it most precisely.
            let angles =
                [cosines.iter().map(|x| x.acos()).collect(), sines.iter().map(|x| x.asin()).collect()];
            return self.both(names, angles, |lowering, region, function| {
                lowering.code.cvo(function, region.base, region.base, region.values, CvoFlags::PLAIN);
                Ok(())
            });
        }
        let angles: Vec<f32> = cosines.iter().zip(&sines).map(|(x, y)| y.atan2(*x)).collect();
        let rest: Vec<f32> = angles.iter().map(|&angle| angle - val(bf(angle))).collect();
        let rest_name = format!("rest of angles of {}", names.concat());
        self.both(names, [angles.clone(), angles], |lowering, region, function| {
            lowering.function_with_rest(region, function, &rest_name, &rest)
        })
    }

    /// Returns two tables that stay in L2, computed from angles.
    fn both(
        &mut self,
        names: [String; 2],
        [cosines, sines]: [Vec<f32>; 2],
        make: impl Fn(&mut Self, Region, CvoFunc) -> Result<(), LowerError>,
    ) -> Result<[Region; 2], LowerError> {
        let mut one = |name: &str, angles: Vec<f32>, function| {
            self.keep_made(
                &format!("{function:?} for {name}"),
                || angles,
                |own, region| make(own, region, function),
            )
        };
        let cosines = one(&names[0], cosines, CvoFunc::Cos)?;
        Ok([cosines, one(&names[1], sines, CvoFunc::Sin)?])
    }

    /// Computes sine or cosine of angles in place, corrected by the rest that BF16 angles lose:
    /// `sin a + r cos a`, `cos a - r sin a`.
    fn function_with_rest(
        &mut self,
        angles: Region,
        function: CvoFunc,
        name: &str,
        rest: &[f32],
    ) -> Result<(), LowerError> {
        let (slope, sign) = match function {
            CvoFunc::Sin => (CvoFunc::Cos, 1.0),
            _ => (CvoFunc::Sin, -1.0),
        };
        let rest = self.keep(name, || rest.to_vec())?;
        let (sign, change) = (self.scalar(sign)?, self.allocate(angles.values)?);
        self.code.cvo(slope, angles.base, change.base, angles.values, CvoFlags::PLAIN);
        self.code.cvo(CvoFunc::Mul, rest.base, change.base, angles.values, CvoFlags::PLAIN);
        self.code.cvo(function, angles.base, angles.base, angles.values, CvoFlags::PLAIN);
        self.scale([change.base, sign, angles.base], true, angles.values, CvoFlags::ADD)?;
        self.release(change);
        Ok(())
    }

    /// Returns a table from the host.
    fn table(&mut self, id: ValueId) -> Result<Region, LowerError> {
        let Some(table) = self.graph.constant(id).cloned() else { return self.fetch(id) };
        let name = self.graph.value(id).name.clone();
        let values = table.as_f32().ok_or(LowerError::Fault("a table"))?;
        self.keep(&name, || values.to_vec())
    }

    /// Returns the weights of `R`: it turns a pair `(a, b)` into `(-b, a)`; features that do not
    /// rotate become 0.
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
