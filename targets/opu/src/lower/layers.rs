//! Lowering of a graph to layers: [`Builder`].
//!
//! A chain starts at a node that computes a sum of products. The nodes after it join the chain if
//! `store` can execute them. Other readers, and the host, need a value in memory, so a chain ends
//! there.

mod ports;

use std::convert::Infallible;

use npukit_graph::{NodeId, ValueId};
use npukit_lower::{Fuse, Fusion, Reject, fuse};

pub use crate::lower::builder::copies::identity;

use super::host::{HostInput, HostOutput};
use super::layer::Layer;
use super::map::{Planes, View};
use super::ops;
use crate::lower::builder::{Builder, Chain, Lowered};
use crate::lower::error::LowerError;

/// Network as layers of the machine.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Feature maps of the network.
    pub planes: Planes,
    /// Layers in order.
    pub layers: Vec<Layer>,
    /// Inputs of the network.
    pub inputs: Vec<HostInput>,
    /// Outputs of the network.
    pub outputs: Vec<HostOutput>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Builder<'_> {
    /// Lowers all nodes.
    ///
    /// # Errors
    ///
    /// Every node that cannot be lowered.
    pub fn build(mut self) -> Result<Model, LowerError> {
        let outputs: Vec<_> =
            self.graph.outputs.iter().map(|&output| ops::host::output_path(&mut self, output)).collect();
        let inputs = ops::input::bind(&mut self);
        fuse(&mut self);
        let outputs: Vec<_> = outputs.into_iter().filter_map(|path| self.bind_output(path)).collect();
        inputs.iter().for_each(|input| self.align_borders(&input.planes));
        for output in &outputs {
            self.align_borders(&output.view.pieces.iter().map(|piece| piece.plane).collect::<Vec<_>>());
        }
        let Self { planes, layers, fusion, notes, .. } = self;
        let problems = fusion.refusals.problems;
        if problems.is_empty() {
            Ok(Model { planes, layers, inputs, outputs, notes })
        } else {
            Err(LowerError::Unsupported { problems })
        }
    }
}

impl<'g> Fuse<'g> for Builder<'g> {
    type Chain = Chain;
    type View = View;
    type Shortage = Infallible;

    fn fusion(&mut self) -> &mut Fusion<'g, View, Infallible> {
        &mut self.fusion
    }

    fn start(&mut self, id: NodeId) -> Result<Lowered, Reject> {
        ops::lower(self, id)
    }

    fn nodes(chain: &Chain) -> &[NodeId] {
        &chain.nodes
    }

    /// Returns the only reader of the chain's value. A value with several readers, or an output,
    /// must be in memory.
    fn candidates(&mut self, chain: &mut Chain) -> Vec<NodeId> {
        self.fusion.readers.only(chain.value).into_iter().collect()
    }

    fn follow(&mut self, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
        let followed = ops::follow(self, chain, id)?;
        if followed {
            chain.nodes.push(id);
            chain.value = self.node(id).outputs[0];
        }
        Ok(followed)
    }

    /// Stores the chain's value, or holds it back for the sum that is its only reader.
    fn finish(&mut self, chain: Chain) -> Result<(), Reject> {
        let reader = self.fusion.readers.only(chain.value).filter(|&id| !self.fusion.is_done(id));
        let is_product = chain.post.is_empty() && chain.copies == [1, 1];
        if is_product && reader.is_some_and(|id| ops::elementwise::is_sum(&self.node(id).op)) {
            self.hold(chain);
            return Ok(());
        }
        self.store(chain)
    }

    fn stand_in(&mut self, value: ValueId) -> Option<View> {
        let [rows, columns, channels] = self.extent(value).ok()?;
        Some(self.planes.new_map(&self.graph.value(value).name, [rows, columns], channels, 0))
    }
}
