//! Figures for papers, in SVG: with selectable text and colors for color-blind readers, in light
//! and dark mode.

mod axis;
mod breakdown;
mod diagram;
mod energy;
mod motion;
mod roofline;
mod scatter;
mod stacked;
mod timeline;

use std::fmt::Write as _;

pub use breakdown::breakdown;
pub use diagram::diagram;
pub use energy::{LayerEnergy, energy};
pub use motion::motion;
pub use roofline::roofline;
pub use scatter::{Class, Groups, MAX_GROUPS, Mark, Scatter};
pub use timeline::timeline;

use crate::page::escaped;
use axis::{Axis, short};

/// Width and height, and the space for the axes at the left and at the bottom.
const SIZE: (f64, f64) = (720.0, 480.0);
const MARGIN: (f64, f64) = (80.0, 56.0);
/// Free space at the other sides.
const EDGE: f64 = 24.0;

/// Colors of layers, used in turn, by Okabe and Ito.
const COLORS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#6b7785"];

/// Style of all figures.
const STYLE: &str = "svg{color:#1b1f24;background:#fff;font:12px sans-serif}text{fill:currentColor}\
    rect{stroke:currentColor;stroke-opacity:.5}.outside{fill:#8884;stroke-dasharray:4}.memory{fill:#56b4e966}.unit{fill:#e69f0066}\
    .control{fill:#009e7355}.path{fill:none;stroke:currentColor;stroke-width:1.5}\
    .grid{stroke:currentColor;opacity:.15}.roof{fill:none;stroke:currentColor;stroke-width:1.5}\
    .point{fill:#6b7785;opacity:.7}.unfit{fill:none;stroke:#6b7785;opacity:.6}.best{fill:#c2410c}.front{fill:none;stroke:#c2410c}\
    @media(prefers-color-scheme:dark){svg{color:#e6e9ed;background:#15181c}.point{fill:#9aa7b5}.unfit{stroke:#9aa7b5}.best{fill:#fb923c}.front{stroke:#fb923c}}";

/// Figure under construction.
struct Figure(String);

impl Figure {
    /// Begins a figure; `description` is the description for screen readers.
    fn begin((width, height): (f64, f64), description: &str) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n\
             <style>{STYLE}</style>\n",
            escaped(description)
        ))
    }

    /// Gives the figure the width of a column of a paper.
    fn in_column(self) -> Self {
        Self(self.0.replacen("<svg ", "<svg width=\"88mm\" ", 1))
    }

    /// Returns the height of a legend in a figure of this width.
    fn legend_height(entries: &[(&str, String)], width: f64) -> f64 {
        let places = legend_places(entries, width);
        places.last().map_or(0.0, |(_, y)| y + LEGEND_ROW + EDGE / 2.0)
    }

    /// Adds a legend with colors and their meanings; `from` is its upper left corner.
    fn legend(&mut self, from: (f64, f64), entries: &[(&str, String)], width: f64) {
        for ((color, name), (x, y)) in entries.iter().zip(legend_places(entries, width)) {
            let (x, y) = (from.0 + x, from.1 + y);
            self.add(format_args!("<path fill=\"{color}\" d=\"M{x:.1} {y:.1}h10v10h-10z\"/>"));
            self.text((x + 15.0, y + 9.0), "start", name);
        }
    }

    /// Adds a line of markup.
    fn add(&mut self, markup: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{markup}");
    }

    /// Adds a text, whose `anchor` is `start`, `middle` or `end`.
    fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(text)
        ));
    }

    /// Adds the marks and names of both axes.
    fn axes(&mut self, x: (&Axis, &str), y: (&Axis, &str)) {
        let (width, height) = SIZE;
        let (top, bottom, left, right) = (EDGE, height - MARGIN.1, MARGIN.0, width - EDGE);
        for mark in x.0.marks() {
            let place = x.0.place(mark);
            self.add(format_args!("<path class=\"grid\" d=\"M{place:.1} {top}V{bottom}\"/>"));
            self.text((place, bottom + 18.0), "middle", &short(mark));
        }
        for mark in y.0.marks() {
            let place = y.0.place(mark);
            self.add(format_args!("<path class=\"grid\" d=\"M{left} {place:.1}H{right}\"/>"));
            self.text((left - 8.0, place + 4.0), "end", &short(mark));
        }
        self.text(((left + right) / 2.0, height - 12.0), "middle", x.1);
        let side = (top + bottom) / 2.0;
        let (turned, name) = (format!("rotate(-90 16 {side})"), escaped(y.1));
        self.add(format_args!(
            "<text x=\"16\" y=\"{side}\" text-anchor=\"middle\" transform=\"{turned}\">{name}</text>"
        ));
    }

    fn end(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Height of a row of a legend, and the approximate width of a character.
const LEGEND_ROW: f64 = 18.0;
const CHARACTER: f64 = 6.6;

/// Returns the place of each entry of a legend in a figure of this width.
fn legend_places(entries: &[(&str, String)], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (0.0, 0.0);
    let place = |(_, name): &(&str, String)| {
        let needed = 30.0 + CHARACTER * name.chars().count() as f64;
        if x > 0.0 && x + needed > width - 2.0 * EDGE {
            (x, y) = (0.0, y + LEGEND_ROW);
        }
        let here = (x, y);
        x += needed;
        here
    };
    entries.iter().map(place).collect()
}

/// Returns the colors of layers with their names. Where there are more layers than colors, the
/// legend names the first ones.
fn legend_of_layers<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Vec<(&'static str, String)> {
    let more = names.len().saturating_sub(COLORS.len());
    let named = COLORS.into_iter().zip(names.map(|name| clipped(name, 28)));
    let rest = (more > 0).then(|| ("none", format!("the colors repeat for {more} more layers")));
    named.chain(rest).collect()
}

/// Returns a name with at most `most` characters.
fn clipped(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most - 1).chain(['\u{2026}']).collect()
}

/// Returns the axes for these values.
fn plane(across: impl Iterator<Item = f64>, up: impl Iterator<Item = f64>) -> (Axis, Axis) {
    let x = Axis::of(across, (MARGIN.0, SIZE.0 - EDGE));
    (x, Axis::of(up, (SIZE.1 - MARGIN.1, EDGE)))
}
