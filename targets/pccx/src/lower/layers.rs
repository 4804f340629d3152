//! Assigns nodes of a graph to [`Step`]s of one or more nodes, for the machine or the host.

use std::collections::{BTreeMap, HashMap, HashSet};

use npukit_graph::op::BinaryKind;
use npukit_graph::{Graph, Node, NodeId, Op, Operator, Value, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};

use super::ops::{Context, Unfit, find};
use super::options::{Activations, Isa, Kv, Options, Scales};
use super::reason::{AttentionReason, HostReason};
use crate::config::WORD_LANES;
use crate::lower::steps::{Folds, Layers, Step};
use crate::lower::work::{Attention, Bits, Product, Work};

impl Layers {
    /// Returns the steps of a graph for an L2 of `l2_words` words.
    pub fn new(graph: &Graph, options: &Options, l2_words: u32) -> Self {
        let mut folds = Folds::of(graph, options);
        loop {
            let layers = Self::folded(graph, options, folds.clone(), l2_words as usize);
            // A step that the host computes keeps the gains of its norm.
            if !folds.forget_of_host(&layers.steps) {
                return layers;
            }
        }
    }

    /// Returns the steps with these gains folded into weights.
    fn folded(graph: &Graph, options: &Options, folds: Folds, l2_words: usize) -> Self {
        let extensions = options.isa == Isa::Ext;
        let two_byte_activations = options.activations == Activations::Bits16;
        let mut layers = Self {
            graph: graph.clone(),
            steps: Vec::new(),
            approximated: 0,
            extensions,
            two_byte_activations,
            folds,
            l2_words,
            one_scale: options.scales == Scales::Memset,
        };
        let (attentions, unfit) = attentions(graph, options);
        let inside: HashSet<NodeId> =
            attentions.values().flat_map(|attention| attention.nodes.iter().copied()).collect();
        for id in graph.node_ids() {
            let node = graph.node(id);
            let mut nodes = Vec::new();
            let (work, operands) = match attentions.get(&id) {
                Some(attention) => {
                    nodes.clone_from(&attention.nodes);
                    nodes.sort_unstable();
                    let operands = vec![attention.queries, attention.keys, attention.values];
                    (Work::Attention(attention.clone()), operands)
                }
                None if inside.contains(&id) => continue,
                None => match unfit.get(&id) {
                    Some(&(reason, live)) => (layers.unfit(node, reason, live), node.inputs.clone()),
                    None => layers.node(id, node, options),
                },
            };
            if let Some(folded) = layers.folds.of_product(id) {
                nodes.extend(&folded.between);
            }
            nodes.push(id);
            layers.steps.push(Step { work, nodes, operands, results: node.outputs.clone() });
        }
        layers.drop_unread();
        layers.join_products();
        layers.divide_results();
        layers.leave_to_host();
        for (number, step) in layers.steps.iter_mut().enumerate() {
            if let Some(product) = step.work.product_mut().filter(|_| options.weight_bits.is_8(number)) {
                product.bits = Bits::Eight;
            }
        }
        layers
    }

    /// Returns the work of a node in an attention that the host computes. Its products run on the
    /// machine anyway if they are `live`.
    fn unfit(&self, node: &Node, reason: HostReason, live: bool) -> Work {
        match (&node.op, &node.inputs[..]) {
            (Op::MatMul(_), &[left, right]) if live => {
                self.live(left, right).map_or(Work::Host(reason), Work::Live)
            }
            _ => Work::Host(reason),
        }
    }

    /// Removes the steps between a norm and its products, whose effect the products have taken
    /// over.
    fn drop_unread(&mut self) {
        let Self { steps, folds, .. } = self;
        steps.retain(|step| !folds.is_between(step.last()));
    }

