//! Printable forms of the compiler stages.

use std::fmt::Write;

use super::Lowered;
use super::tile::Load;
use super::windows::Tile;

/// Prints the layers and their operations.
pub fn layers(lowered: &Lowered) -> String {
    lowered.model.layers.iter().map(|layer| layer.print(&lowered.model.planes)).collect()
}

/// Prints the addresses of feature maps and constants, and the tiles of each layer.
pub fn plan(lowered: &Lowered) -> String {
    let (plan, planes, mut text) = (&lowered.plan, &lowered.model.planes, String::new());
    for (plane, address) in planes.iter().zip(&plan.planes) {
        let (size, channels, border, fraction) = (plane.size, plane.channels, plane.border, plane.fraction);
        // The result is ignored because writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{address:#010x} {}: {size:?} x {channels}, border {border}, fraction {fraction}",
            plane.name
        );
    }
    let bytes = [lowered.constants.biases.len(), lowered.constants.weights.len()];
    let _ = writeln!(text, "{:#010x} biases, {} bytes", plan.biases, bytes[0]);
    let _ = writeln!(text, "{:#010x} weights, {} bytes", plan.weights, bytes[1]);
    for ((layer, tiling), blocks) in lowered.model.layers.iter().zip(&lowered.tilings).zip(&lowered.blocks) {
        let [rows, columns] = [&tiling.rows, &tiling.columns].map(|tiles| lengths(tiles));
        let order = if tiling.blocks_outside { "blocks, tiles" } else { "tiles, blocks" };
        let _ =
            writeln!(text, "{}: rows {rows} columns {columns}, {} blocks, {order}", layer.name, blocks.len());
        for block in blocks {
            let _ = write!(text, "  channels {:?} of {}:", block.columns, block.filters);
            for load in &block.loads {
                let Load { plane, lanes, span, taps, .. } = &load.load;
                let name = &planes.get(*plane).name;
                let _ =
                    write!(text, " {name}/{lanes} {} taps over {span:?} shift {}", taps.len(), load.shift);
            }
            text.push('\n');
        }
    }
    text
}

/// Lists the lengths of tiles; equal ones are counted.
fn lengths(tiles: &[Tile]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for tile in tiles {
        match runs.last_mut() {
            Some((length, count)) if *length == tile.length => *count += 1,
            _ => runs.push((tile.length, 1)),
        }
    }
    let run = |(length, count): &(usize, usize)| {
        if *count == 1 { length.to_string() } else { format!("{count}x{length}") }
    };
    runs.iter().map(run).collect::<Vec<_>>().join("+")
}
