//! Inputs and outputs of a run: [`Inputs`], [`Output`], [`RunResult`], [`DriverData`].

use npukit_numeric::Tensor;

use crate::report::Saturations;

/// Inputs of one sample, by name. The shape of a tensor is the port's `shape` or its `vectors`.
pub type Inputs = [(String, Tensor)];

/// An output of one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name of the output in the model.
    pub name: String,
    /// Real values in the port's `shape`, after host steps.
    pub values: Tensor,
    /// The machine's integers in the same shape, before host steps.
    pub raw: Vec<i32>,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Outputs, in the program's order.
    pub outputs: Vec<Output>,
    /// Number of saturated values.
    pub saturations: Saturations,
    /// Data that a driver writes before the run and reads after it. Filled only if
    /// [`RunOptions::driver_data`](crate::RunOptions::driver_data) requests it and the drivers have
    /// their own format.
    pub data: Vec<DriverData>,
}

/// An input or output of one sample in a format of the target's drivers. For several samples, the
/// bytes are concatenated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverData {
    /// The input or output that the data belongs to.
    pub place: PortPlace,
    /// File name extension of the format, without the dot.
    pub extension: &'static str,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Whether host steps still have to be applied; the outputs of the run are after these steps.
    pub is_before_host: bool,
}

/// Index of an input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortPlace {
    /// Index in [`ProgramInfo::inputs`](crate::ProgramInfo::inputs).
    Input(usize),
    /// Index in [`ProgramInfo::outputs`](crate::ProgramInfo::outputs).
    Output(usize),
}
