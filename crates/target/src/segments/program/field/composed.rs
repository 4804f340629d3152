//! [`reference`]: the whole model as the program's parts compute it, as one graph.
//!
//! The model is cut at the names of the values that the parts read and produce, regardless of what
//! the program computes. Each piece is the reference of its segment, or the model's own nodes for
//! the host. Joined by these names, the pieces form the model again, and each name means the same
//! value as in the model. A program that reads or produces a wrong value therefore differs from the
//! reference.

use std::collections::HashMap;

use npukit_graph::{Graph, Node, Value, ValueId};

use super::{FieldPart, SegmentedField, Work, ends};
use crate::contract::proof::Reference;
use crate::error::TargetError;
use crate::segments::SegmentError;

/// Cuts the piece of the model that a part should compute.
///
/// # Errors
///
/// [`SegmentError::Foreign`].
pub(super) fn cut(graph: &Graph, part: &FieldPart<'_>) -> Result<Graph, SegmentError> {
    let id = |name: &String| {
        let foreign = || SegmentError::Foreign { part: part.name(), value: name.clone() };
        graph.find_value(name).ok_or_else(foreign)
    };
    let known = part.inputs.iter().map(id).collect::<Result<_, _>>()?;
    let results = part.outputs.iter().map(id).collect::<Result<Vec<_>, _>>()?;
    Ok(graph.part(&known, &results))
}

/// Returns the reference with index `order`. A segment with fewer references takes them in turn.
/// `None` if no segment has that many.
pub(super) fn reference(
    field: &SegmentedField<'_>,
    graph: &Graph,
    order: usize,
) -> Option<Result<Reference, TargetError>> {
    pieces(field, graph, order)
        .and_then(|pieces| pieces.map(|pieces| put_together(field, graph, pieces)).transpose())
        .transpose()
}

/// Returns a possible graph for each part; `None` if no segment has that many.
fn pieces(
    field: &SegmentedField<'_>,
    graph: &Graph,
    order: usize,
) -> Result<Option<Vec<Reference>>, TargetError> {
    let cut = |part| cut(graph, part).map_err(TargetError::failed);
    let cuts = field.parts.iter().map(cut).collect::<Result<Vec<_>, _>>()?;
    let known = |(part, piece): (&FieldPart<'_>, &Graph)| match &part.work {
        Work::Chip(_, program) => program.references(piece).nth(order),
        Work::Host(_) => None,
    };
    let known: Vec<_> = field.parts.iter().zip(&cuts).map(known).collect();
    // Without a segment there is only one.
    if order > 0 && known.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut pieces = Vec::new();
    for ((part, piece), known) in field.parts.iter().zip(cuts).zip(known) {
        pieces.push(match &part.work {
            Work::Chip(_, program) => {
                let again = || {
                    let all = program.references(&piece).count();
                    program.references(&piece).nth(order.checked_rem(all)?)
                };
                let Some(reference) = known.or_else(again) else { return Ok(None) };
                reference?
            }
            Work::Host(own) => {
                ends::are_of(graph, own).map_err(TargetError::failed)?;
                let (graph, unrounded) = (piece.clone(), piece);
                Reference {
                    order: String::new(),
                    graph,
                    unrounded,
                    approximated: Vec::new(),
                    parts: Vec::new(),
                }
            }
        });
    }
    Ok(Some(pieces))
}

fn put_together(
    field: &SegmentedField<'_>,
    graph: &Graph,
    pieces: Vec<Reference>,
) -> Result<Reference, TargetError> {
    let joined = |piece: fn(&Reference) -> &Graph| {
        let mut composed = Composed::new(field, graph);
        for (number, (part, reference)) in field.parts.iter().zip(&pieces).enumerate() {
            composed.add(number, &part.name(), piece(reference))?;
        }
        composed.finished(graph)
    };
    let rounded = joined(|piece| &piece.graph).map_err(TargetError::failed)?;
    let unrounded = joined(|piece| &piece.unrounded).map_err(TargetError::failed)?;
    // Default: host parts alone have no order.
    let order =
        pieces.iter().map(|piece| piece.order.clone()).find(|order| !order.is_empty()).unwrap_or_default();
    let approximated = pieces.into_iter().flat_map(|piece| piece.approximated).collect();
    let Composed { graph, parts, .. } = rounded;
    Ok(Reference { order, graph, unrounded: unrounded.graph, approximated, parts })
}

/// A graph under construction.
struct Composed {
    graph: Graph,
    /// For each node, the part that computes it.
    parts: Vec<usize>,
    /// Values that go between pieces, by name.
    ends: HashMap<String, ValueId>,
}

impl Composed {
    fn new(field: &SegmentedField<'_>, whole: &Graph) -> Self {
        let mut graph = Graph { name: whole.name.clone(), ..Graph::default() };
        let inputs = whole.inputs.iter().map(|&id| whole.value(id));
        let input = |value: &Value| (value.name.clone(), graph.add_input(&value.name, value.info.clone()));
        let ends = inputs.map(input).collect();
        // Reserve these names, so that no value inside a piece takes one.
        for name in field.parts.iter().flat_map(|part| &part.outputs) {
            graph.fresh_name(name);
        }
        Self { graph, parts: Vec::new(), ends }
    }

    /// Adds the piece of a part.
    fn add(&mut self, part: usize, reader: &str, piece: &Graph) -> Result<(), SegmentError> {
        let mut ids: HashMap<ValueId, ValueId> = HashMap::new();
        for &id in &piece.inputs {
            ids.insert(id, self.end(reader, &piece.value(id).name)?);
        }
        for &id in &piece.outputs {
            // A value that is both read and output already exists.
            if let std::collections::hash_map::Entry::Vacant(entry) = ids.entry(id) {
                let value = piece.value(id).clone();
                let name = value.name.clone();
                let id = *entry.insert(self.graph.add_value(value));
                if self.ends.insert(name.clone(), id).is_some() {
                    return Err(SegmentError::Twice { value: name });
                }
            }
        }
        for node in &piece.nodes {
            let own = node.inputs.iter().chain(&node.outputs);
            own.for_each(|&id| {
                ids.entry(id).or_insert_with(|| inner(&mut self.graph, piece.value(id)));
            });
            let new = |old: &[ValueId]| old.iter().filter_map(|id| ids.get(id).copied()).collect();
            let (inputs, outputs) = (new(&node.inputs), new(&node.outputs));
            self.graph.nodes.push(Node { inputs, outputs, ..node.clone() });
            self.parts.push(part);
        }
        Ok(())
    }

    fn end(&self, reader: &str, name: &str) -> Result<ValueId, SegmentError> {
        let missing = || SegmentError::Missing { reader: reader.to_owned(), value: name.to_owned() };
        self.ends.get(name).copied().ok_or_else(missing)
    }

    /// Adds the outputs of the whole model.
    fn finished(mut self, whole: &Graph) -> Result<Self, SegmentError> {
        let outputs = whole.outputs.iter().map(|&id| self.end(ends::END, &whole.value(id).name));
        self.graph.outputs = outputs.collect::<Result<_, _>>()?;
        Ok(self)
    }
}

/// Adds a value that is internal to one piece.
fn inner(graph: &mut Graph, value: &Value) -> ValueId {
    let name = graph.fresh_name(&value.name);
    graph.add_value(Value { name, ..value.clone() })
}
