//! Normalization of a sum, folded into the product that computes one of its addends.
//!
//! In `f (conv(x) + y) + o` the sum has no other reader: `f` and `o` are folded into the
//! convolution. `y` goes through a product with `f` on the diagonal, which shares the accumulators.
//! One array row per vector replaces a move and two SIMD passes.

use npukit_graph::op::{Binary, BinaryKind, Conv};
use npukit_graph::{Graph, Node, NodeId, Op, Value, ValueId};

use super::{MAX_LOSS, add_floats, factors, floats, is_dense, loss, name_of, set_operand};
use crate::config::Config;

/// Cycles per vector of two SIMD passes, and of loading a vector of weights.
const PASSES_COST: usize = 8;
const LOAD_COST: usize = 3;

/// Rewrites every normalized sum of a convolution and another value.
pub fn rewrite(graph: &mut Graph, config: &Config) {
    let mut index = 0;
    while index < graph.nodes.len() {
        if let Some(sum) = Sum::at(graph, index, config.array_size) {
            // The number of nodes is unchanged: one is removed and one is added.
            sum.apply(graph, index);
        }
        index += 1;
    }
}

/// A convolution and another value, added and normalized.
struct Sum {
    conv: NodeId,
    add: NodeId,
    other: ValueId,
    factors: Vec<[f64; 2]>,
}

impl Sum {
    fn at(graph: &Graph, norm: usize, array_size: usize) -> Option<Self> {
        let factors = factors(graph, &graph.nodes[norm])?;
        let exact = factors.iter().flatten().all(|factor| factor.is_finite());
        if !exact || loss(factors.iter().map(|[factor, _]| *factor), factors.len()) > MAX_LOSS {
            return None;
        }
        let (producers, consumers) = (graph.producers(), graph.consumers());
        let alone = |value: ValueId| consumers[value.0 as usize].len() == 1 && !graph.is_output(value);
        let made = |value: ValueId| producers[value.0 as usize].filter(|_| alone(value));
        let add = made(graph.nodes[norm].inputs[0])?;
        let Op::Binary(Binary { kind: BinaryKind::Add }) = graph.node(add).op else { return None };
        let &[a, b] = graph.node(add).inputs.as_slice() else { return None };
        let conv = |value: ValueId| made(value).filter(|&node| is_dense(graph, graph.node(node)));
        // A sum of two convolutions is already one product and needs no rewrite.
        let (conv, other) = match (conv(a), conv(b)) {
            (Some(conv), None) => (conv, b),
            (None, Some(conv)) => (conv, a),
            _ => return None,
        };
        let shape = graph.shape(graph.node(add).outputs[0]);
        let alike = graph.shape(other) == shape && graph.constant(other).is_none();
        let vectors = shape.iter().take(3).product::<usize>() * factors.len().div_ceil(array_size);
        let pays = vectors * PASSES_COST > factors.len() * LOAD_COST;
        (alike && pays).then_some(Self { conv, add, other, factors })
    }

    fn apply(self, graph: &mut Graph, norm: usize) {
        let channels = self.factors.len();
        let weights = graph.node(self.conv).inputs[1];
        let old = floats(graph, weights).expect("the convolution is by constants");
        let scaled = old.iter().zip(self.factors.iter().cycle());
        let scaled = scaled.map(|(&weight, [factor, _])| (f64::from(weight) * factor) as f32).collect();
        let bias = graph.node(self.conv).inputs.get(2).and_then(|&bias| floats(graph, bias));
        // Default: a convolution without a bias adds nothing.
        let bias = |c: usize| bias.map_or(0.0, |bias| f64::from(bias[c]));
        let bias: Vec<f32> =
            self.factors.iter().enumerate().map(|(c, [f, o])| (bias(c) * f + o) as f32).collect();
        let mut diagonal = vec![0.0; channels * channels];
        for (c, [factor, _]) in self.factors.iter().enumerate() {
            diagonal[c * channels + c] = *factor as f32;
        }
        let (shape, base) = (graph.shape(weights).to_vec(), name_of(graph, weights));
        let node_name = graph.nodes[norm].name.clone();
        let mut add = |name: &str, shape: Vec<usize>, data: Vec<f32>| {
            add_floats(graph, name, shape, data).expect("the elements fill their shape")
        };
        let scaled = add(&base, shape, scaled);
        let bias = add(&format!("{base}/bias"), vec![channels], bias);
        let diagonal = add(&format!("{node_name}/scale"), vec![1, 1, channels, channels], diagonal);
        set_operand(graph, self.conv, 1, scaled);
        set_operand(graph, self.conv, 2, bias);
        let info = graph.value(self.other).info.clone();
        let name = graph.fresh_name(&format!("{node_name}/scaled"));
        let through = graph.add_value(Value { name, info, constant: None });
        let op = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: 1 }.into();
        let add = graph.node(self.add);
        let inputs = add.inputs.iter().map(|&input| if input == self.other { through } else { input });
        let sum = Node {
            name: add.name.clone(),
            op: add.op.clone(),
            inputs: inputs.collect(),
            outputs: Vec::new(),
        };
        // The sum takes the place of its normalization. The product with the diagonal takes the
        // place of the sum.
        let outputs = std::mem::take(&mut graph.nodes[norm].outputs);
        graph.nodes[norm] = Node { outputs, ..sum };
        graph.nodes[self.add.0 as usize] =
            Node { name: node_name, op, inputs: vec![self.other, diagonal], outputs: vec![through] };
    }
}
