//! Random graphs as importers produce them: NCHW everywhere, with a transposition before and after
//! every operator that needs NHWC.

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Compare, CompareKind, Concat, Conv,
    ConvTranspose, Gemm, InstanceNormalization, LayerNormalization, LeakyRelu, Lrn, MatMul, MaxPool, PRelu,
    Pad, PadMode, Reduce, ReduceKind, Relu, Reshape, Resize, RmsNormalization, Slice, SliceRange, Softmax,
    Split, Transpose, Unary, UnaryKind, Where, Window,
};
use npukit_graph::op::{Coordinates, ResizeMode};
use npukit_graph::{Graph, Op, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};

use crate::support::{f32s, floats, noise};

/// Draws choices from a list of numbers, so that a shorter list gives a smaller graph.
pub struct Builder {
    pub graph: Graph,
    choices: std::vec::IntoIter<u32>,
    /// Values of four axes that later nodes may use.
    images: Vec<ValueId>,
    count: usize,
}

/// A graph with about one layer per choice.
pub fn random_graph(choices: Vec<u32>) -> Graph {
    let mut builder =
        Builder { graph: Graph::default(), choices: choices.into_iter(), images: Vec::new(), count: 0 };
    builder.build();
    builder.graph
}

impl Builder {
    fn next(&mut self, below: usize) -> usize {
        self.choices.next().map_or(0, |choice| choice as usize % below)
    }

    fn build(&mut self) {
        let (n, c) = (1 + self.next(2), 1 + self.next(3));
        let h = 4 + self.next(5);
        let w = if self.next(2) == 0 { h } else { 4 + self.next(5) };
        let info = ValueInfo { shape: vec![n, c, h, w], element: ElementType::F32 };
        let input = self.graph.add_input("x", info);
        self.images.push(input);
        while self.choices.len() > 4 {
            let pick = self.next(3).min(self.images.len() - 1);
            let x = self.images[self.images.len() - 1 - pick];
            let y = self.layer(x);
            self.images.push(y);
        }
        let last = self.images[self.images.len() - 1];
        let output = match self.next(4) {
            0 => last,
            1 => self.head(last),
            2 => {
                let head = self.head(last);
                self.graph.outputs.push(head);
                last
            }
            _ => self.nhwc(last),
        };
        if !self.graph.outputs.contains(&output) {
            self.graph.outputs.push(output);
        }
    }

    fn shape(&self, x: ValueId) -> [usize; 4] {
        self.graph.shape(x).try_into().unwrap()
    }

    fn node(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        self.count += 1;
        let name = format!("v{}", self.count);
        self.graph.add_node(format!("n{}", self.count), op.into(), inputs.to_vec(), &[&name]).unwrap()[0]
    }

    fn constant(&mut self, tensor: Tensor) -> ValueId {
        self.count += 1;
        self.graph.add_constant(format!("c{}", self.count), tensor)
    }

    fn random(&mut self, shape: &[usize]) -> ValueId {
        let seed = self.count as u64;
        self.constant(noise(shape, seed))
    }

    fn positive(&mut self, shape: &[usize]) -> ValueId {
        let tensor = noise(shape, self.count as u64);
        let data: Vec<f32> = floats(&tensor).iter().map(|x| x.abs() + 0.5).collect();
        self.constant(f32s(shape, &data))
    }

    fn nhwc(&mut self, x: ValueId) -> ValueId {
        self.node(Transpose { perm: vec![0, 2, 3, 1] }, &[x])
    }

    fn nchw(&mut self, x: ValueId) -> ValueId {
        self.node(Transpose { perm: vec![0, 3, 1, 2] }, &[x])
    }

    /// An operator that needs NHWC, as an importer wraps it.
    fn wrapped(&mut self, op: impl Into<Op>, x: ValueId, others: &[ValueId]) -> ValueId {
        let x = self.nhwc(x);
        let y = self.node(op, &[&[x], others].concat());
        self.nchw(y)
    }

