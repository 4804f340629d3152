//! [`diagram`]: block diagram of a fabric.

use npukit_target::diagram::{BlockKind, Diagram};

use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric};

/// Cells of a fabric with their resources, buffers, and links between neighbors. Diagonal links are
/// not drawn.
pub fn diagram(fabric: &Fabric) -> Diagram {
    let mut diagram = Diagram::default();
    let below = fabric.rows + 1;
    let host = diagram.block(BlockKind::Outside, (0, 0), "host", "inputs, instructions");
    let input = format!("{} rows of 256 bits", fabric.input_depth);
    let input = diagram.block(BlockKind::Memory, (0, 1), "input buffer", input);
    let cells: Vec<usize> =
        (0..).zip(&fabric.cells).map(|(index, cell)| block(&mut diagram, fabric, index, cell)).collect();
    let output = format!("{} rows of 256 bits", fabric.output_depth);
    let output = diagram.block(BlockKind::Memory, (below, 1), "output buffer", output);
    let results = diagram.block(BlockKind::Outside, (below, 0), "host", "results");
    diagram.path(host, input, "inputs");
    if let Some(&first) = cells.first() {
        diagram.path(host, first, "instructions");
    }
    for (index, (&cell, content)) in cells.iter().zip(&fabric.cells).enumerate() {
        let (row, column) = (index / fabric.cols, index % fabric.cols);
        let has =
            |port: fn(Component) -> bool| content.resources.iter().any(|resource| port(resource.component));
        if row == 0 && has(Component::has_input) {
            diagram.path(input, cell, "");
        }
        if column + 1 < fabric.cols {
            diagram.both_ways(cell, cells[index + 1], "rows");
        }
        if row + 1 < fabric.rows {
            diagram.both_ways(cell, cells[index + fabric.cols], "rows of 16 words");
        } else if has(Component::has_output) {
            diagram.path(cell, output, "");
        }
    }
    diagram.path(output, results, "results");
    diagram
}

/// Block of the cell with that index, one row below the input buffer.
fn block(diagram: &mut Diagram, fabric: &Fabric, index: usize, cell: &Cell) -> usize {
    let (row, column) = (index / fabric.cols, index % fabric.cols);
    let names: Vec<&str> = cell.resources.iter().map(|resource| resource.component.name()).collect();
    diagram.block(BlockKind::Unit, (row + 1, column + 1), format!("cell {row},{column}"), names.join(", "))
}
