//! [`diagram`]: block diagram of an accelerator.

use npukit_target::diagram::{Block, BlockKind, Diagram, Path};

use super::{EDGE, Figure};
use crate::page::escaped;

/// Width and height of a block.
const BLOCK: (f64, f64) = (176.0, 56.0);
/// Free space between adjacent columns and between adjacent rows, where paths and their labels are.
const SPACE: (f64, f64) = (104.0, 52.0);

/// Block diagram with a title for screen readers. `None` without blocks.
pub fn diagram(diagram: &Diagram, title: &str) -> Option<String> {
    let blocks = diagram.blocks();
    let rows = blocks.iter().map(|block| block.row + 1).max()?;
    let columns = blocks.iter().map(|block| block.column + 1).max()?;
    let extent = |count: usize, size: f64, space: f64| count as f64 * (size + space) - space + 2.0 * EDGE;
    let size = (extent(columns, BLOCK.0, SPACE.0), extent(rows, BLOCK.1, SPACE.1));
    let mut figure = Figure::begin(size, title);
    figure.add(format_args!("<title>{}</title>", escaped(title)));
    figure.add(format_args!(
        "<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>"
    ));
    for (index, path) in diagram.paths().iter().enumerate() {
        let route = Route::new(diagram, index);
        draw_path(&mut figure, path, &route);
    }
    blocks.iter().for_each(|block| draw_block(&mut figure, block));
    Some(figure.end())
}

/// Upper left corner of a block.
fn corner(block: &Block) -> (f64, f64) {
    let place = |index: usize, size: f64, space: f64| EDGE + index as f64 * (size + space);
    (place(block.column, BLOCK.0, SPACE.0), place(block.row, BLOCK.1, SPACE.1))
}

fn draw_block(figure: &mut Figure, block: &Block) {
    let ((x, y), (width, height)) = (corner(block), BLOCK);
    let class = match block.kind {
        BlockKind::Outside => "outside",
        BlockKind::Memory => "memory",
        BlockKind::Unit => "unit",
        BlockKind::Control => "control",
    };
    figure.add(format_args!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
    ));
    let middle = x + width / 2.0;
    let name = escaped(&block.name);
    let line = if block.detail.is_empty() { y + 33.0 } else { y + 24.0 };
    figure.add(format_args!(
        "<text x=\"{middle}\" y=\"{line}\" text-anchor=\"middle\" font-weight=\"bold\">{name}</text>"
    ));
    if !block.detail.is_empty() {
        figure.text((middle, y + 42.0), "middle", &block.detail);
    }
}

/// Line of a path, and the place of its label.
struct Route {
    line: String,
    label: (f64, f64),
    anchor: &'static str,
}

impl Route {
    /// Straight between blocks of one row or column; otherwise through the space between two rows,
    /// at a height and from sides that no other path has.
    fn new(diagram: &Diagram, index: usize) -> Self {
        let (blocks, path) = (diagram.blocks(), &diagram.paths()[index]);
        let (from, to) = (&blocks[path.from], &blocks[path.to]);
        let ((from_x, from_y), (to_x, to_y)) = (corner(from), corner(to));
        if from.row == to.row {
            let is_right = to.column > from.column;
            let (start, end) = if is_right { (from_x + BLOCK.0, to_x) } else { (from_x, to_x + BLOCK.0) };
            let y = from_y + BLOCK.1 / 2.0;
            let label = ((start + end) / 2.0, y - 5.0);
            return Self { line: format!("M{start} {y}H{end}"), label, anchor: "middle" };
        }
        let is_down = to.row > from.row;
        let (start, end) = if is_down { (from_y + BLOCK.1, to_y) } else { (from_y, to_y + BLOCK.1) };
        if from.column == to.column {
            let x = from_x + BLOCK.0 / 2.0;
            let label = (x + 6.0, (start + end) / 2.0 + 4.0);
            return Self { line: format!("M{x} {start}V{end}"), label, anchor: "start" };
        }
        let (rank, count) = rank(diagram, index, |other| {
            is_bent(diagram, other) && gap(diagram, other) == gap(diagram, path)
        });
        let top = start.min(end);
        let turn = top + (end - start).abs() * (rank as f64 + 1.0) / (count as f64 + 1.0);
        let (leave, arrive) = (attachment(diagram, index, path.from), attachment(diagram, index, path.to));
        let label = ((leave + arrive) / 2.0, turn - 4.0);
        Self { line: format!("M{leave} {start}V{turn}H{arrive}V{end}"), label, anchor: "middle" }
    }
}

/// Upper row of the two that a path joins.
fn gap(diagram: &Diagram, path: &Path) -> usize {
    diagram.blocks()[path.from].row.min(diagram.blocks()[path.to].row)
}

/// Whether a path joins blocks of different rows and columns.
fn is_bent(diagram: &Diagram, path: &Path) -> bool {
    let (from, to) = (&diagram.blocks()[path.from], &diagram.blocks()[path.to]);
    from.row != to.row && from.column != to.column
}

/// Place of a path among the paths that `is_counted`, and their number.
fn rank(diagram: &Diagram, index: usize, is_counted: impl Fn(&Path) -> bool) -> (usize, usize) {
    let counted = |paths: &[Path]| paths.iter().filter(|path| is_counted(path)).count();
    (counted(&diagram.paths()[..index]), counted(diagram.paths()))
}

/// Where a bent path meets a block, as a horizontal place: on the side of the other block, the
/// paths of a side next to each other.
fn attachment(diagram: &Diagram, index: usize, block: usize) -> f64 {
    let blocks = diagram.blocks();
    let other = |path: &Path| &blocks[if path.from == block { path.to } else { path.from }];
    let side = |path: &Path| (other(path).column > blocks[block].column, other(path).row > blocks[block].row);
    let path = &diagram.paths()[index];
    let (rank, count) = rank(diagram, index, |one| {
        is_bent(diagram, one) && (one.from == block || one.to == block) && side(one) == side(path)
    });
    let distance = BLOCK.0 / 2.0 * (0.85 - 0.4 * rank as f64 / count as f64);
    corner(&blocks[block]).0 + BLOCK.0 / 2.0 + if side(path).0 { distance } else { -distance }
}

fn draw_path(figure: &mut Figure, path: &Path, route: &Route) {
    let (line, start) = (&route.line, if path.is_both_ways { " marker-start=\"url(#end)\"" } else { "" });
    figure.add(format_args!("<path class=\"path\" d=\"{line}\" marker-end=\"url(#end)\"{start}/>"));
    if !path.label.is_empty() {
        figure.text(route.label, route.anchor, &path.label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_and_path_is_drawn_inside_the_picture() {
        let mut machine = Diagram::default();
        let host = machine.block(BlockKind::Outside, (0, 0), "host", "");
        let memory = machine.block(BlockKind::Memory, (0, 1), "memory <1>", "8 words");
        let unit = machine.block(BlockKind::Unit, (1, 0), "unit", "");
        machine.both_ways(host, memory, "data");
        machine.path(memory, unit, "operands");
        machine.path(host, unit, "");
        let svg = diagram(&machine, "a & b").expect("there are blocks");
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("class=\"path\"").count(), 3);
        assert_eq!(svg.matches("marker-start").count(), 1);
        assert!(svg.contains("memory &lt;1&gt;") && svg.contains("<title>a &amp; b</title>"));
        assert!(svg.contains("viewBox=\"0 0 504 212\""), "{svg}");
        assert_eq!(diagram(&Diagram::default(), ""), None);
    }
}
