//! Which value of a graph an element is: [`Values`].

use std::collections::HashMap;

use npukit_graph::field::{FieldTensor, Images, walk};
use npukit_graph::shape::indices;
use npukit_graph::{Graph, ValueId};
use npukit_numeric::Element;

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
    graph: &'a Graph,
    places: HashMap<Element, (ValueId, usize)>,
}

impl<'a> Values<'a> {
    pub fn of(graph: &'a Graph, inputs: Vec<FieldTensor>, images: &dyn Images) -> Self {
        let mut places = HashMap::new();
        walk(graph, inputs, images, |id, tensor| {
            for (i, &element) in tensor.elements.iter().enumerate() {
                // The first in the order of the graph: what later nodes hand on is still that.
                places.entry(element).or_insert((id, i));
            }
        });
        // What everything is padded with says nothing.
        places.remove(&Element::ZERO);
        Self { graph, places }
    }

    /// Zero is known, too.
    pub fn is_known(&self, element: Element) -> bool {
        element == Element::ZERO || self.places.contains_key(&element)
    }

    pub fn place(&self, element: Element) -> Option<ValuePlace> {
        let &(id, at) = self.places.get(&element)?;
        let value = self.graph.value(id).name.clone();
        Some(ValuePlace { value, index: indices(at, self.graph.shape(id)).collect() })
    }
}