    fn layer(&mut self, x: ValueId) -> ValueId {
        match self.next(24) {
            0..=2 => self.conv(x),
            3 => self.batch_norm(x),
            4 => self.node(Relu, &[x]),
            5 => self.node(Clip { min: -0.5, max: 0.75 }, &[x]),
            6 => self.node(LeakyRelu { alpha: 0.25 }, &[x]),
            7 => self.binary_constant(x),
            8 => self.residual(x),
            9 => self.pad(x),
            10 => self.pool(x),
            11 => self.concat(x),
            12 => self.split(x),
            13 => self.slice(x),
            14 => self.softmax(x),
            15 => self.resize(x),
            16 => self.gate(x),
            17 => self.symmetric(x),
            18 => self.unary(x),
            19 => self.prelu(x),
            20 => self.choice(x),
            21 => self.centered(x),
            22 => self.normalized(x),
            _ => self.there_and_back(x),
        }
    }

    fn conv(&mut self, x: ValueId) -> ValueId {
        let [_, c, h, w] = self.shape(x);
        let (co, k) = (1 + self.next(4), (1 + self.next(3)).min(h).min(w));
        let pads = [self.next(2), self.next(2), self.next(2), self.next(2)];
        let depthwise = self.next(4) == 0;
        let (group, inner, co) = if depthwise { (c, 1, c) } else { (1, c, co) };
        let (weights, bias) = (self.random(&[k, k, inner, co]), self.random(&[co]));
        let strides = [1 + self.next(2), 1];
        let others = if self.next(2) == 0 { vec![weights] } else { vec![weights, bias] };
        if h * w < 200 && self.next(4) == 0 {
            let pads = [pads[0], pads[1], 0, 0].map(|pad| pad.min(k - 1));
            let op = ConvTranspose { strides, dilations: [1, 1], pads, output_padding: [1, 0], group };
            return self.wrapped(op, x, &others);
        }
        self.wrapped(Conv { strides, dilations: [1, 1], pads, group }, x, &others)
    }

    fn batch_norm(&mut self, x: ValueId) -> ValueId {
        let [_, c, ..] = self.shape(x);
        let parameters = [self.random(&[c]), self.random(&[c]), self.random(&[c]), self.positive(&[c])];
        self.wrapped(BatchNormalization { epsilon: 1e-3 }, x, &parameters)
    }

    fn unary(&mut self, x: ValueId) -> ValueId {
        let kinds = [UnaryKind::Sigmoid, UnaryKind::Tanh, UnaryKind::HardSwish, UnaryKind::Neg];
        let kind = kinds[self.next(4)];
        self.node(Unary { kind }, &[x])
    }

    fn prelu(&mut self, x: ValueId) -> ValueId {
        let [_, c, _, w] = self.shape(x);
        let shapes: [&[usize]; 4] = [&[], &[1], &[c, 1, 1], &[w]];
        let shape = shapes[self.next(4)].to_vec();
        let slope = self.random(&shape);
        self.node(PRelu, &[x, slope])
    }

    /// The value or a constant, selected by a comparison with another.
    fn choice(&mut self, x: ValueId) -> ValueId {
        let [_, c, h, w] = self.shape(x);
        let (bound, other) = (self.random(&[c, 1, 1]), self.random(&[h, w]));
        let greater = self.node(Compare { kind: CompareKind::Greater }, &[x, bound]);
        let kind = [BinaryKind::Max, BinaryKind::Min][self.next(2)];
        let extreme = self.node(Binary { kind }, &[x, other]);
        self.node(Where, &[greater, extreme, other])
    }

    /// Subtracts the mean over some axes.
    fn centered(&mut self, x: ValueId) -> ValueId {
        let axes = [vec![1], vec![2, 3], vec![1, 3], vec![0, 1, 2, 3]][self.next(4)].clone();
        let mean = self.node(Reduce { kind: ReduceKind::Mean, axes, keep_dims: true }, &[x]);
        self.node(Binary { kind: BinaryKind::Sub }, &[x, mean])
    }

