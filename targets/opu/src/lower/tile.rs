//! How a layer is cut into pieces that fit the buffers: [`Load`]s for the taps, [`Tiling`] for the pixels.

use std::ops::Range;

use super::layer::Layer;
use super::limits::{AREA, LANES, MAP, SIDE, STRIDE, TAP, filters, lanes, pixel_cycles};
use super::map::{PlaneId, Planes};
use super::product::Product;
use super::windows::{self, Tile, Windows};

/// A term of a product, in a loaded feature map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Part of the product.
    pub part: usize,
    /// Term of the part.
    pub term: usize,
    /// Row and column in the feature buffer.
    pub offset: [usize; 2],
}

/// Terms that one `ld.ifm` serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The plane.
    pub plane: PlaneId,
    /// Channels that are loaded.
    pub lanes: usize,
    /// Pixel of the plane that the buffer begins with, for the first pixel of the result.
    pub at: [isize; 2],
    /// Rows and columns that the taps reach beyond the first.
    pub span: [usize; 2],
    /// From a pixel of the result to the next.
    pub strides: [usize; 2],
    /// The terms.
    pub taps: Vec<Tap>,
}

impl Load {
    /// Rows of the plane from a row of the buffer to the next: with taps in one row, only rows in use are loaded.
    pub fn row_step(&self, plane_columns: usize) -> usize {
        if self.span[0] == 0 && self.strides[0] * plane_columns <= MAP { self.strides[0] } else { 1 }
    }

    /// Rows and columns of the buffer for `size` pixels of the result.
    pub fn buffer(&self, size: [usize; 2], row_step: usize) -> [usize; 2] {
        let strides = [self.strides[0] / row_step, self.strides[1]];
        [0, 1].map(|axis| (size[axis] - 1) * strides[axis] + self.span[axis] + 1)
    }
}

/// The channels of a product in blocks of at most 64.
pub fn blocks(channels: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    (0..channels).step_by(LANES).map(move |first| first..channels.min(first + LANES))
}

/// What has to be loaded for `columns` of a product.
pub fn loads(product: &Product, columns: &Range<usize>) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for (index, part) in product.parts.iter().enumerate() {
        let first = loads.len();
        for (place, term) in part.terms.iter().enumerate() {
            if !part.weights.connects(&(term.row..term.row + term.channels), columns) {
                continue;
            }
            let needed = lanes(term.lane + term.channels);
            let own =
                loads.get_mut(first..).and_then(<[Load]>::last_mut).filter(|load| load.plane == term.plane);
            let tap = Tap { part: index, term: place, offset: [0, 0] };
            if !own.is_some_and(|load| extend(load, term.at, needed, tap)) {
                let (plane, at, span, strides) = (term.plane, term.at, [0, 0], part.strides);
                loads.push(Load { plane, lanes: needed, at, span, strides, taps: vec![tap] });
            }
        }
    }
    loads.iter_mut().for_each(|load| settle(load, product));
    loads
}

/// Takes a tap up, when its offset fits the instruction then.
fn extend(load: &mut Load, at: [isize; 2], lanes: usize, tap: Tap) -> bool {
    let first = [0, 1].map(|axis| load.at[axis].min(at[axis]));
    let span =
        [0, 1].map(|axis| ((load.at[axis] + load.span[axis] as isize).max(at[axis]) - first[axis]) as usize);
    if span.iter().any(|&span| span > TAP) {
        return false;
    }
    (load.at, load.span, load.lanes) = (first, span, load.lanes.max(lanes));
    load.taps.push(tap);
    true
}

/// Offsets, once it is known where the buffer begins.
fn settle(load: &mut Load, product: &Product) {
    for tap in &mut load.taps {
        let at = product.parts[tap.part].terms[tap.term].at;
        tap.offset = [0, 1].map(|axis| (at[axis] - load.at[axis]).unsigned_abs());
    }
}

/// The pixels of a layer in tiles; each pair of a row tile and a column tile is computed at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Cuts of the rows.
    pub rows: Vec<Tile>,
    /// Cuts of the columns.
    pub columns: Vec<Tile>,
    /// Each block of channels goes over all tiles before the next; otherwise each tile over all blocks.
    pub blocks_outside: bool,
}

/// What loads, convolutions and stores take, in cycles.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Words that count as a cycle of a load.
    pub burst: usize,
    /// Before each row of a feature map.
    pub row_latency: usize,
    /// Before the weights.
    pub ker_latency: usize,
    /// For each convolution.
    pub conv_pipe: usize,
    /// For each store.
    pub store_latency: usize,
    /// Each pixel stored costs as much as its window has pixels.
    pub store_windows: bool,
}

/// A block of channels as far as costs are concerned.
struct Block {
    loads: Vec<Load>,
    filters: usize,
}

/// The cheapest tilings, at most `most` of them, the cheapest first; none when not even single pixels fit.
pub fn cheapest(layer: &Layer, planes: &Planes, costs: Costs, most: usize) -> Vec<Tiling> {
    let product = &layer.product;
    let block =
        |columns: Range<usize>| Block { filters: filters(columns.len()), loads: loads(product, &columns) };
    let blocks: Vec<Block> = blocks(product.channels).map(block).collect();
    let all = windows_of(layer);
    let candidates = [0, 1].map(|axis| candidates(all[axis], layer, planes, axis));
    let mut found: Vec<(usize, [usize; 2], bool)> = Vec::new();
    for (down, rows) in candidates[0].iter().enumerate() {
        for (across, columns) in candidates[1].iter().enumerate() {
            if !fits(&blocks, planes, [longest(rows), longest(columns)]) {
                continue;
            }
            for blocks_outside in [false, true] {
                let cost = cost(&blocks, planes, [rows, columns], blocks_outside, layer, costs);
                found.push((cost, [down, across], blocks_outside));
            }
        }
    }
    found.sort();
    let tiling = |(_, [down, across], blocks_outside): (usize, [usize; 2], bool)| {
        Some(Tiling {
            rows: candidates[0].get(down)?.clone(),
            columns: candidates[1].get(across)?.clone(),
            blocks_outside,
        })
    };
    found.into_iter().take(most).filter_map(tiling).collect()
}

