//! [`Scatter`]: points in a plane, with the Pareto-optimal ones marked.

use super::{Figure, SIZE, plane, short};
use crate::page::escaped;

/// Points with two values each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// Label of the horizontal axis.
    pub across: String,
    /// Label of the vertical axis.
    pub up: String,
    /// Points to draw.
    pub marks: Vec<Mark>,
    /// Whether to connect the Pareto-optimal points with a line.
    pub is_joined: bool,
}

/// Point of the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Class of the point, which selects its style.
    pub class: Class,
    /// Tooltip.
    pub title: String,
}

/// Class of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The point violates the conditions.
    Unfit,
    /// Another point dominates it.
    Beaten,
    /// No other point dominates it.
    Best,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Unfit => "unfit",
            Self::Beaten => "point",
            Self::Best => "best",
        }
    }
}

impl Scatter {
    /// Returns the figure as SVG.
    pub fn svg(&self) -> String {
        let Self { across, up, marks, is_joined } = self;
        let (x, y) = plane(marks.iter().map(|mark| mark.x), marks.iter().map(|mark| mark.y));
        let mut figure = Figure::begin(SIZE, &format!("{} points: {up} by {across}", marks.len()));
        figure.axes((&x, across), (&y, up));
        let (mut best, others): (Vec<&Mark>, Vec<&Mark>) =
            marks.iter().partition(|mark| mark.class == Class::Best);
        best.sort_by(|a, b| a.x.total_cmp(&b.x));
        if *is_joined {
            let line: Vec<String> =
                best.iter().map(|mark| format!("{:.1},{:.1}", x.place(mark.x), y.place(mark.y))).collect();
            figure.add(format_args!("<polyline class=\"front\" points=\"{}\"/>", line.join(" ")));
        }
        // Pareto-optimal points are drawn above the others.
        for mark in others.into_iter().chain(best) {
            let (class, title) = (mark.class.name(), escaped(&mark.title));
            let (cx, cy) = (x.place(mark.x), y.place(mark.y));
            figure.add(format_args!(
                "<circle class=\"{class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\"><title>{title}</title></circle>"
            ));
        }
        figure.end()
    }

    /// Returns the tooltip of a point at these values.
    pub fn title(&self, name: &str, x: f64, y: f64) -> String {
        format!("{name}: {} {}, {} {}", self.across, short(x), self.up, short(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_and_the_front_is_joined() {
        let scatter = Scatter {
            across: "ms".to_owned(),
            up: "error".to_owned(),
            is_joined: true,
            ..Scatter::default()
        };
        let mark = |x, y, class| Mark { x, y, class, title: scatter.title("t<&", x, y) };
        let marks =
            vec![mark(1.0, 0.5, Class::Best), mark(2.0, 0.1, Class::Best), mark(3.0, 0.4, Class::Unfit)];
        let svg = Scatter { marks, ..scatter }.svg();
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"best\"").count()), (3, 2));
        assert!(svg.contains("<title>t&lt;&amp;: ms 1, error 0.5</title>"), "{svg}");
        assert_eq!((svg.matches("<polyline").count(), svg.contains(">error</text>")), (1, true));
    }
}
