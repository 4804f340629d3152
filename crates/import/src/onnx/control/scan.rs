//! Translation of Scan: [`Importer::scan`].

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Slice, SliceRange};

use super::MAX_NODES;
use crate::node::NodeBuilder;
use crate::onnx::attributes::{Attributes, unsupported};
use crate::onnx::error::Reason;
use crate::onnx::importer::Importer;
use crate::onnx::proto::NodeProto;
use crate::onnx::scope::Branch;

impl<'a> Importer<'a, '_> {
    /// Translates a Scan and returns its results.
    pub(super) fn scan(
        &mut self,
        node: &'a NodeProto,
        body: &'a Branch,
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        if self.file.opset < 9 {
            return Err(Reason::Operator { operator: format!("Scan of opset {}", self.file.opset) });
        }
        let operands: Option<Vec<ValueId>> = operands.iter().copied().collect();
        let operands = operands.ok_or(Reason::OperandMissing { operand: "initial_state_and_scan_inputs" })?;
        let mut attributes = Attributes::new(node)?;
        let states = states(&mut attributes, operands.len())?;
        self.check_body(body, operands.len(), states)?;
        let outputs = body.scope.proto.output.len() - states;
        let inputs = operands.len() - states;
        let axes = listed(&mut attributes, "scan_input_axes", inputs)?;
        let backwards = listed(&mut attributes, "scan_input_directions", inputs)?;
        let stacked = listed(&mut attributes, "scan_output_axes", outputs)?;
        let reversed = listed(&mut attributes, "scan_output_directions", outputs)?;
        self.check_read(&attributes)?;
        let (mut carried, scans) = (operands[..states].to_vec(), &operands[states..]);
        let mut cuts = Vec::new();
        for (&scan, &axis) in scans.iter().zip(&axes) {
            let rank = self.builder.graph.shape(scan).len();
            cuts.push((scan, NodeBuilder::axis("scan_input_axes", axis, rank)?));
        }
        let rounds = cuts.first().map_or(0, |&(scan, axis)| self.builder.graph.shape(scan)[axis]);
        check_rounds(rounds, MAX_NODES / body.nodes())?;
        let mut stacks = vec![Vec::new(); outputs];
        for round in 0..rounds {
            self.reserve_round(body)?;
            let mut given = carried.clone();
            for (&(scan, axis), &backwards) in cuts.iter().zip(&backwards) {
                let place = if backwards == 1 { rounds - 1 - round } else { round };
                given.push(self.cut(node, scan, axis, place, rounds)?);
            }
            let Some(mut results) = self.results_of(node, body, &given) else { return Ok(None) };
            for (stack, result) in stacks.iter_mut().zip(results.drain(states..)) {
                stack.push(result);
            }
            carried = results;
        }
        for ((stack, axis), reversed) in stacks.into_iter().zip(stacked).zip(reversed) {
            carried.push(self.scanned(node, stack, axis, reversed == 1)?);
        }
        Ok(Some(carried))
    }

    /// Stacks the results of all rounds along an axis.
    fn scanned(
        &mut self,
        node: &NodeProto,
        mut stack: Vec<ValueId>,
        axis: i64,
        is_reversed: bool,
    ) -> Result<ValueId, Reason> {
        let rank = stack.first().map_or(0, |&id| self.builder.graph.shape(id).len()) + 1;
        if is_reversed {
            stack.reverse();
        }
        self.stack(node, stack, NodeBuilder::axis("scan_output_axes", axis, rank)?)
    }

    /// Returns the slice at `place` of an axis of `length`, without that axis.
    fn cut(
        &mut self,
        node: &NodeProto,
        value: ValueId,
        axis: usize,
        place: usize,
        length: usize,
    ) -> Result<ValueId, Reason> {
        let mut shape = self.builder.graph.shape(value).to_vec();
        if shape[axis] != length {
            let (found, legal) =
                (format!("{} elements along the scanned axis", shape[axis]), length.to_string());
            return Err(Reason::OperandValue { operand: "scan_inputs", found, legal });
        }
        let ranges = vec![SliceRange { axis, start: place, length: 1, step: 1 }];
        let part = self.add(node, Slice { ranges }, vec![value])?;
        shape.remove(axis);
        self.add(node, Reshape { shape }, vec![part])
    }
}

/// Returns the number of states, which are the operands before the scanned ones.
fn states(attributes: &mut Attributes<'_>, operands: usize) -> Result<usize, Reason> {
    let scanned = attributes.int("num_scan_inputs")?;
    let scanned = scanned.ok_or(Reason::AttributeMissing { name: "num_scan_inputs" })?;
    let states = usize::try_from(scanned).ok().and_then(|scanned| operands.checked_sub(scanned));
    let states = states.filter(|&states| states < operands);
    states.ok_or_else(|| unsupported("num_scan_inputs", scanned, format!("1 to {operands}")))
}

/// Returns an attribute of `count` integers.
fn listed(attributes: &mut Attributes<'_>, name: &'static str, count: usize) -> Result<Vec<i64>, Reason> {
    // Default: the standard defines an omitted attribute as 0 for each entry.
    let values = attributes.ints(name)?.map_or_else(|| vec![0; count], <[i64]>::to_vec);
    if values.len() == count {
        return Ok(values);
    }
    Err(unsupported(name, values, format!("{count} integers")))
}

/// Refuses a scan of no elements or of more than `most`.
fn check_rounds(rounds: usize, most: usize) -> Result<(), Reason> {
    if (1..=most).contains(&rounds) {
        return Ok(());
    }
    let found = format!("{rounds} elements along the scanned axis");
    Err(Reason::OperandValue { operand: "scan_inputs", found, legal: format!("1 to {most}") })
}
