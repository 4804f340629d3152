//! Inputs and outputs as the host sees them, before addresses are known.

use super::map::{PlaneId, View};
use crate::program::{HostStep, Patches};

/// An input as it lies in planes.
#[derive(Clone, Debug)]
pub struct HostInput {
    /// Name in the model.
    pub name: String,
    /// Shape in the model.
    pub shape: Vec<usize>,
    /// Axis `i` of the image is axis `perm[i]` of the model's.
    pub perm: Vec<usize>,
    /// What its pixels become.
    pub patches: Option<Patches>,
    /// Where the channels go, 64 to a plane.
    pub planes: Vec<PlaneId>,
}

/// An output as it lies in planes.
#[derive(Clone, Debug)]
pub struct HostOutput {
    /// Name in the model.
    pub name: String,
    /// The elements, row-major as rows, columns, channels. Pieces are whole planes of one fraction length.
    pub view: View,
    /// Shape in the model.
    pub shape: Vec<usize>,
    /// Axis `i` of the image is axis `perm[i]` of the model's.
    pub perm: Vec<usize>,
    /// What the host computes of it, in order.
    pub steps: Vec<HostStep>,
}