    /// Divides results of products by the roots of norms, if the results have fewer values per row
    /// than the norm.
    fn divide_results(&mut self) {
        for at in 0..self.steps.len() {
            let step = &self.steps[at];
            let (Work::Norm(norm), &[x, ..], &[normal]) = (&step.work, &step.operands[..], &step.results[..])
            else {
                continue;
            };
            let reads = |step: &&Step| step.operands.contains(&normal);
            let widths = self.steps.iter().filter(reads).map(|step| match &step.work {
                Work::Product(product) if product.takes_quotient() => Some(product.size[2]),
                _ => None,
            });
            let widths: Option<Vec<usize>> = widths.collect();
            let plain = norm.gain.is_none() && norm.bias.is_none() && !norm.centered;
            let pays = widths.is_some_and(|widths| widths.iter().sum::<usize>() < norm.row);
            if !plain || !pays || self.graph.is_output(normal) {
                continue;
            }
            let (shape, name) = (self.graph.shape(x), &self.graph.value(normal).name);
            let rows = shape.iter().product::<usize>() / norm.row.max(1);
            let info = ValueInfo { shape: vec![rows, WORD_LANES], element: ElementType::F32 };
            let value = Value { name: format!("roots for {name}"), info, constant: None };
            let roots = self.graph.add_value(value);
            for step in &mut self.steps[at..] {
                match &mut step.work {
                    Work::Norm(norm) if step.results == [normal] => {
                        norm.only_roots = true;
                        step.results = vec![roots];
                    }
                    Work::Product(product) if step.operands == [normal] => {
                        product.quotient = true;
                        step.operands = vec![x, roots];
                    }
                    _ => {}
                }
            }
        }
    }

    /// Joins products with the sum or softmax that follows, if nothing more reads them
    /// ([`Self::joined`]).
    ///
    /// The joined step takes the place of the last node, because the addend may be computed in
    /// between. [`npukit_lower::Fuse`] is not used here, because its chains take the place of the
    /// first node.
    fn join_products(&mut self) {
        let mut uses: BTreeMap<ValueId, usize> = BTreeMap::new();
        let all = self.steps.iter().flat_map(|step| step.operands.iter());
        all.chain(&self.graph.outputs).for_each(|&id| *uses.entry(id).or_default() += 1);
        let mut makers: HashMap<ValueId, usize> = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            step.results.iter().for_each(|&id| _ = makers.entry(id).or_insert(index));
        }
        let mut steps: Vec<Option<Step>> = std::mem::take(&mut self.steps).into_iter().map(Some).collect();
        for index in 0..steps.len() {
            let Some(last) = &steps[index] else { continue };
            let found = last.operands.iter().rev().find_map(|&id| {
                let maker = *makers.get(&id).filter(|_| uses.get(&id) == Some(&1))?;
                let Work::Product(product) = &steps[maker].as_ref()?.work else { return None };
                Some((maker, id, self.joined(product, last, id)?))
            });
            let Some((maker, id, product)) = found else { continue };
            let Step { nodes, operands, results, .. } = last.clone();
            let Some(mut step) = steps[maker].take() else { continue };
            // A constant that is merged into the bias is no longer an operand.
            let others = operands.into_iter().filter(|&other| other != id && product.adds);
            step.operands.extend(others);
            step.nodes.extend(nodes);
            steps[index] = Some(Step { work: Work::Product(product), results, ..step });
        }
        self.steps = steps.into_iter().flatten().collect();
    }

    /// Joins a product with `last`, whose output is `result`. `last` may be a sum: the product then
    /// adds the other operand, or adds it to its bias if both are constant. It may also be the
    /// softmax of the product's rows, whose maxima the product finds.
    fn joined(&mut self, product: &Product, last: &Step, result: ValueId) -> Option<Product> {
        if product.softmax {
            return None;
        }
        match (&last.work, &self.graph.node(last.last()).op) {
            (Work::Binary(BinaryKind::Add), _) if product.bias.is_none() && !product.adds => {
                Some(Product { adds: true, ..product.clone() })
            }
            (Work::Binary(BinaryKind::Add), _) if !product.adds => {
                let other = last.operands.iter().copied().find(|&other| other != result)?;
                let bias = self.sum_of_biases(product.bias?, other, product.size)?;
                Some(Product { bias: Some(bias), ..product.clone() })
            }
            (Work::Host(HostReason::Softmax), Op::Softmax(softmax)) => {
                let shape = self.graph.shape(*last.results.first()?);
                let of_rows = softmax.axis + 1 == shape.len() && shape.last() == Some(&product.size[2]);
                (of_rows && product.has_rows()).then(|| Product { softmax: true, ..product.clone() })
            }
            _ => None,
        }
    }

    /// Returns the sum of two constants that are added to a product of `m` rows of `n` results;
    /// `None` if either is not such a constant.
    fn sum_of_biases(&mut self, bias: ValueId, other: ValueId, [m, _, n]: [usize; 3]) -> Option<ValueId> {
        let values = |id| self.graph.constant(id).and_then(|tensor| tensor.as_f32());
        let (own, more) = (values(bias)?, values(other)?);
        if more.len() != m * n || own.is_empty() {
            return None;
        }
        let sum: Vec<f32> = more.iter().enumerate().map(|(i, more)| more + own[i % own.len()]).collect();
        // If a row is whole words, equal rows are stored only once.
        let is_row = n.is_multiple_of(WORD_LANES) && sum.chunks_exact(n).all(|row| row == &sum[..n]);
        let sum = if is_row { sum[..n].to_vec() } else { sum };
        let name = format!("{} and {}", self.graph.value(bias).name, self.graph.value(other).name);
        let tensor = Tensor::from_f32(if is_row { vec![n] } else { vec![m, n] }, sum).ok()?;
        Some(self.graph.add_constant(name, tensor))
    }

    /// Leaves moves of elements to the host if the host needs the result anyway.
    fn leave_to_host(&mut self) {
        let mut wanted: HashSet<ValueId> = HashSet::new();
        for step in self.steps.iter_mut().rev() {
            if matches!(step.work, Work::Move(_)) && !step.results.iter().any(|id| wanted.contains(id)) {
                step.work = Work::Host(HostReason::ResultsAtHost);
            }
            let here = match &step.work {
                Work::Host(_) | Work::Convolution(_) => &[],
                // Keys and values are not read as operands, because the host turns them into
                // weights.
                Work::Attention(_) | Work::Live(_) => &step.operands[..1],
                _ => &step.operands[..],
            };
            wanted.extend(here.iter().copied());
        }
    }
}

