//! Instruction emission for layers: [`Emitter`].

use std::collections::{HashMap, HashSet};

use super::constants::{BlockPlan, Chunk, LoadPlan};
use super::layer::Layer;
use super::limits::lanes;
use super::map::{PlaneId, Planes};
use super::memory::{BANK, Plan};
use super::tile::Tiling;
use super::windows::{Stored, Tile};
use crate::isa::op::{Addend, Op, Pool, Post, Shape};

/// Emits instructions, except instructions that would change nothing.
#[derive(Clone)]
pub struct Emitter<'a> {
    /// Instructions emitted so far.
    pub ops: Vec<Op>,
    planes: &'a Planes,
    plan: &'a Plan,
    /// Last configuration instruction, by mnemonic.
    registers: HashMap<&'static str, Op>,
    /// Addresses from which the feature, kernel and bias buffers were loaded; `None` if empty.
    loaded: [Option<u64>; 3],
    padded: HashSet<PlaneId>,
}

/// Indices into [`Emitter::loaded`].
const IFM: usize = 0;
const KER: usize = 1;
const BIAS: usize = 2;

impl<'a> Emitter<'a> {
    /// Creates an emitter without instructions.
    pub fn new(planes: &'a Planes, plan: &'a Plan) -> Self {
        let (registers, padded) = (HashMap::new(), HashSet::new());
        Self { ops: Vec::new(), planes, plan, registers, loaded: [None; 3], padded }
    }

    /// Emits the instructions of a layer.
    pub fn layer(&mut self, layer: &Layer, blocks: &[BlockPlan], tiling: &Tiling) {
        // The memory from which the buffers were loaded may have changed, so they must be loaded
        // again.
        self.loaded[IFM] = None;
        self.pad(layer);
        let tiles =
            tiling.rows.iter().flat_map(|down| tiling.columns.iter().map(move |across| [down, across]));
        if tiling.blocks_outside {
            for (index, block) in blocks.iter().enumerate() {
                tiles.clone().for_each(|tile| self.tile(layer, index, block, tile));
            }
        } else {
            for tile in tiles {
                blocks.iter().enumerate().for_each(|(index, block)| self.tile(layer, index, block, tile));
            }
        }
    }

    /// Clears the borders of the planes that this layer is the first to use: those it writes, and
    /// the inputs it reads; drivers only write the pixels.
    fn pad(&mut self, layer: &Layer) {
        for id in layer.planes() {
            let plane = self.planes.get(id);
            if plane.border == 0 || !self.padded.insert(id) {
                continue;
            }
            let at = self.plan.planes[id.0];
            let [h, w] = plane.slots().map(|size| size as u32);
            self.set(Op::MemOfm { bank: bank(at), h, w });
            self.ops.push(Op::Pad { addr: units(at), p: plane.border as u32 });
        }
    }

    /// Emits one block of channels of one tile.
    fn tile(&mut self, layer: &Layer, index: usize, block: &BlockPlan, tile: [&Tile; 2]) {
        let size = tile.map(|tile| tile.length);
        self.set(Op::ShapeOfm(shape(size, block.filters)));
        if let Some(bias) = block.bias {
            let at = self.plan.biases + bias as u64;
            self.set(Op::MemBias { bank: bank(at) });
            self.load(BIAS, at, Op::LoadBias { addr: units(at) });
        }
        let mut addend = if block.bias.is_some() { Addend::Bias } else { Addend::Zero };
        for load in &block.loads {
            self.features(load, tile);
            self.set(Op::Shift { ifm: load.shift, bias: block.bias_shift });
            for chunk in &load.chunks {
                self.weights(chunk);
                for &([h, w], n) in &chunk.taps {
                    let [h, w, n] = [h, w, n].map(|field| field as u32);
                    self.ops.push(Op::Conv { addend, h, w, n });
                    addend = Addend::Ofm;
                }
            }
        }
        for down in &tile[0].stores {
            for across in &tile[1].stores {
                self.store(layer, index, tile, [down, across]);
            }
        }
    }