    fn normalized(&mut self, x: ValueId) -> ValueId {
        let [_, c, _, w] = self.shape(x);
        match self.next(4) {
            0 => self.wrapped(Lrn { size: 3, alpha: 0.5, beta: 0.75, bias: 1.0 }, x, &[]),
            1 => {
                let others = [self.random(&[c]), self.random(&[c])];
                self.wrapped(InstanceNormalization { epsilon: 0.5 }, x, &others)
            }
            2 => {
                let others = [self.random(&[c]), self.random(&[c])];
                self.wrapped(LayerNormalization { axis: 3, epsilon: 0.5 }, x, &others)
            }
            _ => {
                let scale = self.random(&[w]);
                self.node(RmsNormalization { axis: 3, epsilon: 0.5 }, &[x, scale])
            }
        }
    }

    fn binary_constant(&mut self, x: ValueId) -> ValueId {
        let [n, c, h, w] = self.shape(x);
        let shapes: [&[usize]; 6] = [&[], &[1], &[c, 1, 1], &[1, c, 1, 1], &[h, w], &[n, c, h, w]];
        let shape = shapes[self.next(6)].to_vec();
        let constant = self.random(&shape);
        let kind = [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul][self.next(3)];
        let inputs = if self.next(2) == 0 { [x, constant] } else { [constant, x] };
        self.node(Binary { kind }, &inputs)
    }

    /// Adds an older value of the same shape, or the value to itself.
    fn residual(&mut self, x: ValueId) -> ValueId {
        let shape = self.shape(x);
        let alike = self.images.iter().copied().find(|&other| self.graph.shape(other) == shape);
        self.node(Binary { kind: BinaryKind::Add }, &[x, alike.unwrap_or(x)])
    }

    fn pad(&mut self, x: ValueId) -> ValueId {
        let [_, _, h, w] = self.shape(x);
        let modes = [
            PadMode::Constant(0.0),
            PadMode::Constant(f32::NEG_INFINITY),
            PadMode::Constant(0.5),
            PadMode::Edge,
            PadMode::Reflect,
        ];
        let mode = modes[self.next(if h > 1 && w > 1 { 5 } else { 1 })];
        // Infinities do not leave a maximum; zero padding may follow a rectifier.
        let x = if self.next(2) == 0 { self.node(Relu, &[x]) } else { x };
        let room = |size: usize| if size > 1 { 2 } else { 1 };
        let rows = [self.next(room(h)) as isize, self.next(room(h)) as isize];
        let columns = [self.next(room(w)) as isize, self.next(room(w)) as isize];
        let padded = self.node(Pad { pads: vec![[0, 0], [0, 0], rows, columns], mode }, &[x]);
        if mode == PadMode::Constant(f32::NEG_INFINITY) {
            return self.wrapped(MaxPool { window: Window::plain([2, 2], [1, 1]) }, padded, &[]);
        }
        match self.next(3) {
            0 => self.pool(padded),
            1 => self.conv(padded),
            _ => padded,
        }
    }

    /// Adds the mirror image across the diagonal, so that there is a transposition between
    /// operators that work in any order of axes.
    fn symmetric(&mut self, x: ValueId) -> ValueId {
        let [_, _, h, w] = self.shape(x);
        if h != w {
            return x;
        }
        let mirrored = self.node(Transpose { perm: vec![0, 1, 3, 2] }, &[x]);
        self.node(Binary { kind: BinaryKind::Sub }, &[x, mirrored])
    }

    fn pool(&mut self, x: ValueId) -> ValueId {
        let [_, _, h, w] = self.shape(x);
        let kernel = [(1 + self.next(3)).min(h), (1 + self.next(3)).min(w)];
        let pads = [self.next(kernel[0]), self.next(kernel[1]), self.next(kernel[0]), self.next(kernel[1])];
        let strides = [1 + self.next(2), 1 + self.next(2)];
        let window = Window { kernel, strides, dilations: [1, 1], pads, ceil_mode: self.next(2) == 1 };
        match self.next(3) {
            0 => self.wrapped(MaxPool { window }, x, &[]),
            1 => self.wrapped(AveragePool { window, count_include_pad: false }, x, &[]),
            _ => self.wrapped(AveragePool { window, count_include_pad: true }, x, &[]),
        }
    }

