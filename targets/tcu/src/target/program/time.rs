//! How long a program takes: by the published estimator, and by the clock of the hardware.

use std::collections::BTreeMap;

use npukit_target::{KindTime, LayerTime, TimeReport};

use super::TcuProgram;
use crate::board;
use crate::clock::{Clock, ClockParams};
use crate::config::Config;
use crate::op::Op;
use crate::program::{Layer, Program};
use crate::timing::{Cost, Estimate, estimate, estimate_layers};

/// The published estimator, and it as upstream prints it.
const ESTIMATOR: &str = "estimator";
const ESTIMATOR_UNDRAINED: &str = "estimator_undrained";
/// The clock of the hardware.
const MODEL: &str = "model";
/// The longest program the clock is asked about, in the estimator's cycles: it looks at every vector,
/// and a few damaged bytes can ask for 2^60.
const MOST_CYCLES: u64 = 1 << 28;

impl TcuProgram {
    /// How long it takes.
    pub(super) fn time_report(&self) -> TimeReport {
        let Program { config, instructions, .. } = &self.program;
        let Estimate { cycles, undrained, energy, kinds } = estimate(config, instructions);
        let clock = self.board.as_deref().and_then(board::clock);
        let multiplied: u64 =
            kinds.iter().filter(|(kind, _)| kind.starts_with("MatMul")).map(|(_, cost)| cost.vectors).sum();
        let mut by_model =
            BTreeMap::from([(ESTIMATOR.to_owned(), cycles), (ESTIMATOR_UNDRAINED.to_owned(), undrained)]);
        let memory = board::memory(config, clock.map(|clock| clock.mhz));
        if cycles <= MOST_CYCLES {
            let model = hardware_cycles(config, memory, instructions);
            by_model.extend(model.map(|cycles| (MODEL.to_owned(), cycles)));
        }
        TimeReport {
            assumptions: assumptions(by_model.contains_key(MODEL), memory),
            cycles: by_model,
            model: ESTIMATOR.to_owned(),
            milliseconds: clock.map(|clock| cycles as f64 / (clock.mhz * 1e3)),
            clock_mhz: clock.map(|clock| clock.mhz),
            clock_source: clock.map(|clock| clock.source.to_owned()),
            utilisation: self.macs().map(|macs| self.utilisation(macs, cycles)),
            array_busy: ratio(multiplied as f64, cycles as f64),
            energy,
            layers: self.layer_times(cycles),
            kinds: kinds.into_iter().map(kind_time).collect(),
        }
    }

    /// Share of the array's multiplications that `macs` are.
    fn utilisation(&self, macs: u64, cycles: u64) -> f64 {
        let n = self.lanes() as f64;
        ratio(macs as f64, n * n * cycles as f64)
    }

    fn layer_times(&self, total: u64) -> Vec<LayerTime> {
        let Program { config, instructions, layers, .. } = &self.program;
        let costs = estimate_layers(config, instructions, layers);
        let time = |(layer, cost): (&Layer, Cost)| LayerTime {
            name: layer.name.clone(),
            instructions: layer.count,
            cycles: cost.cycles,
            share: ratio(cost.cycles as f64, total as f64),
            macs: layer.macs,
            utilisation: self.utilisation(layer.macs, cost.cycles),
        };
        layers.iter().zip(costs).map(time).collect()
    }
}

/// Cycles of the hardware; none where it could not be built, or hangs.
fn hardware_cycles(config: &Config, memory: ClockParams, ops: &[Op]) -> Option<u64> {
    let timeline = Clock::new(config, memory).ok()?.run(ops);
    timeline.hang.is_none().then_some(timeline.total)
}

fn assumptions(modelled: bool, memory: ClockParams) -> Vec<String> {
    let ClockParams { read_latency, axi_bits, .. } = memory;
    let estimator = "estimator: a cycle per vector moved, memory answers at once".to_owned();
    let model = format!(
        "model: memory answers after {read_latency} cycles on a bus of {axi_bits} bits, as the published \
         ResNet-20 measurement on the ZCU104 implies"
    );
    std::iter::once(estimator).chain(modelled.then_some(model)).collect()
}

fn kind_time((kind, cost): (&'static str, Cost)) -> KindTime {
    KindTime {
        kind: kind.to_owned(),
        instructions: cost.instructions,
        vectors: cost.vectors,
        cycles: cost.cycles,
    }
}

/// A share; 0 of nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
