//! [`Scatter`]: points in a plane, with the Pareto-optimal ones marked.

use super::{CHARACTER, COLORS, EDGE, Figure, SIZE, clipped, plane, short};
use crate::page::escaped;

/// Colors of amounts, from small to large: viridis.
const AMOUNTS: [&str; 8] =
    ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];

/// Maximum number of groups that have a color of their own.
pub const MAX_GROUPS: usize = AMOUNTS.len();

/// Points with two values each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// Title above the figure.
    pub title: String,
    /// Label of the horizontal axis.
    pub across: String,
    /// Label of the vertical axis.
    pub up: String,
    /// Points to draw.
    pub marks: Vec<Mark>,
    /// Whether to connect the Pareto-optimal points with steps.
    pub is_joined: bool,
    /// Whether a larger horizontal value is better.
    pub more_is_better: bool,
    /// Groups that have a color each; `None` if color does not mean anything.
    pub groups: Option<Groups>,
}

/// Groups of points by a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Name of the value.
    pub name: String,
    /// Values of each group, at most [`MAX_GROUPS`].
    pub values: Vec<String>,
    /// Whether the values are amounts, from small to large.
    pub are_amounts: bool,
}

impl Groups {
    fn color(&self, group: usize) -> &'static str {
        if !self.are_amounts {
            return COLORS[group % COLORS.len()];
        }
        let last = self.values.len().saturating_sub(1).max(1);
        AMOUNTS[(group * (AMOUNTS.len() - 1) / last).min(AMOUNTS.len() - 1)]
    }
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
    /// Group of the point, if points are colored.
    pub group: Option<usize>,
    /// Text next to the point; empty for none.
    pub label: String,
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
        let Self { across, up, marks, .. } = self;
        let (x, y) = plane(marks.iter().map(|mark| mark.x), marks.iter().map(|mark| mark.y));
        let legend = self.legend();
        let height = SIZE.1 + Figure::legend_height(&legend, SIZE.0);
        let mut figure =
            Figure::begin((SIZE.0, height), &format!("{} points: {up} by {across}", marks.len()));
        figure.text((SIZE.0 / 2.0, EDGE - 8.0), "middle", &clipped(&self.title, 100));
        figure.axes((&x, across), (&y, up));
        let (mut best, others): (Vec<&Mark>, Vec<&Mark>) =
            marks.iter().partition(|mark| mark.class == Class::Best);
        best.sort_by(|a, b| a.x.total_cmp(&b.x));
        let places: Vec<(f64, f64)> = best.iter().map(|mark| (x.place(mark.x), y.place(mark.y))).collect();
        if self.is_joined {
            let steps = self.steps(&places);
            figure.add(format_args!("<path class=\"front\" d=\"{steps}\"/>"));
        }
        // Pareto-optimal points are drawn above the others.
        for mark in others.into_iter().chain(best.iter().copied()) {
            let (class, title) = (mark.class.name(), escaped(&mark.title));
            let (cx, cy, style) = (x.place(mark.x), y.place(mark.y), self.style(mark));
            figure.add(format_args!(
                "<circle class=\"{class}\"{style} cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\"><title>{title}</title></circle>"
            ));
        }
        label(&mut figure, best.iter().map(|mark| &*mark.label).zip(places));
        figure.legend((EDGE, SIZE.1), &legend, SIZE.0);
        figure.end()
    }

    /// Returns the path of the front. Between two of its points, the best known value is the value
    /// of the point that is worse across.
    fn steps(&self, places: &[(f64, f64)]) -> String {
        let step = |(number, (x, y)): (usize, &(f64, f64))| match (number, self.more_is_better) {
            (0, _) => format!("M{x:.1} {y:.1}"),
            (_, true) => format!("V{y:.1}H{x:.1}"),
            (_, false) => format!("H{x:.1}V{y:.1}"),
        };
        places.iter().enumerate().map(step).collect()
    }

    /// Returns the attribute that colors a point by its group.
    fn style(&self, mark: &Mark) -> String {
        let Some((groups, group)) = self.groups.as_ref().zip(mark.group) else { return String::new() };
        let color = groups.color(group);
        match mark.class {
            Class::Unfit => format!(" style=\"stroke:{color};opacity:1\""),
            Class::Beaten => format!(" style=\"fill:{color}\""),
            Class::Best => format!(" style=\"fill:{color};stroke:currentColor;stroke-width:1.5\""),
        }
    }

    fn legend(&self) -> Vec<(&'static str, String)> {
        let has = |class| self.marks.iter().any(|mark| mark.class == class);
        let hollow = has(Class::Unfit).then(|| ("none", "hollow: violates a condition".to_owned()));
        let Some(groups) = &self.groups else {
            let front = [("#c2410c", "on the front".to_owned())];
            let beaten = has(Class::Beaten).then(|| ("#6b7785", "dominated".to_owned()));
            return front.into_iter().chain(beaten).chain(hollow).collect();
        };
        let heading = [("none", format!("{}:", groups.name)), ("none", "outlined: on the front".to_owned())];
        let [name, ring] = heading;
        let values = groups.values.iter().enumerate();
        let colors = values.map(|(group, value)| (groups.color(group), value.clone()));
        [name].into_iter().chain(colors).chain([ring]).chain(hollow).collect()
    }

    /// Returns the tooltip of a point at these values.
    pub fn tooltip(&self, name: &str, x: f64, y: f64) -> String {
        format!("{name}: {} {}, {} {}", self.across, short(x), self.up, short(y))
    }
}

