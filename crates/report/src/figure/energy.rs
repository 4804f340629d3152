//! [`energy`]: energy of each layer, stacked by multiply-accumulates and memories.

use super::stacked::{Bar, stacked};

/// Energy of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerEnergy {
    /// Name of the layer.
    pub name: String,
    /// Joules of its parts, in the order of their names.
    pub joules: Vec<f64>,
}

/// Draws a bar per layer with its energy, in microjoules, by parts of these names. `None` without
/// energy.
pub fn energy(parts: &[&str], layers: &[LayerEnergy], program: &str) -> Option<String> {
    let bar = |layer: &LayerEnergy| Bar {
        name: layer.name.clone(),
        parts: layer.joules.iter().map(|joules| 1e6 * joules).collect(),
    };
    let bars: Vec<Bar> = layers.iter().map(bar).collect();
    let description = format!("{program}: energy of {} layers by part", bars.len());
    stacked(&description, "\u{b5}J", parts, &bars, |energy| format!("{energy:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_a_part_per_memory() {
        let layer = LayerEnergy { name: "a".to_owned(), joules: vec![2e-6, 0.0, 1e-6] };
        let svg = energy(&["MACs", "dram", "sram"], &[layer], "p").expect("there is energy");
        for part in ["a: MACs 2.000 \u{b5}J</title>", "a: sram 1.000 \u{b5}J</title>", ">dram</text>"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("a: dram"));
        assert_eq!(energy(&["MACs"], &[], "p"), None);
    }
}
