//! [`stacked`]: a horizontal bar per layer, with a part per name.

use super::axis::steps;
use super::{COLORS, EDGE, Figure, clipped, short};
use crate::page::escaped;

/// Width of the figure, which is that of a column, and the space for names of layers at the left.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 150.0;
/// Height of a bar, and the space below it.
const BAR: f64 = 11.0;
const GAP: f64 = 4.0;
/// Space for the axis below the bars.
const AXIS: f64 = 44.0;

/// Bar of a figure.
pub(super) struct Bar {
    /// Name of the layer.
    pub name: String,
    /// Lengths of its parts, in the order of their names.
    pub parts: Vec<f64>,
}

/// Draws bars in a `unit`, with parts of these names. `write` formats the length of a part.
/// `description` describes the figure for screen readers. `None` if no bar has a length.
pub(super) fn stacked(
    description: &str,
    unit: &str,
    names: &[&str],
    bars: &[Bar],
    write: impl Fn(f64) -> String,
) -> Option<String> {
    let length = |bar: &Bar| bar.parts.iter().sum::<f64>();
    let most = bars.iter().map(length).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let bottom = EDGE + bars.len() as f64 * (BAR + GAP);
    let entries: Vec<_> = COLORS.into_iter().zip(names.iter().map(|name| (*name).to_owned())).collect();
    let legend = Figure::legend_height(&entries, WIDTH);
    let mut figure = Figure::begin((WIDTH, bottom + AXIS + legend), description).in_column();
    let scale = (WIDTH - EDGE - LEFT) / most;
    for mark in steps(0.0, most) {
        let x = LEFT + mark * scale;
        figure.add(format_args!("<path class=\"grid\" d=\"M{x:.1} {EDGE}V{bottom:.1}\"/>"));
        figure.text((x, bottom + 16.0), "middle", &short(mark));
    }
    figure.text(((LEFT + WIDTH - EDGE) / 2.0, bottom + 34.0), "middle", unit);
    for (place, bar) in bars.iter().enumerate() {
        let y = EDGE + place as f64 * (BAR + GAP);
        figure.text((LEFT - 6.0, y + BAR * 0.85), "end", &clipped(&bar.name, 22));
        let mut x = LEFT;
        for ((&part, name), color) in bar.parts.iter().zip(names).zip(COLORS) {
            let width = part * scale;
            if part > 0.0 {
                let title = escaped(&format!("{}: {name} {} {unit}", bar.name, write(part)));
                figure.add(format_args!(
                    "<path fill=\"{color}\" d=\"M{x:.2} {y:.1}h{width:.2}v{BAR}h-{width:.2}z\"><title>{title}</title></path>"
                ));
            }
            x += width;
        }
    }
    figure.legend((EDGE, bottom + AXIS), &entries, WIDTH);
    Some(figure.end())
}