/// Height of a label.
const LINE: f64 = 13.0;

/// Writes texts next to their points. Omits a text that would cover another one.
fn label<'a>(figure: &mut Figure, texts: impl Iterator<Item = (&'a str, (f64, f64))>) {
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for (text, (x, y)) in texts.filter(|(text, _)| !text.is_empty()) {
        let width = CHARACTER * text.chars().count() as f64;
        let is_left = x + width + 10.0 < SIZE.0 - EDGE;
        let (start, y) = (if is_left { x + 6.0 } else { x - 6.0 - width }, y - 6.0);
        let is_covered = taken
            .iter()
            .any(|(other, end, line)| start < *end && *other < start + width && (line - y).abs() < LINE);
        if !is_covered {
            let (place, anchor) = if is_left { (start, "start") } else { (x - 6.0, "end") };
            figure.text((place, y), anchor, text);
            taken.push((start, start + width, y));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(more_is_better: bool) -> Scatter {
        let mut scatter = Scatter {
            across: "ms".to_owned(),
            up: "error".to_owned(),
            is_joined: true,
            more_is_better,
            ..Scatter::default()
        };
        let mark = |x, y, class, group| Mark {
            x,
            y,
            class,
            title: scatter.tooltip("t<&", x, y),
            group: Some(group),
            label: format!("point {x}"),
        };
        scatter.marks = vec![
            mark(1.0, 0.5, Class::Best, 0),
            mark(2.0, 0.1, Class::Best, 1),
            mark(3.0, 0.4, Class::Unfit, 1),
        ];
        scatter
    }

    #[test]
    fn every_point_is_drawn_and_the_front_is_a_staircase() {
        let svg = scatter(false).svg();
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"best\"").count()), (3, 2));
        assert!(svg.contains("<title>t&lt;&amp;: ms 1, error 0.5</title>"), "{svg}");
        assert!(svg.contains(">error</text>") && svg.contains(">hollow: violates a condition</text>"));
        assert!(svg.contains(">point 1</text>") && svg.contains(">point 2</text>"), "{svg}");
        assert!(!svg.contains(">point 3</text>"), "only points of the front are labeled");
        let places = [(1.0, 9.0), (2.0, 5.0), (4.0, 1.0)];
        assert_eq!(scatter(false).steps(&places), "M1.0 9.0H2.0V5.0H4.0V1.0");
        assert_eq!(scatter(true).steps(&places), "M1.0 9.0V5.0H2.0V1.0H4.0");
    }

    #[test]
    fn groups_have_colors_and_a_legend() {
        let values = ["4", "8", "16"].map(str::to_owned).to_vec();
        let groups = Groups { name: "array_size".to_owned(), values, are_amounts: true };
        assert_eq!([0, 1, 2].map(|group| groups.color(group)), [AMOUNTS[0], AMOUNTS[3], AMOUNTS[7]]);
        let words = Groups { are_amounts: false, ..groups.clone() };
        assert_eq!([0, 1].map(|group| words.color(group)), [COLORS[0], COLORS[1]]);
        let svg = Scatter { groups: Some(groups), ..scatter(false) }.svg();
        assert!(svg.contains("class=\"best\" style=\"fill:#440154;"), "{svg}");
        assert!(svg.contains(">array_size:</text>") && svg.contains(">16</text>"), "{svg}");
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let mut figure = Figure::begin(SIZE, "");
        let texts = [("first", (100.0, 50.0)), ("second", (110.0, 52.0)), ("third", (100.0, 90.0))];
        label(&mut figure, texts.into_iter());
        let svg = figure.end();
        assert!(svg.contains("first") && svg.contains("third") && !svg.contains("second"), "{svg}");
    }
}
