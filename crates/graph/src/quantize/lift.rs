//! [`lift`]: conversion of a network with integer sections to the float network that it represents.

use std::collections::{BTreeMap, BTreeSet};

use npukit_numeric::ElementType;

use super::signs::Signs;
use crate::ir::{Graph, Node, Value, ValueId};
use crate::op::{Clip, Op, Operator, Relu};
use crate::pass::{PassError, simplify};
use crate::qdq_scales::QdqScales;
use crate::stated::moves;

/// Removes pairs of QuantizeLinear and DequantizeLinear from a valid graph, records their scales in
/// [`Graph::scales`], and simplifies the result. Integers between the pair may only be moved,
/// compared or concatenated.
///
/// If the integers cannot be negative, the quantizer removed a ReLU as redundant: it is inserted
/// again, except at inputs of the graph, whose content is up to the caller. Pairs with different
/// scales stay, as do those whose scales are not constant or differ along an axis.
///
/// # Errors
///
/// See [`simplify`].
pub fn lift(graph: &mut Graph) -> Result<(), PassError> {
    lifted(graph, false)
}

/// Like [`lift`], for callers that use another number format: a Clip limits the floats to the range
/// of the integers.
///
/// # Errors
///
/// See [`simplify`].
pub fn lift_saturating(graph: &mut Graph) -> Result<(), PassError> {
    lifted(graph, true)
}

fn lifted(graph: &mut Graph, saturates: bool) -> Result<(), PassError> {
    simplify(graph)?;
    let nodes = std::mem::take(&mut graph.nodes);
    let mut lifting = Lifting { saturates, ..Lifting::new(graph) };
    nodes.into_iter().try_for_each(|node| lifting.node(node))?;
    lifting.finish();
    graph.remove_dead();
    state_passages(graph);
    simplify(graph)
}

/// Records the quantization parameters of floats whose conversion to integers remains.
fn state_passages(graph: &mut Graph) {
    let stated = |node: &Node| match node.op {
        Op::QuantizeLinear(_) => {
            Some((*node.inputs.first()?, QdqScales::of(graph, &node.op, &node.inputs, &node.outputs)?))
        }
        _ => None,
    };
    let stated: Vec<_> = graph.nodes.iter().filter_map(stated).filter(|(_, it)| it.is_uniform()).collect();
    for (id, stated) in stated {
        graph.scales.entry(id).or_insert(stated);
    }
}

/// A graph under construction, to which the nodes are added one by one.
struct Lifting<'a> {
    graph: &'a mut Graph,
    /// Whether floats are limited to the range of the integers.
    saturates: bool,
    signs: Signs,
    /// Float and quantization parameters that each integer value represents.
    reals: BTreeMap<ValueId, (ValueId, QdqScales)>,
    /// Float that replaces the result of each DequantizeLinear.
    aliases: BTreeMap<ValueId, ValueId>,
    /// Floats that become outputs of the graph, with the output whose name they take.
    given_out: BTreeMap<ValueId, ValueId>,
    /// Floats that cannot become outputs.
    fixed: BTreeSet<ValueId>,
}

impl<'a> Lifting<'a> {
    fn new(graph: &'a mut Graph) -> Self {
        let fixed = graph.inputs.iter().chain(&graph.outputs).copied().collect();
        let (reals, aliases, given_out) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { signs: Signs::new(graph), graph, saturates: false, reals, aliases, given_out, fixed }
    }

    fn node(&mut self, mut node: Node) -> Result<(), PassError> {
        for input in &mut node.inputs {
            *input = self.aliases.get(input).copied().unwrap_or(*input);
        }
        let stated =
            QdqScales::of(self.graph, &node.op, &node.inputs, &node.outputs).filter(QdqScales::is_uniform);
        match (&node.op, stated) {
            (Op::QuantizeLinear(_), Some(stated)) => self.quantized(&node, stated)?,
            (Op::DequantizeLinear(_), Some(stated)) if self.dequantized(&node, &stated) => return Ok(()),
            (Op::DequantizeLinear(_), Some(stated)) => {
                self.graph.scales.extend(node.outputs.iter().map(|&id| (id, stated.clone())));
            }
            _ => self.moved(&node)?,
        }
        self.push(node);
        Ok(())
    }

    fn push(&mut self, node: Node) {
        self.signs.note(self.graph, &node);
        self.graph.nodes.push(node);
    }

