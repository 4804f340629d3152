//! Inputs and outputs: the objects that the host writes and reads, and their layouts.

use npukit_graph::{NodeId, Op, ValueId};

use super::Builder;
use crate::lower::layers::hir::{Layer, Port, Step};
use crate::lower::layers::ops;
use crate::lower::memory::object::{ObjectId, ObjectKind, VecRef};
use crate::lower::memory::view::View;
use crate::program::Layout;

/// Packing of an input: its axes permuted, then reshaped to `shape`.
#[derive(Clone, PartialEq)]
struct Packing {
    perm: Vec<usize>,
    shape: Vec<usize>,
}

impl Builder<'_> {
    /// Creates the objects of the inputs. An input that is only read transposed or reshaped is
    /// packed that way by the host.
    pub(super) fn bind_inputs(&mut self) -> Vec<Port> {
        let graph = self.graph;
        graph.inputs.iter().map(|&input| self.bind_input(input)).collect()
    }

    fn bind_input(&mut self, input: ValueId) -> Port {
        let model_shape = self.graph.shape(input).to_vec();
        let readers = self.fusion.readers.all(input).to_vec();
        let packing = self.common_packing(&readers).filter(|_| !self.fusion.readers.is_output(input));
        let natural = || Packing { perm: (0..model_shape.len()).collect(), shape: model_shape.clone() };
        let Packing { perm, shape } = packing.clone().unwrap_or_else(natural);
        let view = self.stored_view(input, ObjectKind::Input, &shape);
        let object = view.vectors.first().map_or(VecRef::ZERO.object, |vector| vector.object);
        let channels = view.channels;
        if packing.is_some() {
            for id in readers {
                self.fusion.set_done(id);
                self.fusion.set_view(self.graph.node(id).outputs[0], view.clone());
            }
        } else {
            self.fusion.set_view(input, view);
        }
        let name = self.graph.value(input).name.clone();
        Port { name, object, layout: Layout { model_shape, perm, channels, exponent: 0 } }
    }

    /// Returns the packing that all `readers` use; `None` unless each is the same Transpose or
    /// Reshape.
    fn common_packing(&self, readers: &[NodeId]) -> Option<Packing> {
        let (&first, others) = readers.split_first()?;
        let packing = self.packing(first)?;
        others.iter().all(|&id| self.packing(id).as_ref() == Some(&packing)).then_some(packing)
    }

    fn packing(&self, id: NodeId) -> Option<Packing> {
        let node = self.graph.node(id);
        let &output = node.outputs.first()?;
        let perm = match &node.op {
            Op::Transpose(transpose) => transpose.perm.clone(),
            Op::Reshape(_) => (0..self.graph.shape(node.inputs[0]).len()).collect(),
            _ => return None,
        };
        (!self.fusion.readers.is_output(output))
            .then(|| Packing { perm, shape: self.graph.shape(output).to_vec() })
    }

    /// Finds the range of DRAM0 vectors that holds an output, or creates it with a copy.
    pub(super) fn bind_output(&mut self, output: ValueId) -> Port {
        let name = self.graph.value(output).name.clone();
        let model_shape = self.graph.shape(output).to_vec();
        let (stored, perm) = ops::output_layout(self, output);
        let view = match self.view(stored) {
            Ok(view) => view,
            Err(reject) => {
                // A node without a view has already been reported.
                if self.fusion.readers.producer(stored).is_none() {
                    self.fusion.report(&name, "output", reject);
                }
                View { shape: model_shape.clone(), channels: 1, vectors: Vec::new() }
            }
        };
        let channels = view.channels;
        let object = match self.whole_output(&view) {
            Some(object) => object,
            None => self.copy_out(output, stored, view),
        };
        Port { name, object, layout: Layout { model_shape, perm, channels, exponent: 0 } }
    }

    /// Returns the output object that holds exactly the vectors of `view`, in order.
    fn whole_output(&self, view: &View) -> Option<ObjectId> {
        let object = view.vectors.first()?.object;
        let whole = view
            .vectors
            .iter()
            .enumerate()
            .all(|(i, vector)| vector.object == object && vector.index as usize == i);
        if !whole || view.vectors.first()?.is_zero() {
            return None;
        }
        let found = self.objects.get(object);
        (found.kind == ObjectKind::Output && found.vectors as usize == view.vectors.len()).then_some(object)
    }

    /// Adds a layer that copies `stored` to an output object. The layer's result is `stored`: steps
    /// of the host that turn it into `output` come later.
    fn copy_out(&mut self, output: ValueId, stored: ValueId, view: View) -> ObjectId {
        let vectors = view.vectors.len();
        let object = self.objects.add_value(self.graph, stored, ObjectKind::Output, vectors);
        let (pixels, blocks) = (view.pixels(self.array_size()), view.blocks(self.array_size()));
        let vectors = self.stored(view.vectors);
        let steps = vec![Step::Load(vectors), Step::Save { object, pixel_major: true, pixels: None }];
        let nodes = vec![format!("copy to {}", self.graph.value(output).name)];
        self.layers.push(Layer { nodes, macs: 0, pixels, blocks, steps, kept: 0 });
        object
    }
}
