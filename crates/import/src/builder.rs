//! [`Builder`]: the graph under construction. It keeps names unique, checks every shape, and folds
//! operations on constants.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use npukit_graph::op::Transpose;
use npukit_graph::{Graph, Op, Operator, Value, ValueId, ValueInfo};
use npukit_numeric::Tensor;

use crate::error::Reason;
use crate::given;
use crate::shape::check_shape;

/// Elements that folding may make in addition to the elements that the file itself can hold. Shape
/// arithmetic needs far fewer; a file made to exhaust memory soon reaches this limit.
pub(crate) const FOLDING_ROOM: usize = 1 << 22;

/// The graph under construction.
pub(crate) struct Builder {
    /// Nodes and values added until now.
    pub(crate) graph: Graph,
    value_names: Names,
    node_names: Names,
    /// Transposed values by source and permutation, shared by their consumers.
    permuted: HashMap<(ValueId, Vec<usize>), ValueId>,
    /// Whether the graph may contain unused nodes.
    pub(crate) has_leftovers: bool,
    /// Elements that folding may still make. A larger result stays a node.
    budget: usize,
}

impl Builder {
    /// Creates an empty graph. `reserved` are the value names of the file, which helper nodes must
    /// not take. `budget` limits the elements that folding makes.
    pub(crate) fn new(name: &str, reserved: HashSet<String>, budget: usize) -> Self {
        let graph = Graph { name: name.to_owned(), ..Graph::default() };
        let (value_names, node_names) = (Names::new(reserved), Names::new(HashSet::new()));
        Self { graph, value_names, node_names, permuted: HashMap::new(), has_leftovers: false, budget }
    }

    /// Refuses an iteration that changes the type of a carried value: `results` of `inner` are the
    /// condition for another iteration, and the new values.
    pub(crate) fn check_round(
        &self,
        inner: &Self,
        results: &[ValueId],
        carried: &[ValueId],
    ) -> Result<(), Reason> {
        for (&result, &carried) in results.iter().skip(1).zip(carried) {
            let [found, expected] = [&inner.graph.value(result).info, &self.graph.value(carried).info];
            if found != expected {
                let (found, legal) = (found.to_string(), expected.to_string());
                return Err(Reason::OperandValue { operand: "result of an iteration", found, legal });
            }
        }
        Ok(())
    }

