//! [`Energy`]: energy of a program by layer and memory, from the counts of the clock.

use std::collections::BTreeMap;

use npukit_target::{Activity, Counts, TimeReport};
use serde::Serialize;

use super::technology::Technology;

/// Joules of a picojoule.
const PICO: f64 = 1e-12;

/// Scope of the figures, for reports.
const SCOPE: &str = "energy: multiply-accumulates (padding included) and bytes by memory, times the table's figures; \
                     ALUs, control, wires, leakage and the host do not count";
/// Limit of tables for ASICs, for reports.
const FABRIC: &str = "energy: the same work costs more on the fabric of an FPGA than by the table of an ASIC";

/// Energy of a run on the accelerator.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Energy {
    /// Name of the technology table.
    pub technology: String,
    /// Source of the table.
    pub source: String,
    /// Energy of the whole program.
    #[serde(flatten)]
    pub total: EnergyParts,
    /// Energy of each layer, in order. They add up to the total; empty if layers are unknown.
    pub layers: Vec<EnergyParts>,
    /// Figures that are missing, one sentence each; empty if the energy is known.
    pub unknown: Vec<String>,
    /// Notes on how to read the figures, one sentence each.
    pub notes: Vec<String>,
}

/// Energy of a program or layer in joules. A part is null if a figure for it is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EnergyParts {
    /// Name of the layer; missing for the whole program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Sum of all parts; null if one is unknown.
    pub joules: Option<f64>,
    /// Energy of the multiply-accumulates.
    pub macs: Option<f64>,
    /// Energy of each memory, by name.
    pub memories: BTreeMap<String, Option<f64>>,
}

impl Energy {
    /// Computes the energy of a program from the counts in its time report.
    pub(crate) fn of(technology: &Technology, time: &TimeReport) -> Self {
        let (name, source) = (technology.name.clone(), technology.source.clone());
        let Some(activity) = &time.activity else {
            let unknown = vec!["the target does not count bytes by memory".to_owned()];
            let (total, layers, notes) = (EnergyParts::default(), Vec::new(), Vec::new());
            return Self { technology: name, source, total, layers, unknown, notes };
        };
        let parts = |name: &str, counts: &Counts| EnergyParts::of(technology, activity, name, counts);
        let layers = time.layers.iter().zip(&activity.layers);
        Self {
            total: parts("", &activity.total),
            layers: layers.map(|(layer, counts)| parts(&layer.name, counts)).collect(),
            unknown: missing(technology, activity),
            notes: notes(technology, activity),
            technology: name,
            source,
        }
    }
}

impl EnergyParts {
    fn of(technology: &Technology, activity: &Activity, name: &str, counts: &Counts) -> Self {
        let macs = energy(counts.macs, technology.mac(activity.mac_type));
        let memories = activity.memories.iter().zip(&counts.bytes);
        let memories: BTreeMap<String, Option<f64>> = memories
            .map(|(memory, &bytes)| (memory.name.clone(), energy(bytes, technology.byte(memory))))
            .collect();
        let joules = memories.values().chain([&macs]).copied().sum();
        Self { name: name.to_owned(), joules, macs, memories }
    }
}

/// Returns the joules of `count` operations of `pj` each; 0 without operations, whatever they cost.
fn energy(count: u64, pj: Option<f64>) -> Option<f64> {
    if count == 0 { Some(0.0) } else { pj.map(|pj| count as f64 * pj * PICO) }
}

/// Describes each figure that the program needs and the table does not have.
fn missing(technology: &Technology, activity: &Activity) -> Vec<String> {
    let Activity { mac_type, memories, total, .. } = activity;
    let without = |key: String| {
        let table = &technology.name;
        format!("`{table}` has no figure for {key}; add it to a table of your own")
    };
    let mac_type = Some(*mac_type).filter(|one| total.macs > 0 && technology.mac(*one).is_none());
    let macs = mac_type.map(|one| without(format!("`{}` in [mac]", one.name())));
    let unknown = memories
        .iter()
        .zip(&total.bytes)
        .filter(|(memory, bytes)| **bytes > 0 && technology.byte(memory).is_none());
    let mut classes: Vec<&str> = unknown.map(|(memory, _)| memory.class.name()).collect();
    classes.dedup();
    macs.into_iter()
        .chain(classes.into_iter().map(|class| without(format!("`{class}` in [memory]"))))
        .collect()
}

