//! [`motion`]: values inside a unit, cycle by cycle, as an animation without scripts.
//!
//! Each value has one element per cycle, at its place in this cycle. All elements share their key
//! frames, begun at different times: an element glides in from its previous place, is visible for a
//! cycle, and then hidden until the animation repeats. Without animation, or if the reader prefers
//! less motion, one cycle is visible.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use npukit_target::motion::{Motion, Moving, Place, PlaceKind, ValueKind, Visit, short};

use super::{EDGE, Figure, clipped};
use crate::page::escaped;

/// Width and height of a unit.
const UNIT: (f64, f64) = (108.0, 58.0);
/// Width and height of a register, and of a memory's number.
const REGISTER: (f64, f64) = (60.0, 28.0);
/// Width and height of a moving value.
const VALUE: (f64, f64) = (48.0, 22.0);
/// Free space between adjacent places.
const SPACE: f64 = 10.0;
/// Width of the names of rows.
const NAMES: f64 = 64.0;
/// Height of the title and the legend, and of a line of notes.
const HEAD: f64 = 64.0;
const LINE: f64 = 18.0;
/// Maximum number of characters of the title.
const TITLE: usize = 56;
/// Minimum width of the figure, for its title and notes.
const NARROWEST: f64 = 560.0;
/// Seconds per cycle, and cycles for which the end is shown.
const SECONDS: f64 = 1.2;
const PAUSE: u64 = 3;
/// Part of a cycle in which a value glides to its place.
const GLIDE: f64 = 0.45;

/// Colors of operands, second operands and sums, by Okabe and Ito.
const OPERAND: &str = "#56b4e9";
const FACTOR: &str = "#5fc7a5";
const SUM: &str = "#e69f00";

/// Animation with its title, also for screen readers. `None` without values.
pub fn motion(motion: &Motion, title: &str) -> Option<String> {
    let cycles = motion.cycles()?;
    let grid = Grid::new(motion);
    let notes = wrapped(&motion.notes, grid.size.0);
    let size = (grid.size.0, grid.size.1 + LINE * notes.len() as f64);
    let clock = Clock::new(motion, (*cycles.start(), *cycles.end()));
    let mut figure = Figure::begin(size, title);
    figure.add(format_args!("<title>{}</title>\n<style>{}</style>", escaped(title), clock.style(motion)));
    head(&mut figure, motion, title);
    wires(&mut figure, motion, &grid);
    motion.places().iter().for_each(|place| draw_place(&mut figure, place, &grid));
    for (row, name) in motion.rows.iter().enumerate() {
        figure.text((grid.names, grid.middle_of_row(row) + 4.0), "end", name);
    }
    motion.values().iter().for_each(|value| glow(&mut figure, value, (motion, &grid, &clock)));
    motion.values().iter().for_each(|value| draw_value(&mut figure, value, (motion, &grid, &clock)));
    for cycle in cycles {
        let (class, delay) = (clock.class(cycle), clock.delay(cycle));
        let x = grid.size.0 - EDGE;
        figure.add(format_args!(
            "<text class=\"{class}\" style=\"animation-delay:{delay:.2}s\" x=\"{x}\" y=\"{EDGE}\" dy=\"12\" \
             text-anchor=\"end\" font-weight=\"bold\">cycle {cycle}</text>"
        ));
    }
    for (line, note) in notes.iter().enumerate() {
        figure.text((EDGE, grid.size.1 + LINE * line as f64), "start", note);
    }
    Some(figure.end())
}

/// Adds the title and the legend.
fn head(figure: &mut Figure, motion: &Motion, title: &str) {
    figure.add(format_args!(
        "<text x=\"{EDGE}\" y=\"{EDGE}\" dy=\"12\" font-weight=\"bold\">{}</text>",
        escaped(&clipped(title, TITLE))
    ));
    let has_factors = motion.values().iter().any(|value| value.kind == ValueKind::Factor);
    let held = motion.names.held;
    let held = if has_factors { (FACTOR, held.to_owned()) } else { ("none", format!("\u{d7} {held}")) };
    let legend = [(OPERAND, motion.names.operand.to_owned()), held, (SUM, motion.names.sum.to_owned())];
    figure.legend((EDGE, EDGE + 22.0), &legend, f64::INFINITY);
}

/// Time of the animation.
struct Clock {
    first: u64,
    /// Number of cycles until the animation repeats.
    count: f64,
    /// Cycle that is shown without animation: the first of those with the most values on their way.
    still: u64,
}

