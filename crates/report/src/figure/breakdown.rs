//! [`breakdown`]: cycles of each layer, stacked by cause.

use npukit_target::TimeReport;

use super::stacked::{Bar, stacked};
use crate::causes::LayerCauses;
use crate::timeline::Timeline;

/// Names of the causes, in the order of a bar.
const NAMES: [&str; 7] =
    ["ideal compute", "array not filled", "loading weights", "DRAM", "ALUs", "moves on the chip", "waits"];

/// Returns the cycles of a layer in the order of [`NAMES`], where `ideal` is the least number of
/// cycles for its multiply-accumulates.
const fn parts(causes: &LayerCauses, ideal: u64) -> [u64; 7] {
    let LayerCauses { compute, weights, dram, alus, moves, waits, .. } = *causes;
    let ideal = if ideal < compute { ideal } else { compute };
    [ideal, compute - ideal, weights, dram, alus, moves, waits]
}

/// Draws a bar per layer with its cycles by cause. `None` for a program without known causes.
pub fn breakdown(time: &TimeReport, timeline: &Timeline, program: &str) -> Option<String> {
    let bar = |(place, causes): (usize, &LayerCauses)| {
        // Default: cycles outside all layers have no multiply-accumulates.
        let ideal = time.layers.get(place).map_or(0, |layer| layer.roofline.compute);
        let name = if causes.name.is_empty() { "(no layer)" } else { &causes.name };
        let parts = parts(causes, ideal).map(|cycles| cycles as f64).to_vec();
        Bar { name: name.to_owned(), parts }
    };
    let bars: Vec<Bar> = timeline.causes.iter().enumerate().map(bar).collect();
    let description = format!("{program}: cycles of {} layers by cause", bars.len());
    stacked(&description, "cycles", &NAMES, &bars, |cycles| cycles.to_string())
}

#[cfg(test)]
mod tests {
    use npukit_target::{LayerTime, Roofline};

    use super::*;

    #[test]
    fn bars_have_a_part_per_cause() {
        let causes = vec![
            LayerCauses {
                name: "a<".to_owned(),
                compute: 500,
                weights: 100,
                waits: 400,
                ..LayerCauses::default()
            },
            LayerCauses { dram: 50, ..LayerCauses::default() },
        ];
        let layer = LayerTime { roofline: Roofline::new(300, 0, 1000), ..LayerTime::default() };
        let time = TimeReport { layers: vec![layer], ..TimeReport::default() };
        let timeline = Timeline { cycles: 1050, causes, ..Timeline::default() };
        let svg = breakdown(&time, &timeline, "p").expect("there are causes");
        for part in [
            "a&lt;: ideal compute 300",
            "array not filled 200",
            "loading weights 100",
            "waits 400",
            "DRAM 50",
        ] {
            assert!(svg.contains(&format!("{part} cycles</title>")), "{part}: {svg}");
        }
        for text in ["cycles", "200", "1000", "ideal compute", "(no layer)"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{text}: {svg}");
        }
        assert_eq!(breakdown(&time, &Timeline::default(), "p"), None);
    }
}