fn notes(technology: &Technology, activity: &Activity) -> Vec<String> {
    let used = activity.memories.iter().zip(&activity.total.bytes).filter(|(_, bytes)| **bytes > 0);
    let beyond = used.map(|(memory, _)| memory).filter(|memory| technology.is_beyond(memory)).map(|memory| {
        let (name, size) = (&memory.name, memory.size_bytes);
        format!("energy: {name} has {size} bytes, more than any `sram` of the table; its largest one counts")
    });
    [SCOPE, FABRIC].map(str::to_owned).into_iter().chain(beyond).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::{CountedMemory, LayerTime, MacType, MemoryClass};

    use super::*;

    const TABLE: &str = "name = \"t\"\nsource = \"s\"\n\
        [mac]\nint8 = { pj = 2, source = \"s\" }\n\
        [memory]\ndram = { pj_per_byte = 100, source = \"s\" }\n\
        sram = [{ bytes = 64, pj_per_byte = 1, source = \"s\" }]";

    fn table(text: &str) -> Technology {
        Technology::from_toml("t.toml", text).unwrap()
    }

    /// Returns a program of two layers with 10 + 20 MACs, 3 bytes of DRAM and 5 + 7 of SRAM.
    fn time() -> TimeReport {
        let memories = vec![
            CountedMemory::new("dram", MemoryClass::Dram, 1 << 30),
            CountedMemory::new("sram", MemoryClass::Sram, 128),
        ];
        let mut activity = Activity::new(MacType::Int8, memories, 2);
        activity.add(0, 10, &[3, 5]);
        activity.add(1, 20, &[0, 7]);
        let layer = |name: &str| LayerTime { name: name.to_owned(), ..LayerTime::default() };
        let time = TimeReport { layers: vec![layer("a"), layer("b")], ..TimeReport::default() };
        time.with_activity(Some(activity))
    }

    fn picojoules(joules: Option<f64>) -> f64 {
        (joules.unwrap() / PICO).round()
    }

    #[test]
    fn layers_and_memories_add_up() {
        let energy = Energy::of(&table(TABLE), &time());
        let layers: Vec<f64> = energy.layers.iter().map(|layer| picojoules(layer.joules)).collect();
        assert_eq!(layers, [20.0 + 300.0 + 5.0, 40.0 + 7.0]);
        assert_eq!(picojoules(energy.total.joules), layers.iter().sum::<f64>());
        let parts = [energy.total.macs, energy.total.memories["dram"], energy.total.memories["sram"]];
        assert_eq!(parts.map(picojoules), [60.0, 300.0, 12.0]);
        assert!(energy.unknown.is_empty() && energy.notes[2].contains("sram has 128 bytes"), "{energy:?}");
    }

    #[test]
    fn a_missing_figure_makes_the_energy_unknown() {
        let energy = Energy::of(&table(&TABLE.replace("int8", "int16")), &time());
        assert_eq!((energy.total.joules, energy.total.macs), (None, None));
        assert_eq!(energy.unknown, ["`t` has no figure for `int8` in [mac]; add it to a table of your own"]);
        assert_eq!(picojoules(energy.total.memories["dram"]), 300.0);
        let energy = Energy::of(&table("name = \"t\"\nsource = \"s\""), &time());
        assert_eq!((energy.unknown.len(), energy.total.joules), (3, None));
        let energy = Energy::of(&table(TABLE), &TimeReport::default());
        assert_eq!((energy.unknown.len(), energy.total.joules), (1, None));
    }
}