    fn concat(&mut self, x: ValueId) -> ValueId {
        let [n, c, h, w] = self.shape(x);
        if c > 8 {
            return x;
        }
        let constant = self.random(&[n, 1, h, w]);
        self.node(Concat { axis: 1 }, &[x, constant, x])
    }

    fn split(&mut self, x: ValueId) -> ValueId {
        let [_, c, ..] = self.shape(x);
        if c < 2 {
            return x;
        }
        self.count += 1;
        let names = [format!("v{}a", self.count), format!("v{}b", self.count)];
        let op = Split { axis: 1, sizes: vec![1, c - 1] };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let parts = self.graph.add_node(format!("n{}", self.count), op.into(), vec![x], &names).unwrap();
        self.images.push(parts[0]);
        parts[1]
    }

    fn slice(&mut self, x: ValueId) -> ValueId {
        let [_, _, h, _] = self.shape(x);
        let range = if self.next(2) == 0 {
            SliceRange { axis: 2, start: h - 1, length: h, step: -1 }
        } else {
            SliceRange { axis: 2, start: h / 2, length: h - h / 2, step: 1 }
        };
        self.node(Slice { ranges: vec![range] }, &[x])
    }

    fn softmax(&mut self, x: ValueId) -> ValueId {
        let (axis, axis_end) = [(1, 2), (1, 4), (2, 3), (2, 4)][self.next(4)];
        self.node(Softmax { axis, axis_end }, &[x])
    }

    fn resize(&mut self, x: ValueId) -> ValueId {
        let [_, _, h, w] = self.shape(x);
        if h * w > 200 {
            return x;
        }
        let (mode, coordinates) = (ResizeMode::Linear, Coordinates::HalfPixel);
        self.wrapped(Resize { size: [2 * h, w], scales: [2.0, 1.0], mode, coordinates }, x, &[])
    }

    /// Scales channels by their mean.
    fn gate(&mut self, x: ValueId) -> ValueId {
        let [_, _, h, w] = self.shape(x);
        let window = Window::plain([h, w], [1, 1]);
        let mean = self.wrapped(AveragePool { window, count_include_pad: false }, x, &[]);
        let gate = self.node(Softmax { axis: 1, axis_end: 2 }, &[mean]);
        self.node(Binary { kind: BinaryKind::Mul }, &[x, gate])
    }

    /// A reshape that splits the channels, another order of axes, and back.
    fn there_and_back(&mut self, x: ValueId) -> ValueId {
        let [n, c, h, w] = self.shape(x);
        let split = self.node(Reshape { shape: vec![n, 1, c, h, w] }, &[x]);
        let turned = self.node(Transpose { perm: vec![0, 2, 1, 4, 3] }, &[split]);
        self.node(Reshape { shape: vec![n, c, w, h] }, &[turned])
    }

    /// Flattens and multiplies in one of several ways.
    fn head(&mut self, x: ValueId) -> ValueId {
        let [n, c, h, w] = self.shape(x);
        let k = c * h * w;
        let mut flat = self.node(Reshape { shape: vec![n, k] }, &[x]);
        if self.next(2) == 0 {
            flat = self.node(Relu, &[flat]);
        }
        if self.next(2) == 0 {
            let weights = self.random(&[k, 3]);
            let product = self.node(MatMul, &[flat, weights]);
            let p = [self.random(&[3]), self.random(&[3]), self.random(&[3]), self.positive(&[3])];
            return self.node(BatchNormalization { epsilon: 1e-3 }, &[product, p[0], p[1], p[2], p[3]]);
        }
        let trans_b = self.next(2) == 0;
        let weights = if trans_b { self.random(&[3, k]) } else { self.random(&[k, 3]) };
        let gemm = Gemm { alpha: 0.5, beta: 2.0, trans_a: false, trans_b };
        let shapes: [&[usize]; 4] = [&[], &[3], &[1, 3], &[n, 1]];
        let shape = shapes[self.next(4)].to_vec();
        let addend = self.random(&shape);
        self.node(gemm, &[flat, weights, addend])
    }
}