    /// Emits a load of features.
    fn features(&mut self, LoadPlan { load, .. }: &LoadPlan, tile: [&Tile; 2]) {
        let pitch = self.planes.get(load.plane).slots()[1];
        let step = load.row_step(pitch);
        let size = tile.map(|tile| tile.length);
        let at = [0, 1].map(|axis| load.at[axis] + (tile[axis].start * load.strides[axis]) as isize);
        let strides = [load.strides[0] / step, load.strides[1]];
        // An axis of one pixel has no next pixel, and the stride to it may not fit the field. The
        // stride is therefore 1.
        let [h, w] = [0, 1].map(|axis| if size[axis] == 1 { 1 } else { strides[axis] as u32 });
        self.set(Op::Stride { h, w });
        self.region(load.plane, at, load.buffer(size, step), load.lanes, step * pitch);
    }

    /// Emits a load of a region of a plane.
    fn region(&mut self, plane: PlaneId, at: [isize; 2], size: [usize; 2], lanes: usize, pitch: usize) {
        let at = self.address(plane, at);
        self.set(Op::ShapeIfm(shape(size, lanes)));
        self.set(Op::MemIfm { bank: bank(at), w: pitch as u32 });
        self.load(IFM, at, Op::LoadIfm { addr: units(at) });
    }

    fn weights(&mut self, chunk: &Chunk) {
        let at = self.plan.weights + chunk.at as u64;
        self.set(Op::ShapeKer { n: chunk.slices as u32 });
        self.set(Op::MemKer { bank: bank(at) });
        self.load(KER, at, Op::LoadKer { addr: units(at) });
    }

    /// Emits the store of the windows of one size of a tile.
    fn store(&mut self, layer: &Layer, index: usize, tile: [&Tile; 2], stored: [&Stored; 2]) {
        let pooling = layer.post.pooling();
        let strides = pooling.map_or([1, 1], |pooling| pooling.0.map(|windows| windows.stride as u32));
        let [h, w] = stored.map(|stored| stored.window as u32);
        self.set(Op::Pool(Pool { h, w, stride_h: strides[0], stride_w: strides[1] }));
        let residual = layer.post.residual().and_then(|view| view.pieces.get(index));
        let (act, order) =
            (layer.post.activation(), layer.post.order().expect("steps join a chain when there is a form"));
        self.set(Op::Post(Post { act, order, res: residual.is_some() }));
        if let Some(piece) = residual {
            let (start, size) = if layer.post.adds_to_pooled() {
                (stored.map(|stored| stored.first), stored.map(|stored| stored.count))
            } else {
                (tile.map(|tile| tile.start), tile.map(|tile| tile.length))
            };
            let at = [0, 1].map(|axis| (piece.origin[axis] + start[axis]) as isize);
            let pitch = self.planes.get(piece.plane).slots()[1];
            self.region(piece.plane, at, size, lanes(piece.channels), pitch);
        }
        let Some(piece) = layer.output.pieces.get(index) else { return };
        let [rows, pitch] = self.planes.get(piece.plane).slots();
        for copy in 0..layer.copies[0] * layer.copies[1] {
            let copy = [copy / layer.copies[1], copy % layer.copies[1]];
            let at = [0, 1].map(|axis| {
                (piece.origin[axis] + stored[axis].first * layer.copies[axis] + copy[axis]) as isize
            });
            let at = self.address(piece.plane, at);
            self.set(Op::MemOfm { bank: bank(at), h: rows as u32, w: (pitch * layer.copies[0]) as u32 });
            self.ops.push(Op::Store { addr: units(at) });
        }
    }

    /// Returns the byte address of a pixel. Planes have a border that is wide enough for every
    /// read.
    fn address(&self, plane: PlaneId, at: [isize; 2]) -> u64 {
        let slot = self.planes.get(plane).slot(at);
        let slot = slot.expect("planes have a border as wide as is ever read");
        self.plan.planes[plane.0] + slot as u64 * self.plan.slot
    }

