//! [`Builder`]: the graph under construction. It keeps names unique, checks every shape and
//! computes at once what depends on constants only.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use npukit_graph::op::Transpose;
use npukit_graph::{Graph, Op, Operator, Value, ValueId, ValueInfo};
use npukit_numeric::Tensor;

use crate::error::Reason;
use crate::given;
use crate::shape::check_shape;

/// Elements that folding may make beyond what the file itself can hold: shape arithmetic needs
/// far less, a file made to exhaust memory meets it soon.
pub(crate) const FOLDING_ROOM: usize = 1 << 22;

/// The graph under construction.
pub(crate) struct Builder {
    /// The graph so far.
    pub(crate) graph: Graph,
    value_names: Names,
    node_names: Names,
    /// Transposed values by source and permutation: consumers share them.
    permuted: HashMap<(ValueId, Vec<usize>), ValueId>,
    /// Whether nodes may be there that nothing needs.
    pub(crate) has_leftovers: bool,
    /// Elements that folding may still make; what is beyond stays a node.
    budget: usize,
}

impl Builder {
    /// An empty graph. `reserved` are the value names of the file, which helpers must not take;
    /// `budget` bounds the elements that folding makes.
    pub(crate) fn new(name: &str, reserved: HashSet<String>, budget: usize) -> Self {
        let graph = Graph { name: name.to_owned(), ..Graph::default() };
        let (value_names, node_names) = (Names::new(reserved), Names::new(HashSet::new()));
        Self { graph, value_names, node_names, permuted: HashMap::new(), has_leftovers: false, budget }
    }

    /// Adds a node, or the constants it makes when all its operands are constants.
    ///
    /// Names are made from `name`; results get theirs later by [`Builder::rename`].
    ///
    /// # Errors
    ///
    /// What inference says, or a result with too many elements.
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

    /// Adds a constant under a name made from `name`.
    pub(crate) fn constant(&mut self, name: &str, tensor: impl Into<Arc<Tensor>>) -> ValueId {
        let name = self.value_names.unique(name);
        self.graph.add_constant(name, tensor)
    }

    /// The value with its axes permuted; one node (or constant) serves all who ask.
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

    /// Gives a value one of the reserved names.
    pub(crate) fn rename(&mut self, id: ValueId, name: &str) {
        if let Some(value) = self.graph.values.get_mut(id.0 as usize) {
            value.name = name.to_owned();
        }
    }

    /// The results of `op` when its operands are constants, it is not arithmetic of layers (that
    /// is left to passes) and the budget allows.
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
        // At least 1, so that a file of many empty tensors comes to an end as well.
        self.budget -= elements.max(1).min(self.budget);
        Ok(Some(tensors))
    }

    /// Operands without those that a concatenation takes nothing of: a past before the first token, say, which no
    /// machine has a place for.
    fn without_empty(&self, op: &Op, mut inputs: Vec<ValueId>) -> Vec<ValueId> {
        let Op::Concat(concat) = op else { return inputs };
        let has_elements = |id: &ValueId| self.graph.shape(*id).get(concat.axis) != Some(&0);
        if inputs.iter().any(has_elements) {
            inputs.retain(has_elements);
        }
        inputs
    }

    /// Elements of all operands.
    fn elements(&self, inputs: &[ValueId]) -> usize {
        let sizes = inputs.iter().map(|&id| self.graph.shape(id).iter().product::<usize>());
        sizes.fold(0, usize::saturating_add)
    }

    /// Adds to the budget: more of the model came in, in a file beside it.
    pub(crate) fn allow(&mut self, elements: usize) {
        self.budget = self.budget.saturating_add(elements);
    }

    /// Adds an input under a name made from `name`.
    pub(crate) fn input(&mut self, name: &str, info: ValueInfo) -> ValueId {
        let name = self.value_names.unique(name);
        self.graph.add_input(name, info)
    }

    /// A graph of its own within this one, which takes over the budget until [`Builder::take_back`].
    pub(crate) fn inner(&self, name: &str) -> Self {
        Self::new(name, HashSet::new(), self.budget)
    }

    /// Goes on with what `inner` has left of the budget.
    pub(crate) fn take_back(&mut self, inner: &Self) {
        self.budget = inner.budget;
    }

    /// An input, or the constant that the caller gives for it: the number that all of its elements are, as text.
    ///
    /// # Errors
    ///
    /// [`Reason`]: a number that the input's elements cannot be, or more elements than are left of the budget.
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

    /// Takes `elements` from the budget.
    ///
    /// # Errors
    ///
    /// [`Reason`] when there are more than are left of it.
    pub(crate) fn reserve(&mut self, shape: &[usize]) -> Result<(), Reason> {
        let elements = shape.iter().product::<usize>();
        if elements > self.budget {
            return Err(Reason::TooLarge { shape: shape.to_vec(), limit: self.budget });
        }
        self.budget -= elements;
        Ok(())
    }
}

/// Whether the work of `op` is in proportion to its result or, where it reduces, to its operands,
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
            // Whoever evaluates the model computes on its integers.
            | Op::DequantizeLinear(_)
    )
}

/// Whether the result of `op` may be far smaller than what it looks at.
fn reduces(op: &Op) -> bool {
    matches!(op, Op::Reduce(_) | Op::ArgMax(_) | Op::TopK(_) | Op::ScatterElements(_) | Op::ScatterNd(_))
}

/// The only or first result of the node called `name`.
pub(crate) fn first(results: &[ValueId], name: &str) -> Result<ValueId, Reason> {
    results.first().copied().ok_or_else(|| Reason::Undefined { name: name.to_owned() })
}

/// Names in use.
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The count to try next, so that a file full of one name is not searched again and again.
    next: HashMap<String, usize>,
}

impl Names {
    /// Names of which `taken` are in use.
    pub(crate) fn new(taken: HashSet<String>) -> Self {
        Self { taken, next: HashMap::new() }
    }

    /// `base`, or `base_2`, `base_3`, .. when it is in use; takes it.
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
