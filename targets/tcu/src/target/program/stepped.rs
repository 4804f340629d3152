//! [`TcuProgram::stepped`]: a program with its inputs, step by step, with an optional run in float
//! alongside.

use npukit_graph::Graph;
use npukit_numeric::NumberFormat;
use npukit_target::{AddressRun, Inputs, MachineOptions, Placed, PlacedKind, StepLayers, TargetError};

use super::TcuProgram;
use super::bounds::in_floats;
use crate::config::{Config, DataType};
use crate::isa::op::Memory;
use crate::machine::Machine;
use crate::program::run::loaded;
use crate::program::{Binding, Program};
use crate::target::machine::{Stepped, TcuMachine, place_of};

/// Description of float values with the model's own constants.
const EXACT: &str = "the same instructions in float, with the model's own constants";
/// Description of float values with rounded constants, if no compilation of the model has the
/// program's instructions.
const ROUNDED: &str = "the same instructions in float, with the program's rounded constants: no compilation of the model \
                       has these instructions";

impl TcuProgram {
    /// Returns the program before its first instruction, with the inputs in memory.
    ///
    /// Errors: inputs that do not fit; [`TargetError::Differs`] if hardware and sequential
    /// execution can differ and the options do not choose; an instance that cannot be simulated.
    pub(super) fn stepped(
        &self,
        inputs: &Inputs,
        options: &MachineOptions<'_>,
    ) -> Result<TcuMachine, TargetError> {
        let lost = self.lost(options.meaning)?;
        let (raw, _) = self.packed(inputs)?;
        let machine = loaded(&self.program, &raw).map_err(TargetError::failed)?;
        let Program { name, config, instructions, .. } = &self.program;
        let names = (name.clone(), self.target());
        let mut stepped = Stepped::new(names, config, instructions.clone(), self.board_memory());
        let names = self.program.layers.iter().map(|layer| layer.name.clone()).collect();
        stepped.outline.layers = StepLayers { names, of: self.program.layer_of_each() };
        stepped.outline.placed = self.tensors();
        let mut machine = TcuMachine::new(stepped, machine, lost, false);
        if let Some(graph) = options.graph {
            let (twin, are) = self.in_float(graph, inputs)?;
            machine = machine.beside(twin, are);
        }
        Ok(machine)
    }

    /// Returns the machine in float with the program's inputs, and a description of its numbers.
    fn in_float(&self, graph: &Graph, inputs: &Inputs) -> Result<(Machine, &'static str), TargetError> {
        let (program, are) = match in_floats(self, graph) {
            Some(program) => (program, EXACT),
            None => (self.with_floats(), ROUNDED),
        };
        // The twin's inputs have the program's addresses.
        let Program { inputs: bindings, .. } = &self.program;
        let twin = Self::loaded(Program { inputs: bindings.clone(), ..program }, self.board.clone());
        let (raw, _) = twin.packed(inputs)?;
        Ok((loaded(&twin.program, &raw).map_err(TargetError::failed)?, are))
    }

    /// Returns the program in float.
    fn with_floats(&self) -> Program {
        let format = self.program.config.data_type.format();
        let float = |&raw: &i32| NumberFormat::Float32.raw_from_f32(format.raw_to_f32(raw));
        let config = Config { data_type: DataType::Float32, ..self.program.config.clone() };
        let constants = self.program.constants.iter().map(float).collect();
        Program { config, constants, ..self.program.clone() }
    }

    /// Returns the locations of inputs, outputs and constants.
    fn tensors(&self) -> Vec<Placed> {
        let Program { inputs, outputs, constants, load_consts_to_local, .. } = &self.program;
        let dram0 = place_of(Memory::Dram0);
        let pieces = |binding: &Binding, kind| {
            let name = binding.name.clone();
            let placed = move |run| Placed { name: name.clone(), kind, run };
            let runs =
                binding.pieces.iter().map(move |piece| AddressRun::dense(dram0, piece.base, piece.size));
            runs.map(placed).collect::<Vec<_>>()
        };
        let mut all: Vec<Placed> =
            inputs.iter().flat_map(|binding| pieces(binding, PlacedKind::Input)).collect();
        all.extend(outputs.iter().flat_map(|binding| pieces(binding, PlacedKind::Output)));
        let vectors = (constants.len() / self.lanes().max(1)) as u64;
        let memories = [Some(Memory::Dram1), load_consts_to_local.then_some(Memory::Local)];
        all.extend(memories.into_iter().flatten().filter(|_| vectors > 0).map(|memory| Placed {
            name: "constants".to_owned(),
            kind: PlacedKind::Constant,
            run: AddressRun::dense(place_of(memory), 0, vectors),
        }));
        all
    }
}
