//! Last stage: turns scheduled layers and constants into a [`Program`].

use npukit_target::ModelReading;

use super::layers::hir::{Model, Port};
use super::memory::{Home, Plan};
use super::schedule::Scheduled;
use crate::config::Config;
use crate::program::{Binding, Layer, MemoryUse, Piece, Program};

/// Assembles the program from the model's ports and the scheduled instructions.
pub fn program(name: String, model: Model, config: &Config, scheduled: Scheduled) -> Program {
    let Scheduled { plan, ops, layers, local, accumulators, .. } = scheduled;
    let bindings = |ports: &[Port]| -> Vec<Binding> {
        let mut bindings: Vec<Binding> = ports.iter().map(|port| binding(&model, &plan, port)).collect();
        bindings.sort_by_key(|binding| binding.pieces.first().map(|piece| piece.base));
        bindings
    };
    let mut constants = Vec::new();
    for &id in &plan.constants {
        constants.extend_from_slice(&model.objects.get(id).data);
    }
    let layers = model.layers.iter().zip(layers);
    let layers = layers.map(|(layer, range)| Layer {
        name: layer.name(),
        first: range.start,
        count: range.len(),
        macs: layer.macs,
    });
    Program {
        name,
        config: config.clone(),
        constants,
        load_consts_to_local: plan.strategy.local_consts(),
        inputs: bindings(&model.inputs),
        outputs: bindings(&model.outputs),
        layers: layers.collect(),
        memory: MemoryUse { dram0: plan.dram0, dram1: plan.dram1, local, accumulators },
        system: None,
        reading: ModelReading::new(),
        instructions: ops,
        host_steps: model.host_steps,
    }
}

fn binding(model: &Model, plan: &Plan, port: &Port) -> Binding {
    let size = u64::from(model.objects.get(port.object).vectors);
    let base = match plan.home(port.object) {
        Home::Dram0(base) => base,
        _ => 0,
    };
    Binding { name: port.name.clone(), pieces: vec![Piece { base, size }], layout: Some(port.layout.clone()) }
}
