//! [`timeline`]: activity of each unit over time.

use super::axis::steps;
use super::{COLORS, EDGE, Figure, MARGIN, SIZE, legend_of_layers, short};
use crate::page::escaped;
use crate::timeline::{Lane, Slice, Timeline};

/// Space for the names of units at the left.
const LEFT: f64 = 170.0;
/// Height of a unit's row, and space below it.
const ROW: f64 = 20.0;
const GAP: f64 = 6.0;
/// Slices that begin within the same fraction of the width are merged.
const NARROW: f64 = 0.25;

/// Draws a row per unit of the machine, with its work by layer. `None` for a program without units.
pub fn timeline(timeline: &Timeline, program: &str) -> Option<String> {
    let lanes: Vec<&Lane> =
        timeline.tracks.iter().filter(|lane| lane.parent.is_none() && !lane.slices.is_empty()).collect();
    if lanes.is_empty() || timeline.cycles == 0 {
        return None;
    }
    let height = EDGE + lanes.len() as f64 * (ROW + GAP) + MARGIN.1;
    let legend = legend_of_layers(timeline.layers.iter().map(String::as_str));
    let description = format!("{program}: {} tracks over {} cycles", lanes.len(), timeline.cycles);
    let mut figure = Figure::begin((SIZE.0, height + Figure::legend_height(&legend, SIZE.0)), &description);
    let scale = (SIZE.0 - EDGE - LEFT) / timeline.cycles as f64;
    let bottom = height - MARGIN.1;
    for cycle in steps(0.0, timeline.cycles as f64) {
        let place = LEFT + cycle * scale;
        figure.add(format_args!("<path class=\"grid\" d=\"M{place:.1} {EDGE}V{bottom:.1}\"/>"));
        figure.text((place, bottom + 18.0), "middle", &short(cycle));
    }
    figure.text(((LEFT + SIZE.0 - EDGE) / 2.0, height - 12.0), "middle", "cycles");
    for (place, lane) in lanes.iter().enumerate() {
        let y = EDGE + place as f64 * (ROW + GAP);
        figure.text((LEFT - 8.0, y + ROW * 0.7), "end", &lane.name);
        for (color, layer, path) in paths(lane, timeline, scale, y) {
            let title = escaped(layer);
            figure.add(format_args!("<path fill=\"{color}\" d=\"{path}\"><title>{title}</title></path>"));
        }
    }
    figure.legend((EDGE, height), &legend, SIZE.0);
    Some(figure.end())
}

/// Returns the slices of a lane by layer: color, name and path.
fn paths<'a>(
    lane: &Lane,
    timeline: &'a Timeline,
    scale: f64,
    y: f64,
) -> Vec<(&'static str, &'a str, String)> {
    let mut paths: Vec<(Option<usize>, String, f64)> = Vec::new();
    for Slice { start, cycles, layer, .. } in &lane.slices {
        let (x, width) = (LEFT + *start as f64 * scale, (*cycles as f64 * scale).max(NARROW));
        let found = paths.iter_mut().find(|(of, ..)| of == layer);
        let (_, path, end) = match found {
            Some(found) => found,
            None => {
                paths.push((*layer, String::new(), f64::NEG_INFINITY));
                let Some(new) = paths.last_mut() else { continue };
                new
            }
        };
        // A slice that is too narrow to be visible is merged with the previous one.
        if x + width - *end < NARROW {
            continue;
        }
        *path += &format!("M{x:.2} {y}h{width:.2}v{ROW}h-{width:.2}z");
        *end = x + width;
    }
    let named = |(layer, path, _): (Option<usize>, String, f64)| {
        let color = layer.map_or("#6b7785", |layer| COLORS[layer % COLORS.len()]);
        // Default: work outside all layers has no name.
        let name =
            layer.and_then(|layer| timeline.layers.get(layer)).map_or("(outside all layers)", String::as_str);
        (color, name, path)
    };
    paths.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_has_a_row_and_each_layer_a_color() {
        let slice = |start, layer| Slice { start, cycles: 10, layer: Some(layer), ..Slice::default() };
        let lane = |name: &str, parent| Lane {
            name: name.to_owned(),
            parent,
            slices: vec![slice(0, 0), slice(20, 1), slice(40, 0)],
            ..Lane::default()
        };
        let tracks = vec![lane("array", None), lane("waits for", Some(0)), lane("memory", None)];
        let layers = ["a&b", "c"].map(str::to_owned).into();
        let drawn = Timeline { cycles: 50, layers, tracks, ..Timeline::default() };
        let svg = timeline(&drawn, "p").expect("there are units");
        assert_eq!(svg.matches("<title>a&amp;b</title>").count(), 2, "waits have no row");
        assert_eq!(svg.matches("<path fill").count(), 4 + 2, "slices, and a legend of two layers");
        assert!(svg.contains(">array</text>") && svg.contains(">memory</text>"));
        assert_eq!(timeline(&Timeline::default(), "p"), None);
    }
}