/// Nodes of attentions that the host computes: the reason, and whether the machine may still
/// compute their products.
type UnfitNodes = BTreeMap<NodeId, (HostReason, bool)>;

/// Returns attentions by their last node, and the nodes of attentions that the host computes.
fn attentions(graph: &Graph, options: &Options) -> (BTreeMap<NodeId, Attention>, UnfitNodes) {
    let (context, ext) = (Context::new(graph), options.isa == Isa::Ext);
    let (mut fits, mut unfit) = (BTreeMap::new(), BTreeMap::new());
    for id in graph.node_ids() {
        match find(&context, id) {
            None => {}
            Some(Ok(attention)) if options.kv == Kv::Npu && (attention.cap.is_none() || ext) => {
                fits.insert(id, attention);
            }
            Some(Ok(attention)) => {
                let reason = match options.kv {
                    Kv::Host => HostReason::KvAtHost,
                    Kv::Npu => AttentionReason::CapWithoutTanh.into(),
                };
                let is_product = |id: &NodeId| matches!(graph.node(*id).op, Op::MatMul(_) | Op::Softmax(_));
                let nodes = attention.nodes.into_iter().chain([id]).filter(is_product);
                unfit.extend(nodes.map(|id| (id, (reason, options.kv == Kv::Npu))));
            }
            Some(Err(Unfit { nodes, reason })) => {
                // A selection is a product with constants. It has no keys, so its values stay
                // unchanged.
                let products = nodes.iter().filter(|id| matches!(graph.node(**id).op, Op::MatMul(_))).count();
                let live = options.kv == Kv::Npu && products > 1;
                unfit.extend(nodes.into_iter().map(|id| (id, (reason.into(), live))));
            }
        }
    }
    (fits, unfit)
}

/// Returns the operator that names a step.
pub fn operator(graph: &Graph, step: &Step) -> &'static str {
    graph.node(step.last()).op.name()
}