impl Clock {
    fn new(motion: &Motion, (first, last): (u64, u64)) -> Self {
        let moving = |cycle: &u64| motion.at(*cycle).filter(|(_, visit)| visit.cycle == *cycle).count();
        // Default: there is a cycle; of several, `max_by_key` takes the last.
        let still = (first..=last).rev().max_by_key(moving).unwrap_or(first);
        Self { first, count: (last - first + 1 + PAUSE) as f64, still }
    }

    /// Start of the key frames of a cycle, in seconds; negative, so that all elements are animated
    /// from the beginning.
    fn delay(&self, cycle: u64) -> f64 {
        ((cycle - self.first) as f64 - self.count) * SECONDS
    }

    /// Class of an element that is visible in a cycle.
    fn class(&self, cycle: u64) -> &'static str {
        if cycle == self.still { "v s" } else { "v" }
    }

    /// Style with the key frames. Values that stay in a memory have key frames by their cycle.
    fn style(&self, motion: &Motion) -> String {
        let (all, count) = (SECONDS * self.count, self.count);
        let (shown, glide) = (100.0 / count, 100.0 * GLIDE / count);
        let mut style = format!(
            "rect.cell{{fill:#f3f4f6}}text.n{{fill:#1b1f24}}.o{{fill:{OPERAND}}}.f{{fill:{FACTOR}}}.p{{fill:{SUM}}}.w{{fill:none;stroke:{SUM};\
             stroke-width:2.5;stroke-opacity:1}}.wire{{fill:none;stroke:currentColor;opacity:.2}}\
             .v,.a{{opacity:0}}.s{{opacity:1}}\
             @keyframes v{{0%,{shown:.3}%{{opacity:1}}{:.3}%,100%{{opacity:0}}}}\
             @keyframes m{{0%{{transform:translate(var(--x,0),var(--y,0))}}{glide:.3}%,100%{{transform:none}}}}\
             @keyframes a{{0%,{glide:.3}%{{opacity:1}}{:.3}%,100%{{opacity:0}}}}\
             @keyframes b{{0%,{glide:.3}%{{opacity:0}}{:.3}%,100%{{opacity:1}}}}\
             @media(prefers-reduced-motion:no-preference){{.v{{animation:v {all:.2}s linear infinite,m {all:.2}s ease-out infinite}}\
             .a{{animation:a {all:.2}s linear infinite}}.b{{animation:b {all:.2}s linear infinite}}",
            shown + 0.01,
            glide + 0.01,
            glide + 0.01,
        );
        let mut frames = String::new();
        for cycle in stays(motion) {
            let end = 100.0 * (count - (cycle - self.first) as f64) / count;
            let _ = write!(style, ".k{cycle}{{animation-name:k{cycle},m}}");
            let _ = write!(
                frames,
                "@keyframes k{cycle}{{0%,{:.3}%{{opacity:1}}{end:.3}%,100%{{opacity:0}}}}",
                end - 0.01
            );
        }
        style + "}" + &frames + "@media(prefers-color-scheme:dark){rect.cell{fill:#262b33}}"
    }
}

/// Cycles in which values end in memories.
fn stays(motion: &Motion) -> BTreeSet<u64> {
    let visits = motion.values().iter().filter_map(|value| value.visits.last());
    visits.filter(|visit| motion.stays(**visit)).map(|visit| visit.cycle).collect()
}

/// Places of the grid in the figure.
struct Grid {
    /// Left side of each column, and its width.
    columns: Vec<(f64, f64)>,
    /// Upper side of each row, and its height.
    rows: Vec<(f64, f64)>,
    /// Right side of the names of rows.
    names: f64,
    /// Size of the figure without the notes.
    size: (f64, f64),
}

impl Grid {
    fn new(motion: &Motion) -> Self {
        let (rows, columns) = motion.size();
        let is_wide = |is_here: &dyn Fn(&Place) -> bool| {
            motion.places().iter().any(|place| is_here(place) && place.kind == PlaceKind::Unit)
        };
        let width = |column| if is_wide(&|place| place.column == column) { UNIT.0 } else { REGISTER.0 };
        let height = |row| if is_wide(&|place| place.row == row) { UNIT.1 } else { REGISTER.1 };
        let has_names = motion.rows.iter().any(|name| !name.is_empty());
        let left = EDGE + if has_names { NAMES } else { 0.0 };
        let widths: Vec<f64> = (0..columns).map(width).collect();
        let needed = left + widths.iter().map(|width| width + SPACE).sum::<f64>() - SPACE + EDGE;
        // A narrow grid is in the middle of the figure.
        let shift = ((NARROWEST - needed) / 2.0).max(0.0);
        let (columns, _) = laid_out(widths.into_iter(), left + shift);
        let (rows, bottom) = laid_out((0..rows).map(height), EDGE + HEAD);
        Self {
            columns,
            rows,
            names: left + shift - 8.0,
            size: (needed.max(NARROWEST), bottom - SPACE + EDGE),
        }
    }