    /// Adds a node, or the constants that it folds to if all its operands are constants.
    ///
    /// Names are derived from `name`; [`Builder::rename`] later renames the results.
    ///
    /// # Errors
    ///
    /// Shape inference fails, or a result has too many elements.
    pub(crate) fn emit(&mut self, name: &str, op: Op, inputs: Vec<ValueId>) -> Result<Vec<ValueId>, Reason> {
        let values: Vec<&Value> = inputs.iter().map(|&id| self.graph.value(id)).collect();
        let infos = op.infer(&values)?;
        infos.iter().try_for_each(|info| check_shape(&info.shape))?;
        let inputs = self.without_empty(&op, inputs);
        if let Some(tensors) = self.fold(&op, &inputs, &infos)? {
            let results: Vec<ValueId> =
                tensors.into_iter().map(|tensor| self.constant(name, tensor)).collect();
            self.graph.state_results(&op, &inputs, &results);
            return Ok(results);
        }
        let node_name = self.node_names.unique(name);
        let names: Vec<String> = infos.iter().map(|_| self.value_names.unique(name)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(self.graph.add_node(node_name, op, inputs, &names)?)
    }

    /// Adds a constant with a unique name derived from `name`.
    pub(crate) fn constant(&mut self, name: &str, tensor: impl Into<Arc<Tensor>>) -> ValueId {
        let name = self.value_names.unique(name);
        self.graph.add_constant(name, tensor)
    }

    /// Returns the value with its axes permuted. All callers that ask for the same permutation
    /// share one node or constant.
    pub(crate) fn permute(&mut self, id: ValueId, perm: &[usize], suffix: &str) -> Result<ValueId, Reason> {
        let key = (id, perm.to_vec());
        if let Some(&known) = self.permuted.get(&key) {
            return Ok(known);
        }
        let name = format!("{}/{suffix}", self.graph.value(id).name);
        let results = self.emit(&name, Transpose { perm: perm.to_vec() }.into(), vec![id])?;
        let result = first(&results, &name)?;
        self.permuted.insert(key, result);
        Ok(result)
    }

    /// Renames a value to one of the reserved names.
    pub(crate) fn rename(&mut self, id: ValueId, name: &str) {
        if let Some(value) = self.graph.values.get_mut(id.0 as usize) {
            value.name = name.to_owned();
        }
    }

    /// Evaluates `op` if its operands are constants, the budget suffices, and it is not the
    /// arithmetic of a layer, which is left to passes.
    fn fold(
        &mut self,
        op: &Op,
        inputs: &[ValueId],
        infos: &[ValueInfo],
    ) -> Result<Option<Vec<Tensor>>, Reason> {
        let read = if reduces(op) { self.elements(inputs) } else { 0 };
        let elements = infos.iter().map(|info| info.shape.iter().product::<usize>()).sum::<usize>().max(read);
        if !folds(op) || elements > self.budget {
            return Ok(None);
        }
        let constants: Option<Vec<&Tensor>> =
            inputs.iter().map(|&id| self.graph.constant(id).map(AsRef::as_ref)).collect();
        let Some(constants) = constants.filter(|constants| !constants.is_empty()) else {
            return Ok(None);
        };
        let tensors = op.eval(&constants)?;
        // At least 1, so that a file of many empty tensors also reaches the limit.
        self.budget -= elements.max(1).min(self.budget);
        Ok(Some(tensors))
    }

    /// Removes the empty operands of a concatenation. An empty past before the first token is an
    /// example; no machine can allocate it.
    fn without_empty(&self, op: &Op, mut inputs: Vec<ValueId>) -> Vec<ValueId> {
        let Op::Concat(concat) = op else { return inputs };
        let has_elements = |id: &ValueId| self.graph.shape(*id).get(concat.axis) != Some(&0);
        if inputs.iter().any(has_elements) {
            inputs.retain(has_elements);
        }
        inputs
    }

    /// Total number of elements of the operands.
    fn elements(&self, inputs: &[ValueId]) -> usize {
        let sizes = inputs.iter().map(|&id| self.graph.shape(id).iter().product::<usize>());
        sizes.fold(0, usize::saturating_add)
    }

    /// Raises the folding budget by `elements`, after data was read from a file next to the model.
    pub(crate) fn allow(&mut self, elements: usize) {
        self.budget = self.budget.saturating_add(elements);
    }

    /// Adds an input with a unique name derived from `name`.
    pub(crate) fn input(&mut self, name: &str, info: ValueInfo) -> ValueId {
        let name = self.value_names.unique(name);
        self.graph.add_input(name, info)
    }

    /// Creates a nested graph, which takes over the budget until [`Builder::take_back`].
    pub(crate) fn inner(&self, name: &str) -> Self {
        Self::new(name, HashSet::new(), self.budget)
    }

    /// Continues with the budget that `inner` left.
    pub(crate) fn take_back(&mut self, inner: &Self) {
        self.budget = inner.budget;
    }

    /// Adds an input, or the constant that the caller gives for it. The constant is a number in
    /// text, repeated to the shape of the input.
    ///
    /// # Errors
    ///
    /// [`Reason`] if the element type cannot represent the number, or the budget is exhausted.
    pub(crate) fn input_or_constant(
        &mut self,
        name: &str,
        info: ValueInfo,
        values: &BTreeMap<String, String>,
    ) -> Result<ValueId, Reason> {
        let Some(text) = values.get(name) else { return Ok(self.graph.add_input(name, info)) };
        self.reserve(&info.shape)?;
        Ok(self.graph.add_constant(name, given::constant(&info, text)?))
    }

    /// Deducts the elements of `shape` from the budget.
    ///
    /// # Errors
    ///
    /// [`Reason`] if fewer elements are left.
    pub(crate) fn reserve(&mut self, shape: &[usize]) -> Result<(), Reason> {
        let elements = shape.iter().product::<usize>();
        if elements > self.budget {
            return Err(Reason::TooLarge { shape: shape.to_vec(), limit: self.budget });
        }
        self.budget -= elements;
        Ok(())
    }
}

/// Whether the work of `op` is proportional to its result (or to its operands, if it reduces them),
/// so that folding it stays cheap.
fn folds(op: &Op) -> bool {
    !matches!(
        op,
        Op::Conv(_)
            | Op::ConvTranspose(_)
            | Op::Gemm(_)
            | Op::MatMul(_)
            | Op::MaxPool(_)
            | Op::MaxPoolIndices(_)
            | Op::AveragePool(_)
            | Op::Softmax(_)
            | Op::LogSoftmax(_)
            | Op::Lrn(_)
            | Op::Loop(_)
            | Op::Det(_)
            | Op::GridSample(_)
            | Op::RoiAlign(_)
            // Evaluation of the model uses the integers.
            | Op::DequantizeLinear(_)
    )
}

/// Whether the result of `op` may be far smaller than its operands.
fn reduces(op: &Op) -> bool {
    matches!(op, Op::Reduce(_) | Op::ArgMax(_) | Op::TopK(_) | Op::ScatterElements(_) | Op::ScatterNd(_))
}

/// First result of the node called `name`.
pub(crate) fn first(results: &[ValueId], name: &str) -> Result<ValueId, Reason> {
    results.first().copied().ok_or_else(|| Reason::Undefined { name: name.to_owned() })
}

/// Names already used in the graph.
pub(crate) struct Names {
    taken: HashSet<String>,
    /// Number to try next for each name, so that a file full of equal names does not cost quadratic
    /// time.
    next: HashMap<String, usize>,
}

impl Names {
    /// Creates a set in which `taken` are already used.
    pub(crate) fn new(taken: HashSet<String>) -> Self {
        Self { taken, next: HashMap::new() }
    }

    /// Takes and returns `base`, or `base_2`, `base_3`, ... if it is already used.
    pub(crate) fn unique(&mut self, base: &str) -> String {
        let count = self.next.entry(base.to_owned()).or_insert(1);
        let mut name = if *count == 1 { base.to_owned() } else { format!("{base}_{count}") };
        while !self.taken.insert(name.clone()) {
            *count += 1;
            name = format!("{base}_{count}");
        }
        name
    }
}