    /// Maps the result of a QuantizeLinear to its operand, rectified or clipped if its integers
    /// imply that.
    fn quantized(&mut self, node: &Node, stated: QdqScales) -> Result<(), PassError> {
        let (&[x, ..], &[integers]) = (node.inputs.as_slice(), node.outputs.as_slice()) else {
            return Ok(());
        };
        let lost_relu = stated.is_rectified() && !self.signs.needs_no_relu(x);
        let op: Option<(&str, Op)> = if self.saturates && self.graph.constant(x).is_none() {
            let [min, max] = stated.range().map(|end| end as f32);
            Some(("clip", Clip { min, max }.into()))
        } else {
            lost_relu.then(|| ("relu", Relu.into()))
        };
        let real = match op {
            Some((suffix, op)) => self.add(suffix, op, vec![x], &[x])?[0],
            None => x,
        };
        self.state(real, &stated);
        self.reals.insert(integers, (real, stated));
        Ok(())
    }

    /// Whether the result of a DequantizeLinear can be replaced by the float that its operand
    /// represents.
    fn dequantized(&mut self, node: &Node, stated: &QdqScales) -> bool {
        let (&[integers, ..], &[result]) = (node.inputs.as_slice(), node.outputs.as_slice()) else {
            return false;
        };
        let Some(&(real, ref before)) = self.reals.get(&integers) else { return false };
        if !before.is_alike(stated) || self.graph.value(real).info != self.graph.value(result).info {
            return false;
        }
        if self.graph.is_output(result) {
            let constant = self.graph.constant(real).is_some();
            if constant || self.fixed.contains(&real) || self.given_out.contains_key(&real) {
                return false;
            }
            self.given_out.insert(real, result);
        }
        self.aliases.insert(result, real);
        true
    }

    /// Adds the same node on the floats that its integers represent.
    fn moved(&mut self, node: &Node) -> Result<(), PassError> {
        if let (Op::Cast(cast), &[from], &[to]) = (&node.op, node.inputs.as_slice(), node.outputs.as_slice())
        {
            let holds =
                |(_, stated): &&(ValueId, QdqScales)| [ElementType::F32, stated.element].contains(&cast.to);
            let held = self.reals.get(&from).filter(holds).cloned();
            self.reals.extend(held.map(|real| (to, real)));
            return Ok(());
        }
        if !(moves(&node.op) || matches!(node.op, Op::Concat(_) | Op::MaxPool(_))) {
            return Ok(());
        }
        let known: Option<Vec<_>> = node.inputs.iter().map(|id| self.reals.get(id).cloned()).collect();
        let Some((reals, stated)): Option<(Vec<_>, Vec<_>)> = known.map(|all| all.into_iter().unzip()) else {
            return Ok(());
        };
        let Some(first) = stated.first().filter(|first| stated.iter().all(|other| other.is_alike(first)))
        else {
            return Ok(());
        };
        let results = self.add("real", node.op.clone(), reals, &node.outputs)?;
        for (&integers, real) in node.outputs.iter().zip(results) {
            self.state(real, first);
            self.reals.insert(integers, (real, first.clone()));
        }
        Ok(())
    }

    /// Adds a node whose results are named after `named`.
    fn add(
        &mut self,
        suffix: &str,
        op: Op,
        inputs: Vec<ValueId>,
        named: &[ValueId],
    ) -> Result<Vec<ValueId>, PassError> {
        let base = self.graph.value(named[0]).name.as_str();
        let name = format!("{base}/{suffix}");
        let operands: Vec<&Value> = inputs.iter().map(|&id| self.graph.value(id)).collect();
        let infos = op.infer(&operands).map_err(|error| PassError::Op { node: name.clone(), error })?;
        let result = |info| {
            let name = self.graph.fresh_name(&name);
            self.graph.add_value(Value { name, info, constant: None })
        };
        let outputs: Vec<ValueId> = infos.into_iter().map(result).collect();
        self.push(Node { name, op, inputs, outputs: outputs.clone() });
        Ok(outputs)
    }

    /// Records quantization parameters; if there are several, keeps those with the widest range.
    fn state(&mut self, real: ValueId, stated: &QdqScales) {
        let reach = |stated: &QdqScales| stated.range().map(f64::abs).into_iter().fold(0.0, f64::max);
        let known = self.graph.scales.entry(real).or_insert_with(|| stated.clone());
        if reach(known) < reach(stated) {
            *known = stated.clone();
        }
    }

    /// Replaces the outputs of the graph by the floats that represent them.
    fn finish(self) {
        for (&from, &to) in &self.given_out {
            self.graph.state_alike(from, to);
        }
        for id in self.graph.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs))
        {
            *id = self.given_out.get(id).copied().unwrap_or(*id);
        }
    }
}