/// The windows of the layer's pooling.
fn windows_of(layer: &Layer) -> [Windows; 2] {
    let plain = [0, 1].map(|axis| Windows::plain(layer.product.size[axis]));
    layer.post.pooling().map_or(plain, |pooling| pooling.0)
}

/// Cuts of an axis into one tile, two, and so on; those that differ.
fn candidates(windows: Windows, layer: &Layer, planes: &Planes, axis: usize) -> Vec<Vec<Tile>> {
    let strided = layer.product.parts.iter().any(|part| part.strides[axis] > STRIDE);
    // Repeated columns are stored one by one; rows too, where those between them are too far apart to skip.
    let pitch = layer.output.pieces.first().map_or(0, |piece| planes.get(piece.plane).slots()[1]);
    let apart = [pitch * layer.copies[0] > MAP, layer.copies[1] > 1];
    let single = strided || (layer.copies[axis] > 1 && apart[axis]);
    let mut all: Vec<Vec<Tile>> = Vec::new();
    let mut last = usize::MAX;
    for count in 1..=windows.count {
        let most = if single { 1 } else { windows.count.div_ceil(count) };
        if most < last {
            all.push(windows::tiles(windows, most));
        }
        last = most;
    }
    all
}

fn longest(tiles: &[Tile]) -> usize {
    tiles.iter().map(|tile| tile.length).max().unwrap_or(1)
}

fn fits(blocks: &[Block], planes: &Planes, size: [usize; 2]) -> bool {
    let fits = |[rows, columns]: [usize; 2]| rows <= SIDE && columns <= SIDE && rows * columns <= AREA;
    fits(size) && blocks.iter().flat_map(|block| &block.loads).all(|load| fits(buffer(load, planes, size)))
}

fn buffer(load: &Load, planes: &Planes, size: [usize; 2]) -> [usize; 2] {
    load.buffer(size, load.row_step(planes.get(load.plane).slots()[1]))
}

/// Cycles of all tiles: loads run beside convolutions, stores after them.
fn cost(
    blocks: &[Block],
    planes: &Planes,
    [rows, columns]: [&[Tile]; 2],
    blocks_outside: bool,
    layer: &Layer,
    costs: Costs,
) -> usize {
    let mut total = 0;
    let residual = layer.post.residual().is_some();
    for (count, [down, across]) in kinds(rows, columns) {
        let pixels = down.length * across.length;
        for (index, block) in blocks.iter().enumerate() {
            let mut tile = 0;
            for load in &block.loads {
                let compute =
                    load.taps.len() * (pixels * pixel_cycles(load.lanes, block.filters) + costs.conv_pipe);
                let [height, width] = buffer(load, planes, [down.length, across.length]);
                let kept = block.loads.len() == 1 && !blocks_outside && index > 0;
                let features =
                    if kept { 0 } else { height * (width.div_ceil(costs.burst) + costs.row_latency) };
                let kept = block.loads.len() == 1 && blocks_outside && rows.len() * columns.len() > 1;
                let slice = (load.lanes * block.filters).div_ceil(LANES);
                let weights = if kept {
                    0
                } else {
                    (load.taps.len() * slice).div_ceil(costs.burst) + costs.ker_latency
                };
                tile += compute.max(features + weights);
            }
            total +=
                count * (tile + stores(down, across, residual, costs) * layer.copies[0] * layer.copies[1]);
        }
    }
    total
}

/// Cycles of the stores of a tile.
fn stores(down: &Tile, across: &Tile, residual: bool, costs: Costs) -> usize {
    let mut cycles = 0;
    for y in &down.stores {
        for x in &across.stores {
            let words = y.count * x.count;
            let window = if costs.store_windows { y.window * x.window } else { 1 };
            cycles += words * window + costs.store_latency + if residual { words } else { 0 };
        }
    }
    cycles
}

/// Tiles that cost the same, with their number.
fn kinds<'a>(rows: &'a [Tile], columns: &'a [Tile]) -> Vec<(usize, [&'a Tile; 2])> {
    let distinct = |tiles: &'a [Tile]| {
        let mut kinds: Vec<(usize, &Tile)> = Vec::new();
        for tile in tiles {
            match kinds.iter_mut().find(|(_, kind)| alike(kind, tile)) {
                Some((count, _)) => *count += 1,
                None => kinds.push((1, tile)),
            }
        }
        kinds
    };
    let (rows, columns) = (distinct(rows), distinct(columns));
    rows.iter().flat_map(|&(n, row)| columns.iter().map(move |&(m, column)| (n * m, [row, column]))).collect()
}

/// Whether two tiles cost the same.
fn alike(a: &Tile, b: &Tile) -> bool {
    let sizes = |tile: &Tile| tile.stores.iter().map(|store| [store.window, store.count]).collect::<Vec<_>>();
    a.length == b.length && sizes(a) == sizes(b)
}
