//! What a single node becomes.

use npukit_graph::op::{BinaryKind, Concat, GeluForm, ReduceKind, Reshape, RotaryEmbedding, UnaryKind};
use npukit_graph::shape::broadcast;
use npukit_graph::{Node, NodeId, Op, Operator, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::{Norm, Plan, Product, Rotary, Step, Work};
use crate::config::WORD_LANES;
use crate::lower::attention::number;
use crate::lower::movement::{is_identity, movement};
use crate::lower::options::{Gelu, Isa, Options};
use crate::lower::product::MOST_ROWS;
use crate::op::CvoFunc;

/// Most pieces in which the machine moves elements.
const MOST_PIECES: usize = 1024;
/// Largest dimension of a constant entry.
const LARGEST: usize = u16::MAX as usize;
/// Most features of a head that is rotated: the matrix that turns it has as many rows and columns.
const MOST_FEATURES: usize = 1024;

/// Work of the machine with its operands, or why it is the host's.
type Found = Result<(Work, Vec<ValueId>), String>;

const NO_MUL: &str = "isa=base multiplies no two vectors";

fn host(reason: impl Into<String>) -> Found {
    Err(reason.into())
}

impl Plan {
    /// What `node` becomes, and its operands.
    pub(super) fn node(&mut self, node: &Node, options: &Options) -> (Work, Vec<ValueId>) {
        let floats = node.inputs.iter().chain(&node.outputs);
        let all_floats = floats.into_iter().all(|&id| self.graph.value(id).info.element.is_float());
        let moves = movement(&self.graph, node);
        let found = match moves {
            _ if self.all_constant(node) => host("nothing in it changes from run to run"),
            _ if self.has_empty(node) => host("a tensor of it has no values"),
            Some(runs) => self.moved(node, runs),
            None if !all_floats => host("it is not of floats"),
            None => self.computed(node, options),
        };
        // Operands that are constants are the host's to know, and the machine's to be sent.
        found.unwrap_or_else(|reason| (Work::Host(reason), node.inputs.clone()))
    }

    fn all_constant(&self, node: &Node) -> bool {
        node.inputs.iter().all(|&id| self.graph.constant(id).is_some())
    }

    fn has_empty(&self, node: &Node) -> bool {
        node.inputs.iter().chain(&node.outputs).any(|&id| self.size(id) == 0)
    }

    fn size(&self, id: ValueId) -> usize {
        self.graph.shape(id).iter().product()
    }

    fn moved(&self, node: &Node, runs: Vec<Vec<crate::lower::movement::Run>>) -> Found {
        let operands = match node.op {
            Op::Concat(_) => node.inputs.clone(),
            _ => node.inputs.iter().take(1).copied().collect(),
        };
        if operands.iter().any(|&id| !self.graph.value(id).info.element.is_float()) {
            return host("it is not of floats");
        }
        let values = operands.first().map_or(0, |&id| self.size(id));
        let whole = |run: &crate::lower::movement::Run| {
            [run.from, run.to, run.length].iter().all(|place| place.is_multiple_of(WORD_LANES))
        };
        if is_identity(&runs, values) {
            return Ok((Work::Move(runs), operands));
        }
        if !runs.iter().flatten().all(whole) {
            return host("it moves less than whole words of L2");
        }
        let pieces = runs.iter().map(Vec::len).sum::<usize>();
        if pieces > MOST_PIECES {
            return host(format!("it moves more than {MOST_PIECES} pieces"));
        }
        Ok((Work::Move(runs), operands))
    }

    fn computed(&mut self, node: &Node, options: &Options) -> Found {
        let ext = options.isa == Isa::Ext;
        match (&node.op, &node.inputs[..]) {
            (Op::MatMul(_), &[x, weights]) => self.product(x, weights, false, 1.0, None),
            (Op::Gemm(gemm), &[x, weights, ref bias @ ..]) if !gemm.trans_a => {
                let bias = match bias.first().filter(|_| gemm.beta != 0.0) {
                    Some(&bias) => Some(self.scaled(bias, gemm.beta)?),
                    None => None,
                };
                self.product(x, weights, gemm.trans_b, gemm.alpha, bias)
            }
            (Op::RmsNormalization(norm), &[x, gain]) => {
                self.norm(node, [x, gain], None, norm.axis, norm.epsilon, ext)
            }
            (Op::LayerNormalization(norm), &[x, gain, ref bias @ ..]) => {
                self.norm(node, [x, gain], bias.first().copied(), norm.axis, norm.epsilon, ext)
            }
            (Op::RotaryEmbedding(rotary), &[x, cosines, sines]) if ext => {
                self.rotary(rotary, x, cosines, sines)
            }
            (Op::Relu(_), &[x]) if ext => Ok((Work::Function(CvoFunc::Relu), vec![x])),
            (Op::Unary(unary), &[x]) => Ok((self.unary(unary.kind, options)?, vec![x])),
            (Op::Binary(binary), &[left, right]) => self.binary(node, binary.kind, left, right, ext),
            (Op::Pow(_), &[x, power]) if ext && number(&self.graph, power) == Some(2.0) => {
                if node.outputs.iter().any(|&id| self.graph.shape(id) != self.graph.shape(x)) {
                    return host("its operand is repeated");
                }
                Ok((Work::Square, vec![x]))
            }
            (Op::Reduce(reduce), _) if matches!(reduce.kind, ReduceKind::Mean | ReduceKind::Sum) => {
                host("sums of rows are placed next to each other")
            }
            (Op::RotaryEmbedding(_) | Op::Pow(_) | Op::Relu(_), _) if !ext => host(NO_MUL),
            (Op::Softmax(_), _) => host("its largest operand is known only behind a product with all of it"),
            _ => host("the machine has no form of it"),
        }
    }

    fn unary(&mut self, kind: UnaryKind, options: &Options) -> Result<Work, String> {
        let ext = options.isa == Isa::Ext;
        let function = match kind {
            UnaryKind::Exp => CvoFunc::Exp,
            UnaryKind::Sqrt => CvoFunc::Sqrt,
            UnaryKind::Sin => CvoFunc::Sin,
            UnaryKind::Cos => CvoFunc::Cos,
            UnaryKind::Gelu { form: GeluForm::Tanh } => CvoFunc::Gelu,
            UnaryKind::Gelu { .. } if options.gelu == Gelu::Tanh => {
                self.approximated += 1;
                CvoFunc::Gelu
            }
            UnaryKind::Gelu { .. } => return Err("gelu=exact: the machine has the form by tanh".to_owned()),
            UnaryKind::Tanh if ext => CvoFunc::Tanh,
            UnaryKind::Tanh => {
                return Err("isa=base has it by EXP and RECIP only, which loses small values".to_owned());
            }
            UnaryKind::Sigmoid => return Ok(Work::Sigmoid),
            UnaryKind::Swish { alpha } if ext => return Ok(Work::Swish(alpha)),
            UnaryKind::Swish { .. } => return Err(NO_MUL.to_owned()),
            UnaryKind::Neg => return Ok(Work::Factor(-1.0)),
            UnaryKind::Reciprocal => return Err("RECIP gives 0 for 0".to_owned()),
            _ => return Err("the machine has no form of it".to_owned()),
        };
        Ok(Work::Function(function))
    }

    /// A product of rows with a constant matrix, which lies by rows or by columns.
    fn product(
        &mut self,
        x: ValueId,
        weights: ValueId,
        by_rows: bool,
        alpha: f32,
        bias: Option<ValueId>,
    ) -> Found {
        if self.graph.constant(weights).is_none() {
            return host("both operands change, and no softmax makes one of them");
        }
        let (&[first, second], Some((&k, rows))) =
            (self.graph.shape(weights), self.graph.shape(x).split_last())
        else {
            return host("the weights are several matrices");
        };
        let m = rows.iter().product();
        let n = if by_rows { first } else { second };
        if self.graph.constant(x).is_some() {
            return host("there is nothing to multiply");
        }
        if k > LARGEST {
            return host(format!("more than {LARGEST} inputs of a row, what a constant entry says at most"));
        }
        // Rows go one by one when their results are of several images.
        if n > MOST_ROWS && m > 1 && !(n.is_multiple_of(WORD_LANES) && k.is_multiple_of(WORD_LANES)) {
            return host("inputs or results of a row are no whole words of L2");
        }
        let bad = |id: ValueId| {
            let values = self.graph.constant(id).and_then(|tensor| tensor.as_f32());
            !values.is_some_and(|values| values.iter().all(|value| value.is_finite()))
        };
        if bad(weights) || bias.is_some_and(bad) {
            return host("a weight is not finite");
        }
        // A row of whole words of L2 is sent once; anything else as the whole result.
        let is_row = |id| self.size(id) == n && self.graph.shape(id).last() == Some(&n);
        let bias = match bias {
            Some(bias) if is_row(bias) && (m == 1 || n.is_multiple_of(WORD_LANES)) => Some(bias),
            Some(bias) => Some(self.spread(bias, &[m, n])?),
            None => None,
        };
        let product = Product { weights, by_rows, alpha, bias, size: [m, k, n], adds: false };
        Ok((Work::Product(product), vec![x]))
    }

    /// A constant times a factor.
    fn scaled(&mut self, id: ValueId, factor: f32) -> Result<ValueId, String> {
        let constant = self.graph.constant(id).ok_or("the bias changes")?;
        if factor == 1.0 {
            return Ok(id);
        }
        let values = constant.as_f32().ok_or("the bias is not of floats")?;
        let values = values.iter().map(|value| value * factor).collect();
        let shape = constant.shape().to_vec();
        let name = format!("{} times {factor}", self.graph.value(id).name);
        let tensor = Tensor::from_f32(shape, values).map_err(|_| "the bias has no shape")?;
        Ok(self.graph.add_constant(name, tensor))
    }

    /// The constant repeated to `shape`.
    fn spread(&mut self, id: ValueId, shape: &[usize]) -> Result<ValueId, String> {
        if self.graph.shape(id) == shape {
            return Ok(id);
        }
        let count = shape.iter().product();
        if self.graph.constant(id).is_none() && self.size(id) == count {
            return Ok(id);
        }
        let constant = self.graph.constant(id).ok_or("an operand is repeated")?.clone();
        let zeros = Tensor::from_f32(shape.to_vec(), vec![0.0; count]).map_err(|_| "too large")?;
        let add = npukit_graph::op::Binary { kind: BinaryKind::Add };
        let sum = add.eval(&[&zeros, constant.as_ref()]).map_err(|error| error.to_string())?;
        let tensor = sum.into_iter().next().filter(|sum| sum.shape() == shape);
        let name = format!("{} as {shape:?}", self.graph.value(id).name);
        Ok(self.graph.add_constant(name, tensor.ok_or("an operand is larger than the result")?))
    }

    fn norm(
        &mut self,
        node: &Node,
        [x, gain]: [ValueId; 2],
        bias: Option<ValueId>,
        axis: usize,
        epsilon: f32,
        ext: bool,
    ) -> Found {
        if !ext {
            return host(NO_MUL);
        }
        let shape = self.graph.shape(x).to_vec();
        let trailing = shape.get(axis..).unwrap_or_default().to_vec();
        let row: usize = trailing.iter().product();
        if row == 0 || (!row.is_multiple_of(WORD_LANES) && row != self.size(x)) {
            return host("its rows are no whole words of L2");
        }
        let gain = self.spread(gain, &trailing)?;
        let bias = bias.map(|bias| self.spread(bias, &trailing)).transpose()?;
        let centred = matches!(node.op, Op::LayerNormalization(_));
        // Gains and biases that change are operands.
        let moving = [Some(gain), bias].into_iter().flatten().filter(|&id| self.graph.constant(id).is_none());
        let operands = std::iter::once(x).chain(moving).collect();
        Ok((Work::Norm(Norm { epsilon, centred, gain, bias, row }), operands))
    }

    fn binary(&mut self, node: &Node, kind: BinaryKind, left: ValueId, right: ValueId, ext: bool) -> Found {
        let shape = node.outputs.first().map(|&id| self.graph.shape(id).to_vec()).unwrap_or_default();
        let whole = |plan: &Self, id| plan.graph.shape(id) == shape;
        match kind {
            BinaryKind::Mul | BinaryKind::Div => {
                let (x, factor) = match number(&self.graph, right) {
                    Some(factor) if whole(self, left) => (left, Some(factor)),
                    _ if kind == BinaryKind::Div => (left, None),
                    _ => (right, number(&self.graph, left).filter(|_| whole(self, right))),
                };
                if let Some(factor) = factor {
                    let factor = if kind == BinaryKind::Div { 1.0 / factor } else { factor };
                    return Ok((Work::Factor(factor), vec![x]));
                }
                if kind == BinaryKind::Div {
                    return host("RECIP gives 0 for 0");
                }
                if !ext {
                    return host(NO_MUL);
                }
            }
            BinaryKind::Add | BinaryKind::Sub => {}
            _ => return host("the machine has no form of it"),
        }
        let known = broadcast(self.graph.shape(left), self.graph.shape(right)).as_deref() == Some(&shape[..]);
        if !known {
            return host("operands of other shapes than the result");
        }
        let operands = vec![self.spread(left, &shape)?, self.spread(right, &shape)?];
        if operands[0] == operands[1] && kind == BinaryKind::Mul {
            return Ok((Work::Square, vec![left]));
        }
        Ok((Work::Binary(kind), operands))
    }

    fn rotary(&mut self, op: &RotaryEmbedding, x: ValueId, cosines: ValueId, sines: ValueId) -> Found {
        let (heads, sequence, head, by_position) = match *self.graph.shape(x) {
            [_, heads, sequence, head] => (heads, sequence, head, false),
            [_, sequence, hidden] => {
                let heads = op.heads.max(1);
                (heads, sequence, hidden / heads, true)
            }
            _ => return host("its operand has neither three nor four axes"),
        };
        if !head.is_multiple_of(WORD_LANES) {
            return host("its heads are no whole words of L2");
        }
        let count = self.size(x) / head.max(1);
        if head > MOST_FEATURES {
            return host(format!("its heads have more than {MOST_FEATURES} features"));
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
    ) -> Result<ValueId, String> {
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
        for row in table.as_f32().ok_or("its tables are not of floats")?.chunks_exact(half) {
            let pair = |feature: usize| if op.interleaved { feature / 2 } else { feature % half };
            let feature = |feature: usize| match feature < op.size {
                true => row.get(pair(feature)).copied().unwrap_or(rest),
                false => rest,
            };
            values.extend((0..head).map(feature));
        }
        let shape = vec![values.len() / head, head];
        let tensor = Tensor::new(shape, TensorData::F32(values)).map_err(|_| "its tables have no shape")?;
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
    ) -> Result<ValueId, String> {
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
            let staying = Tensor::from_f32(shape, staying).map_err(|_| "its tables have no shape")?;
            let staying = self.graph.add_constant(format!("rest of {name}"), staying);
            table = self.on_host(Concat { axis: 1 }, &[table, staying], "with the rest")?;
        }
        self.graph.values[table.0 as usize].name = name;
        Ok(table)
    }

    /// A node more, for the host.
    fn on_host(&mut self, op: impl Into<Op>, operands: &[ValueId], what: &str) -> Result<ValueId, String> {
        let first = operands.first().map(|&id| self.graph.value(id).name.clone()).unwrap_or_default();
        let name = format!("{first} {what}");
        let results = self.graph.add_node(name.clone(), op.into(), operands.to_vec(), &[&name]);
        let results = results.map_err(|error| error.to_string())?;
        let work = Work::Host("tables of a rotation, by feature".to_owned());
        let nodes = vec![NodeId((self.graph.nodes.len() - 1) as u32)];
        self.steps.push(Step { work, nodes, operands: operands.to_vec(), results: results.clone() });
        Ok(results[0])
    }
}
