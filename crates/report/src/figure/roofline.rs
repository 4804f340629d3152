//! [`roofline`]: throughput of each layer, below the limits of the machine.

use npukit_target::{LayerTime, TimeReport};

use super::{COLORS, EDGE, Figure, MARGIN, SIZE, legend_of_layers, plane, short};
use crate::page::escaped;

/// Layer in the plane.
struct Spot<'a> {
    layer: &'a LayerTime,
    /// Multiply-accumulates per cycle that the busier memory needs.
    intensity: f64,
    /// Multiply-accumulates per cycle.
    rate: f64,
}

impl<'a> Spot<'a> {
    /// Returns `None` for a layer without multiply-accumulates or without traffic.
    fn of(layer: &'a LayerTime, peak: f64) -> Option<Self> {
        let (memory, cycles) = (layer.roofline.memory as f64, layer.span_cycles() as f64);
        let rate = layer.utilization * peak;
        (rate > 0.0 && memory > 0.0).then(|| Self { layer, intensity: rate * cycles / memory, rate })
    }
}

/// Returns the multiply-accumulates per cycle with all multipliers busy, derived from the layers;
/// `None` if no layer has any.
fn peak(time: &TimeReport) -> Option<f64> {
    let peak =
        |layer: &LayerTime| layer.macs_computed as f64 / (layer.utilization * layer.span_cycles() as f64);
    let peaks = time.layers.iter().map(peak).filter(|peak| peak.is_finite() && *peak > 0.0);
    peaks.min_by(f64::total_cmp)
}

/// Draws each layer by its multiply-accumulates per cycle of the busier memory and per cycle, below
/// two roofs: all multipliers busy, and the memory busy in every cycle. `None` for a program of
/// which neither is known.
pub fn roofline(time: &TimeReport, program: &str) -> Option<String> {
    let peak = peak(time)?;
    let spots: Vec<Spot<'_>> = time.layers.iter().filter_map(|layer| Spot::of(layer, peak)).collect();
    if spots.is_empty() {
        return None;
    }
    // The roofs meet within the figure.
    let across = spots.iter().map(|spot| spot.intensity).chain([peak]);
    let (x, y) = plane(across, spots.iter().map(|spot| spot.rate).chain([peak]));
    let description =
        format!("{program}: multiply-accumulates per cycle of {} layers, below the roofline", spots.len());
    let names = spots.iter().map(|spot| &*spot.layer.name);
    let mut legend = legend_of_layers(names);
    legend.push(("none", "area: share of all cycles".to_owned()));
    let height = SIZE.1 + Figure::legend_height(&legend, SIZE.0);
    let mut figure = Figure::begin((SIZE.0, height), &description);
    figure.axes((&x, "MACs per cycle of the busier memory"), (&y, "MACs per cycle"));
    let (ridge, top, right) = (x.place(peak), y.place(peak), SIZE.0 - EDGE);
    // At the left end of the axis, the memory is the limit.
    let least = x.least().max(y.least());
    let (left, low) = (x.place(least).max(MARGIN.0), y.place(least));
    figure.add(format_args!("<path class=\"roof\" d=\"M{left:.1} {low:.1}L{ridge:.1} {top:.1}H{right}\"/>"));
    figure.text((right, top - 6.0), "end", &format!("{} MACs per cycle", short(peak)));
    for (number, spot) in spots.iter().enumerate() {
        let (color, share) = (COLORS[number % COLORS.len()], spot.layer.share);
        let (cx, cy, r) = (x.place(spot.intensity), y.place(spot.rate), 3.0 + 20.0 * share.max(0.0).sqrt());
        let title = escaped(&format!(
            "{}: {} MACs per cycle, {:.1} % of the cycles, bound by {}",
            spot.layer.name,
            short(spot.rate),
            share * 100.0,
            spot.layer.roofline.bound.name()
        ));
        figure.add(format_args!(
            "<circle fill=\"{color}\" fill-opacity=\".65\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{r:.1}\"><title>{title}</title></circle>"
        ));
    }
    figure.legend((EDGE, SIZE.1), &legend, SIZE.0);
    Some(figure.end())
}

#[cfg(test)]
mod tests {
    use npukit_target::Roofline;

    use super::*;

    fn layer(name: &str, macs: u64, cycles: u64, memory: u64) -> LayerTime {
        let roofline = Roofline::new(macs / 256, memory, cycles);
        let utilization = macs as f64 / (256.0 * cycles as f64);
        LayerTime {
            name: name.to_owned(),
            macs: 4 * macs,
            macs_computed: macs,
            cycles,
            share: 0.5,
            utilization,
            roofline,
            ..LayerTime::default()
        }
    }

    #[test]
    fn layers_lie_below_the_roofs() {
        let layers =
            vec![layer("a<", 25_600, 200, 50), layer("b", 2_560, 100, 80), layer("no product", 0, 10, 5)];
        let time = TimeReport { layers, ..TimeReport::default() };
        assert_eq!(peak(&time), Some(256.0));
        let svg = roofline(&time, "p").expect("two layers have products");
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a&lt;: 128 MACs per cycle, 50.0 % of the cycles, bound by compute"), "{svg}");
        assert!(svg.contains("256 MACs per cycle</text>"));
    }

    #[test]
    fn without_layers_there_is_no_figure() {
        assert_eq!(roofline(&TimeReport::default(), "p"), None);
    }
}
