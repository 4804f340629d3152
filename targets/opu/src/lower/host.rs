//! Inputs and outputs from the view of the host, before addresses are known.

use super::map::{PlaneId, View};
use crate::program::{HostStep, Patches};

/// Input and its planes.
#[derive(Clone, Debug)]
pub struct HostInput {
    /// Name of the input in the model.
    pub name: String,
    /// Shape of the input in the model.
    pub shape: Vec<usize>,
    /// Permutation of the axes: axis `i` of the image is axis `perm[i]` of the model's tensor.
    pub perm: Vec<usize>,
    /// Patches that become the pixels of the map; `None` if the pixels stay as they are.
    pub patches: Option<Patches>,
    /// Planes of the channels, 64 channels each.
    pub planes: Vec<PlaneId>,
}

/// Output and its planes.
#[derive(Clone, Debug)]
pub struct HostOutput {
    /// Name of the output in the model.
    pub name: String,
    /// Elements, row-major as rows, columns, channels. Pieces are whole planes with the same
    /// fraction length.
    pub view: View,
    /// Shape of the output in the model.
    pub shape: Vec<usize>,
    /// Permutation of the axes: axis `i` of the image is axis `perm[i]` of the model's tensor.
    pub perm: Vec<usize>,
    /// Steps that the host applies to the output, in order.
    pub steps: Vec<HostStep>,
}
