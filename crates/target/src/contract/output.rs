//! What goes into a run and comes of it: [`Inputs`], [`Output`], [`RunResult`], [`DriverData`].

use npukit_numeric::Tensor;

use crate::report::Saturations;

/// Inputs of one sample, by name. A tensor has the port's `shape`, or its `vectors`.
pub type Inputs = [(String, Tensor)];

/// An output of one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name in the model.
    pub name: String,
    /// Real values, in the port's `shape`, host steps applied.
    pub values: Tensor,
    /// The machine's integers in the same shape, host steps not applied.
    pub raw: Vec<i32>,
}

/// What a run gives.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Outputs in the program's order.
    pub outputs: Vec<Output>,
    /// Values that did not fit.
    pub saturations: Saturations,
    /// What a driver writes before the run and reads after it, where [`RunOptions::driver_data`](crate::RunOptions::driver_data) asks for it and drivers have
    /// a format of their own.
    pub data: Vec<DriverData>,
}

/// An input or output of one sample in a format of the target's drivers. Samples follow each other by their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverData {
    /// Which it is.
    pub place: PortPlace,
    /// File name extension of the format, without the dot.
    pub extension: &'static str,
    /// Content.
    pub bytes: Vec<u8>,
    /// Whether the host has steps to do on it: what the run gives is after them.
    pub is_before_host: bool,
}

/// An input or an output by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortPlace {
    /// In [`ProgramInfo::inputs`](crate::ProgramInfo::inputs).
    Input(usize),
    /// In [`ProgramInfo::outputs`](crate::ProgramInfo::outputs).
    Output(usize),
}
