//! Lookup of the graph value that a field element belongs to: [`Values`].

use std::collections::HashMap;

use npukit_graph::ValueId;
use npukit_graph::field::{FieldTensor, walk};
use npukit_graph::shape::indices;
use npukit_numeric::Element;
use npukit_target::{Expected, FieldProgram, Reference};

/// An element of a tensor of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuePlace {
    /// Name of the tensor.
    pub value: String,
    /// Index along each axis.
    pub index: Vec<usize>,
}

/// Index of all elements of a graph's values. They are pseudorandom, so each element identifies its
/// place.
pub(crate) struct Values<'a> {
    reference: &'a Reference,
    program: &'a dyn FieldProgram,
    inputs: Vec<FieldTensor>,
    places: HashMap<Element, (ValueId, usize)>,
}

impl<'a> Values<'a> {
    pub fn of(reference: &'a Reference, program: &'a dyn FieldProgram, inputs: Vec<FieldTensor>) -> Self {
        let mut values = Self { reference, program, inputs, places: HashMap::new() };
        let mut places = HashMap::new();
        values.walk(|id, tensor| {
            for (i, &element) in tensor.elements.iter().enumerate() {
                // The first value in graph order wins: later nodes may only pass it on.
                places.entry(element).or_insert((id, i));
            }
        });
        // Zero is used for padding, so it identifies nothing.
        places.remove(&Element::ZERO);
        values.places = places;
        values
    }

    fn walk(&self, see: impl FnMut(ValueId, &FieldTensor)) {
        let Self { reference, program, .. } = self;
        walk(&reference.graph, self.inputs.clone(), &|node| program.images(reference.part(node)), see);
    }

    pub fn place(&self, element: Element) -> Option<ValuePlace> {
        let &(id, at) = self.places.get(&element)?;
        let value = self.reference.graph.value(id);
        Some(ValuePlace { value: value.name.clone(), index: indices(at, &value.info.shape).collect() })
    }
}

impl Expected for Values<'_> {
    fn is_known(&self, element: Element) -> bool {
        element == Element::ZERO || self.places.contains_key(&element)
    }

    fn each(&self, see: &mut dyn FnMut(&str, &FieldTensor)) {
        self.walk(|id, tensor| see(&self.reference.graph.value(id).name, tensor));
    }
}
