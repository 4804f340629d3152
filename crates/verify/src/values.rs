//! Which value of a graph an element is: [`Values`].

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
    /// Index along each of its axes.
    pub index: Vec<usize>,
}

/// All elements of a graph's values: they look random, so that each says where it is from.
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
                // The first in the order of the graph: what later nodes hand on is still that.
                places.entry(element).or_insert((id, i));
            }
        });
        // What everything is padded with says nothing.
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