    /// Emits a register setting, unless the register already has this value.
    fn set(&mut self, op: Op) {
        let old = self.registers.insert(op.mnemonic(), op);
        if old == Some(op) {
            return;
        }
        match (op, old) {
            (Op::ShapeIfm(_), _) => (self.loaded[IFM], self.loaded[KER]) = (None, None),
            (Op::ShapeKer { .. }, _) => self.loaded[KER] = None,
            (Op::ShapeOfm(shape), old) => {
                self.loaded[KER] = None;
                if !matches!(old, Some(Op::ShapeOfm(old)) if old.c == shape.c) {
                    self.loaded[BIAS] = None;
                }
            }
            // The address is the same but the row distance differs, so the buffer must be loaded
            // again.
            (Op::MemIfm { .. }, _) => self.loaded[IFM] = None,
            _ => {}
        }
        self.ops.push(op);
    }

    /// Emits a load of a buffer, unless the buffer already holds this data.
    fn load(&mut self, buffer: usize, at: u64, op: Op) {
        if self.loaded[buffer].replace(at) != Some(at) {
            self.ops.push(op);
        }
    }
}

/// Returns the bank of a byte address.
pub fn bank(at: u64) -> u32 {
    (at / BANK) as u32
}

/// Returns the offset of a byte address in its bank, in units of 64 bytes.
pub fn units(at: u64) -> u32 {
    (at % BANK / 64) as u32
}

fn shape([h, w]: [usize; 2], c: usize) -> Shape {
    Shape { h: h as u32, w: w as u32, c: c as u32 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::Types;
    use crate::isa::fault::Buffer;
    use crate::machine::Machine;

    const SET: [Op; 7] = [
        Op::ShapeIfm(Shape { h: 2, w: 2, c: 16 }),
        Op::ShapeOfm(Shape { h: 2, w: 2, c: 16 }),
        Op::ShapeKer { n: 1 },
        Op::MemIfm { bank: 0, w: 2 },
        Op::MemKer { bank: 0 },
        Op::MemBias { bank: 0 },
        Op::Stride { h: 1, w: 1 },
    ];
    const LOADS: [Op; 3] = [Op::LoadIfm { addr: 0 }, Op::LoadKer { addr: 0 }, Op::LoadBias { addr: 0 }];

    /// A buffer is loaded again if the machine invalidated it (section 3.3 of the specification,
    /// and the machine itself), and only then.
    #[test]
    fn buffers_are_forgotten_when_the_machine_forgets_them() {
        let planes = Planes::default();
        let plan = Plan { planes: Vec::new(), slot: 64, features: 0, aggregate: 0, biases: 0, weights: 0 };
        let mut emitter = Emitter::new(&planes, &plan);
        let mut machine = Machine::new(Types::REFERENCE);
        for op in SET {
            emitter.set(op);
            machine.step(&op).unwrap();
        }
        for (buffer, op) in LOADS.into_iter().enumerate() {
            emitter.load(buffer, 0, op);
            machine.step(&op).unwrap();
        }
        let shape = |h, w, c| Shape { h, w, c };
        for (op, kept) in [
            (Op::ShapeIfm(shape(2, 1, 16)), [false, false, true]),
            (Op::ShapeIfm(shape(2, 2, 32)), [false, false, true]),
            (Op::ShapeOfm(shape(1, 2, 16)), [true, false, true]),
            (Op::ShapeOfm(shape(2, 2, 32)), [true, false, false]),
            (Op::ShapeKer { n: 2 }, [true, false, true]),
            (Op::Stride { h: 2, w: 1 }, [true; 3]),
            // The register already has the value, so the instruction is omitted.
            (SET[1], [true; 3]),
        ] {
            let (mut emitter, mut machine) = (emitter.clone(), machine.clone());
            emitter.set(op);
            if op != SET[1] {
                machine.step(&op).unwrap();
            }
            let held = [Buffer::Ifm, Buffer::Ker, Buffer::Bias].map(|buffer| machine.buffer(buffer).is_ok());
            assert_eq!((emitter.loaded.map(|at| at.is_some()), held), (kept, kept), "{op:?}");
        }
    }
}
