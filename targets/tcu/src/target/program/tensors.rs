//! Tensors of a program: ports, packing, host steps.

use npukit_numeric::{ElementType, NumberFormat, Tensor};
use npukit_target::{
    DriverData, Inputs, Output, Port, PortError, PortPlace, RunResult, TargetError, Vectors, as_element,
};

use super::{TcuProgram, counts};
use crate::program::Binding;
use crate::program::artifact::{Packed, quantize, raw_to_bytes};
use crate::program::csv;
use crate::program::run::RunOutcome;

impl TcuProgram {
    /// Returns the number of scalars per vector.
    pub(super) fn lanes(&self) -> usize {
        self.program.config.array_size
    }

    fn format(&self) -> NumberFormat {
        self.program.config.data_type.format()
    }

    /// Returns an input or output as a port.
    pub(super) fn port(&self, binding: &Binding) -> Port {
        let shape = [vectors(binding), self.lanes()];
        let vectors = Vectors { shape, is_all: binding.layout.is_none() };
        let shape = binding.layout.as_ref().map_or(shape.to_vec(), |layout| layout.model_shape.clone());
        Port { name: binding.name.clone(), shape, vectors: Some(vectors), element: None }
    }

    /// Returns the raw vectors of an input that is given in the model's shape or as vectors.
    pub(super) fn pack(&self, binding: &Binding, inputs: &Inputs) -> Result<Packed, PortError> {
        let port = self.port(binding);
        let Some((_, tensor)) = inputs.iter().find(|(name, _)| *name == binding.name) else {
            return Err(PortError::Missing { name: port.name, shape: port.shape });
        };
        let samples = port.split(tensor)?;
        let [sample] = &samples[..] else {
            return Err(PortError::Samples { name: port.name, actual: samples.len(), expected: 1 });
        };
        let sample = as_element(sample, ElementType::F32);
        let values = sample
            .as_f32()
            .ok_or_else(|| PortError::Element { name: port.name.clone(), element: ElementType::F32 })?;
        let Packed { raw, saturated } = match binding.exponent() {
            0 => quantize(self.format(), values),
            exponent => quantize(self.format(), &scaled(values, -exponent)),
        };
        let packed = match &binding.layout {
            Some(layout) if sample.shape() == layout.model_shape => layout.pack(&raw, self.lanes()),
            _ => Some(raw),
        };
        match packed {
            Some(raw) => Ok(Packed { raw, saturated }),
            None => {
                Err(PortError::Shape { name: port.name, actual: tensor.shape().to_vec(), shape: port.shape })
            }
        }
    }

    /// Returns an output in the model's shape, after host steps; as vectors if the artifact does
    /// not record the shape.
    pub(super) fn output(&self, binding: &Binding, finished: &RunOutcome) -> Result<Output, TargetError> {
        self.output_of(binding, finished.output(binding).map_err(TargetError::failed)?)
    }

    /// Returns an output from its raw vectors, after host steps.
    pub(super) fn output_of(&self, binding: &Binding, vectors: Vec<i32>) -> Result<Output, TargetError> {
        let mut output = self.raw_output(binding, vectors)?;
        for step in self.program.host_steps.iter().filter(|step| step.output == binding.name) {
            output.values = step.op.apply(&output.values).map_err(TargetError::failed)?;
        }
        Ok(output)
    }

    /// Returns an output from its raw vectors, before host steps.
    pub(super) fn raw_output(&self, binding: &Binding, vectors: Vec<i32>) -> Result<Output, TargetError> {
        let raw = match &binding.layout {
            Some(layout) => layout.unpack(&vectors, self.lanes()).unwrap_or(vectors),
            None => vectors,
        };
        let shape = self.port(binding).shape;
        let values: Vec<f32> = raw.iter().map(|&raw| self.format().raw_to_f32(raw)).collect();
        let values = Tensor::from_f32(shape, scaled(&values, binding.exponent())).map_err(|values| {
            TargetError::failed(format!("output `{}` has {} values", binding.name, values.len()))
        })?;
        Ok(Output { name: binding.name.clone(), values, raw })
    }

    /// Returns the raw vectors of all inputs in program order, and the number of saturated values.
    pub(super) fn packed(&self, inputs: &Inputs) -> Result<(Vec<Vec<i32>>, u64), TargetError> {
        let packed = self.program.inputs.iter().map(|binding| self.pack(binding, inputs));
        let packed = packed.collect::<Result<Vec<_>, _>>().map_err(TargetError::failed)?;
        let saturated = packed.iter().map(|input| input.saturated).sum();
        Ok((packed.into_iter().map(|input| input.raw).collect(), saturated))
    }

    /// Returns the result of a run.
    pub(super) fn result(
        &self,
        finished: &RunOutcome,
        saturated_inputs: u64,
    ) -> Result<RunResult, TargetError> {
        let outputs = self.program.outputs.iter().map(|binding| self.output(binding, finished));
        let outputs = outputs.collect::<Result<_, _>>()?;
        Ok(RunResult { outputs, saturations: counts(finished, saturated_inputs), data: Vec::new() })
    }

    /// Returns the driver's data of a run: the raw vectors of its inputs and outputs.
    pub(super) fn data_of(
        &self,
        raw: &[Vec<i32>],
        finished: &RunOutcome,
    ) -> Result<Vec<DriverData>, TargetError> {
        let mut data: Vec<DriverData> = Vec::new();
        for (place, vectors) in raw.iter().enumerate() {
            data.extend(self.driver_data(PortPlace::Input(place), vectors));
        }
        for (place, binding) in self.program.outputs.iter().enumerate() {
            let vectors = finished.output(binding).map_err(TargetError::failed)?;
            data.extend(self.driver_data(PortPlace::Output(place), &vectors));
        }
        Ok(data)
    }

    /// Returns vectors in the format of Tensil's emulator, and as bytes of DRAM0.
    fn driver_data(&self, place: PortPlace, vectors: &[i32]) -> [DriverData; 2] {
        let values = vectors.iter().map(|&raw| self.format().raw_to_f32(raw));
        let text = csv::write(values, self.lanes()).into_bytes();
        let bytes = raw_to_bytes(self.program.config.data_type, vectors);
        let is_before_host = self.has_host_steps(place);
        let data = |(extension, bytes)| DriverData { place, extension, bytes, is_before_host };
        [("csv", text), ("tdata", bytes)].map(data)
    }

    /// Returns whether an output has host steps.
    fn has_host_steps(&self, place: PortPlace) -> bool {
        let PortPlace::Output(place) = place else { return false };
        let name = self.program.outputs.get(place).map(|binding| &binding.name);
        self.program.host_steps.iter().any(|step| Some(&step.output) == name)
    }

    /// Converts a sample of an input from rows of vectors to the model's shape.
    pub(super) fn unpacked(&self, port: &str, sample: &Tensor) -> Option<Tensor> {
        let layout = self.program.inputs.iter().find(|binding| binding.name == port)?.layout.as_ref()?;
        if sample.shape() == layout.model_shape {
            return None;
        }
        let values = layout.unpack(sample.as_f32()?, self.lanes())?;
        Tensor::from_f32(layout.model_shape.clone(), values).ok()
    }
}

/// Returns the values times `2^exponent`.
fn scaled(values: &[f32], exponent: i32) -> Vec<f32> {
    // In double precision, no power of two in use overflows.
    let factor = f64::from(exponent).exp2();
    values.iter().map(|&value| (f64::from(value) * factor) as f32).collect()
}

fn vectors(binding: &Binding) -> usize {
    binding.pieces.iter().fold(0, |sum: usize, piece| sum.saturating_add(piece.size as usize))
}
