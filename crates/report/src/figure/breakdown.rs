//! [`breakdown`]: cycles of each layer, stacked by cause.

use npukit_target::TimeReport;

use super::axis::steps;
use super::{COLOURS, EDGE, Figure, clipped, short};
use crate::causes::LayerCauses;
use crate::page::escaped;
use crate::timeline::Timeline;

/// Width of the figure, which is that of a column, and the space for names of layers at the left.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 150.0;
/// Height of a bar, and the space below it.
const BAR: f64 = 11.0;
const GAP: f64 = 4.0;
/// Space for the axis below the bars.
const AXIS: f64 = 44.0;

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
    let most = timeline.causes.iter().map(LayerCauses::cycles).max().filter(|most| *most > 0)?;
    let rows = timeline.causes.len();
    let bottom = EDGE + rows as f64 * (BAR + GAP);
    let entries: Vec<_> = COLOURS.into_iter().zip(NAMES.map(str::to_owned)).collect();
    let legend = Figure::legend_height(&entries, WIDTH);
    let told = format!("{program}: cycles of {rows} layers by cause");
    let mut figure = Figure::begin((WIDTH, bottom + AXIS + legend), &told).in_column();
    let scale = (WIDTH - EDGE - LEFT) / most as f64;
    for mark in steps(0.0, most as f64) {
        let x = LEFT + mark * scale;
        figure.add(format_args!("<path class=\"grid\" d=\"M{x:.1} {EDGE}V{bottom:.1}\"/>"));
        figure.text((x, bottom + 16.0), "middle", &short(mark));
    }
    figure.text(((LEFT + WIDTH - EDGE) / 2.0, bottom + 34.0), "middle", "cycles");
    for (place, causes) in timeline.causes.iter().enumerate() {
        // Default: cycles outside all layers have no multiply-accumulates.
        let ideal = time.layers.get(place).map_or(0, |layer| layer.roofline.compute);
        bar(&mut figure, causes, ideal, place, scale);
    }
    figure.legend((EDGE, bottom + AXIS), &entries, WIDTH);
    Some(figure.end())
}

/// Draws the bar of a layer.
fn bar(figure: &mut Figure, causes: &LayerCauses, ideal: u64, place: usize, scale: f64) {
    let y = EDGE + place as f64 * (BAR + GAP);
    let name = if causes.name.is_empty() { "(no layer)" } else { &causes.name };
    figure.text((LEFT - 6.0, y + BAR * 0.85), "end", &clipped(name, 22));
    let mut x = LEFT;
    for ((cycles, cause), colour) in parts(causes, ideal).into_iter().zip(NAMES).zip(COLOURS) {
        let width = cycles as f64 * scale;
        if cycles > 0 {
            let title = escaped(&format!("{name}: {cause} {cycles} cycles"));
            figure.add(format_args!(
                "<path fill=\"{colour}\" d=\"M{x:.2} {y:.1}h{width:.2}v{BAR}h-{width:.2}z\"><title>{title}</title></path>"
            ));
        }
        x += width;
    }
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