    /// Middle of a place.
    fn middle(&self, place: &Place) -> (f64, f64) {
        let (x, width) = self.columns[place.column];
        (x + width / 2.0, self.middle_of_row(place.row))
    }

    /// Height of the middle of a row; of the last one for a row without places.
    fn middle_of_row(&self, row: usize) -> f64 {
        // Default: a motion without rows draws no names.
        let (y, height) = self.rows.get(row).or(self.rows.last()).copied().unwrap_or_default();
        y + height / 2.0
    }

    /// Width and height of a place.
    const fn size(place: &Place) -> (f64, f64) {
        if matches!(place.kind, PlaceKind::Unit) { UNIT } else { REGISTER }
    }

    /// Middle of a value at a place: in a unit, operands are at the left and sums at the right.
    fn value(&self, place: &Place, kind: ValueKind) -> (f64, f64) {
        let (x, y) = self.middle(place);
        match (place.kind, kind) {
            (PlaceKind::Unit, ValueKind::Operand) => (x - 26.0, y + 12.0),
            (PlaceKind::Unit, ValueKind::Factor) => (x - 26.0, y - 14.0),
            (PlaceKind::Unit, ValueKind::Sum) => (x + 26.0, y + 12.0),
            _ => (x, y),
        }
    }
}

/// Places sizes next to each other, starting at `from`; also returns the end.
fn laid_out(sizes: impl Iterator<Item = f64>, from: f64) -> (Vec<(f64, f64)>, f64) {
    let mut end = from;
    let place = |size| {
        let begin = end;
        end += size + SPACE;
        (begin, size)
    };
    (sizes.map(place).collect(), end)
}

/// Draws the ways of all values between places.
fn wires(figure: &mut Figure, motion: &Motion, grid: &Grid) {
    let ways: BTreeSet<(usize, usize, ValueKind)> = motion
        .values()
        .iter()
        .flat_map(|value| value.visits.windows(2).map(|pair| (pair[0].place, pair[1].place, value.kind)))
        .collect();
    for (from, to, kind) in ways {
        let [from, to] = [from, to].map(|place| grid.value(&motion.places()[place], kind));
        figure.add(format_args!(
            "<path class=\"wire\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }
}

fn draw_place(figure: &mut Figure, place: &Place, grid: &Grid) {
    let ((x, y), (width, height)) = (grid.middle(place), Grid::size(place));
    figure.add(format_args!(
        "<rect class=\"cell\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width}\" height=\"{height}\" rx=\"5\"/>",
        x - width / 2.0,
        y - height / 2.0
    ));
    match (place.held, place.kind) {
        (Some(held), PlaceKind::Unit) => {
            figure.text((x, y - 11.0), "middle", &format!("\u{d7} {}", short(held)));
        }
        (Some(held), _) => figure.text((x, y + 4.0), "middle", &short(held)),
        (None, _) => {}
    }
}

/// Marks the units in which a sum is computed.
fn glow(figure: &mut Figure, value: &Moving, (motion, grid, clock): (&Motion, &Grid, &Clock)) {
    for visit in value.visits.iter().filter(|_| value.kind == ValueKind::Sum) {
        let place = &motion.places()[visit.place];
        if place.kind != PlaceKind::Unit {
            continue;
        }
        let ((x, y), (width, height)) = (grid.middle(place), Grid::size(place));
        let (class, delay) = (clock.class(visit.cycle), clock.delay(visit.cycle));
        figure.add(format_args!(
            "<rect class=\"w {class}\" style=\"animation-delay:{delay:.2}s\" x=\"{:.1}\" y=\"{:.1}\" \
             width=\"{width}\" height=\"{height}\" rx=\"5\"/>",
            x - width / 2.0,
            y - height / 2.0
        ));
    }
}

/// Draws a value in each of its cycles.
fn draw_value(figure: &mut Figure, value: &Moving, (motion, grid, clock): (&Motion, &Grid, &Clock)) {
    let mut before: Option<Visit> = None;
    for &visit in &value.visits {
        let at = |visit: Visit| grid.value(&motion.places()[visit.place], value.kind);
        let (x, y) = at(visit);
        let (from_x, from_y) = before.map_or((x, y), at);
        let delay = clock.delay(visit.cycle);
        let (width, height) = VALUE;
        let fill = match value.kind {
            ValueKind::Operand => "o",
            ValueKind::Factor => "f",
            ValueKind::Sum => "p",
        };
        let class = if value.visits.last() == Some(&visit) && motion.stays(visit) {
            let is_there = visit.cycle <= clock.still;
            format!("v k{}{}", visit.cycle, if is_there { " s" } else { "" })
        } else {
            clock.class(visit.cycle).to_owned()
        };
        figure.add(format_args!(
            "<g class=\"{class}\" style=\"animation-delay:{delay:.2}s;--x:{:.1}px;--y:{:.1}px\">\
             <rect class=\"{fill}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width}\" height=\"{height}\" rx=\"11\"/>",
            from_x - x,
            from_y - y,
            x - width / 2.0,
            y - height / 2.0
        ));
        let mut number = |class: &str, value: f64| {
            figure.add(format_args!(
                "<text class=\"n{class}\" style=\"animation-delay:{delay:.2}s\" x=\"{x:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                y + 4.0,
                short(value)
            ));
        };
        // A sum changes when it has arrived.
        match before.filter(|before| before.value.to_bits() != visit.value.to_bits()) {
            Some(before) => {
                number(" a", before.value);
                number(" b", visit.value);
            }
            None => number("", visit.value),
        }
        figure.add(format_args!("</g>"));
        before = Some(visit);
    }
}

/// Breaks sentences into lines that fit a width.
fn wrapped(notes: &[String], width: f64) -> Vec<String> {
    let most = ((width - 2.0 * EDGE) / super::CHARACTER) as usize;
    let mut lines: Vec<String> = Vec::new();
    for note in notes {
        lines.push(String::new());
        for word in note.split(' ') {
            let line = lines.last_mut().filter(|line| line.len() + 1 + word.len() <= most.max(1));
            match line {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) => {
                    line.push(' ');
                    line.push_str(word);
                }
                None => lines.push(word.to_owned()),
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use npukit_target::motion::Names;

    use super::*;

    /// One unit with the weight 2 that adds 2 x 3 to 1, and a memory for the sum.
    fn one_product() -> Motion {
        let mut motion = Motion::new(Names { held: "weight", operand: "input", sum: "sum" });
        motion.rows = vec!["a < b".to_owned()];
        motion.notes = vec!["One note.".to_owned()];
        let unit = motion.place(PlaceKind::Unit, (0, 0), 2.0);
        let memory = motion.place(PlaceKind::Memory, (1, 0), None);
        motion.value(ValueKind::Operand, vec![Visit { cycle: 7, place: unit, value: 3.0 }]);
        let sum = |cycle, place, value| Visit { cycle, place, value };
        motion.value(ValueKind::Sum, vec![sum(7, unit, 7.0), sum(8, memory, 7.0)]);
        motion
    }

    #[test]
    fn every_visit_has_an_element_and_every_cycle_a_name() {
        let svg = motion(&one_product(), "a & b").expect("there are values");
        assert_eq!(svg.matches("<g class=\"v").count(), 3);
        assert_eq!((svg.matches(">cycle 7<").count(), svg.matches(">cycle 8<").count()), (1, 1));
        assert!(svg.contains("<title>a &amp; b</title>") && svg.contains("a &lt; b"));
        assert!(svg.contains("prefers-reduced-motion") && !svg.contains("<script"));
        assert!(svg.contains("@keyframes k8{"), "{svg}");
        assert_eq!(motion(&Motion::new(one_product().names), ""), None);
    }

    /// Without animation, the busiest cycle is visible, with the values that are in memories then.
    #[test]
    fn one_cycle_is_visible_without_animation() {
        let svg = motion(&one_product(), "").expect("there are values");
        assert_eq!(svg.matches("<g class=\"v s\"").count(), 2, "{svg}");
        assert!(svg.contains("<g class=\"v k8\""), "{svg}");
    }

    #[test]
    fn notes_are_broken_between_words() {
        let width = 2.0 * EDGE + 12.0 * super::super::CHARACTER;
        assert_eq!(wrapped(&["one two three four".to_owned()], width), ["one two", "three four"]);
    }
}
