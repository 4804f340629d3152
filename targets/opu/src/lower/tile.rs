//! Division of a layer into pieces that fit the buffers: [`Load`]s for the taps, [`Tiling`] for the
//! pixels.

use std::ops::Range;

use super::layer::Layer;
use super::limits::{AREA, LANES, MAP, SIDE, STRIDE, TAP, filters, lanes, pixel_cycles};
use super::map::{PlaneId, Planes};
use super::product::Product;
use super::windows::{self, Tile, Windows};

/// Term of a product, in a loaded feature map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Index of the part of the product.
    pub part: usize,
    /// Index of the term in the part.
    pub term: usize,
    /// Row and column in the feature buffer.
    pub offset: [usize; 2],
}

/// Terms that read the data of one `ld.ifm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Plane that is loaded.
    pub plane: PlaneId,
    /// Channels that are loaded.
    pub lanes: usize,
    /// Pixel of the plane at the start of the buffer, for the first pixel of the result.
    pub at: [isize; 2],
    /// Rows and columns between the first and the last tap.
    pub span: [usize; 2],
    /// Rows and columns of the plane between adjacent pixels of the result.
    pub strides: [usize; 2],
    /// Taps that read the loaded data.
    pub taps: Vec<Tap>,
}

impl Load {
    /// Returns the distance, in plane rows, between adjacent buffer rows: the stride if the taps
    /// are in one row and only used rows are loaded, otherwise 1.
    pub fn row_step(&self, plane_columns: usize) -> usize {
        if self.span[0] == 0 && self.strides[0] * plane_columns <= MAP { self.strides[0] } else { 1 }
    }

    /// Returns rows and columns of the buffer for `size` pixels of the result.
    pub fn buffer(&self, size: [usize; 2], row_step: usize) -> [usize; 2] {
        let strides = [self.strides[0] / row_step, self.strides[1]];
        [0, 1].map(|axis| (size[axis] - 1) * strides[axis] + self.span[axis] + 1)
    }
}

/// Divides the channels of a product into blocks of at most 64.
pub fn blocks(channels: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    (0..channels).step_by(LANES).map(move |first| first..channels.min(first + LANES))
}

/// Returns the loads for `columns` of a product.
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

/// Adds a tap to a load if all offsets still fit the instruction; returns whether it did.
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

/// Computes the offsets of all taps, once the start of the buffer is known.
fn settle(load: &mut Load, product: &Product) {
    for tap in &mut load.taps {
        let at = product.parts[tap.part].terms[tap.term].at;
        tap.offset = [0, 1].map(|axis| (at[axis] - load.at[axis]).unsigned_abs());
    }
}

/// Pixels of a layer in tiles. Each pair of a row tile and a column tile is computed at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Tiles of the rows.
    pub rows: Vec<Tile>,
    /// Tiles of the columns.
    pub columns: Vec<Tile>,
    /// Whether each block of channels visits all tiles before the next block; otherwise each tile
    /// visits all blocks.
    pub blocks_outside: bool,
}

/// Costs of loads, convolutions and stores, in cycles.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Words of a load that take one cycle together.
    pub burst: usize,
    /// Cycles before each row of a feature map.
    pub row_latency: usize,
    /// Cycles before the weights.
    pub ker_latency: usize,
    /// Additional cycles for each convolution.
    pub conv_pipe: usize,
    /// Additional cycles for each store.
    pub store_latency: usize,
    /// Whether each stored pixel takes one cycle per pixel of its window.
    pub store_windows: bool,
}

/// Properties of a block of channels that affect costs.
struct Block {
    loads: Vec<Load>,
    filters: usize,
}

/// Returns the cheapest tilings, at most `count`, cheapest first; empty if not even single pixels
/// fit.
pub fn cheapest(layer: &Layer, planes: &Planes, costs: Costs, count: usize) -> Vec<Tiling> {
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
    found.into_iter().take(count).filter_map(tiling).collect()
}

/// Returns the windows of the layer's pooling.
fn windows_of(layer: &Layer) -> [Windows; 2] {
    let plain = [0, 1].map(|axis| Windows::plain(layer.product.size[axis]));
    layer.post.pooling().map_or(plain, |pooling| pooling.0)
}

/// Returns the distinct divisions of an axis into one tile, two, and so on.
fn candidates(windows: Windows, layer: &Layer, planes: &Planes, axis: usize) -> Vec<Vec<Tile>> {
    let strided = layer.product.parts.iter().any(|part| part.strides[axis] > STRIDE);
    // Repeated columns are stored one by one. Rows are too, if the rows in between are too far
    // apart to skip.
    let pitch = planes.get(layer.output.pieces[0].plane).slots()[1];
    let apart = [pitch * layer.copies[0] > MAP, layer.copies[1] > 1];
    let single = strided || apart[axis];
    let mut all: Vec<Vec<Tile>> = Vec::new();
    let mut last = usize::MAX;
    for count in 1..=windows.count {
        let longest = if single { 1 } else { windows.count.div_ceil(count) };
        if longest < last {
            all.push(windows::tiles(windows, longest));
        }
        last = longest;
    }
    all
}

fn longest(tiles: &[Tile]) -> usize {
    tiles.iter().map(|tile| tile.length).max().expect("an axis is cut into at least one tile")
}

fn fits(blocks: &[Block], planes: &Planes, size: [usize; 2]) -> bool {
    let fits = |[rows, columns]: [usize; 2]| rows <= SIDE && columns <= SIDE && rows * columns <= AREA;
    fits(size) && blocks.iter().flat_map(|block| &block.loads).all(|load| fits(buffer(load, planes, size)))
}

fn buffer(load: &Load, planes: &Planes, size: [usize; 2]) -> [usize; 2] {
    load.buffer(size, load.row_step(planes.get(load.plane).slots()[1]))
}

/// Returns the cycles of all tiles: loads run in parallel to convolutions, stores after them.
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
                let holds_ifm = block.loads.len() == 1 && !blocks_outside && index > 0;
                let features =
                    if holds_ifm { 0 } else { height * (width.div_ceil(costs.burst) + costs.row_latency) };
                let holds_ker = block.loads.len() == 1 && blocks_outside && rows.len() * columns.len() > 1;
                let slice = (load.lanes * block.filters).div_ceil(LANES);
                let weights = if holds_ker {
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

/// Returns the cycles of the stores of a tile.
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

/// Groups tiles that cost the same, with their number.
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

/// Whether two tiles cost the same: their stores of each kind have the same number of pixels.
fn alike(a: &Tile, b: &Tile) -> bool {
    let sizes = |tile: &Tile| tile.stores.iter().map(|store| [store.window, store.count]).collect::<Vec<_>>();
    sizes(a) == sizes(b)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::Arc;

    use npukit_numeric::Tensor;

    use super::super::layer::{Post, Step};
    use super::super::map::{Plane, View};
    use super::super::product::{Part, Term, Weights};
    use super::*;

    const COSTS: Costs = Costs {
        burst: 1,
        row_latency: 3,
        ker_latency: 5,
        conv_pipe: 0,
        store_latency: 7,
        store_windows: false,
    };

    /// Returns a layer of windows of 1 x 3 over 16 channels of 7 x 7 pixels, with 70 channels of 7
    /// x 5 as results.
    fn layer(planes: &mut Planes, strides: [usize; 2], ats: &[[isize; 2]]) -> Layer {
        let plane = planes.new_map("x", [7, 7], 16, 0).pieces[0].plane;
        let term =
            |(tap, &at): (usize, &[isize; 2])| Term { plane, lane: 0, channels: 16, at, row: tap * 16 };
        let weights =
            Weights::Rows { matrix: Arc::new(Tensor::from_f32(vec![0], vec![]).unwrap()), columns: 70 };
        let part = Part { weights, strides, terms: ats.iter().enumerate().map(term).collect() };
        let product = Product { size: [7, 5], channels: 70, parts: vec![part], factors: None, bias: None };
        let output = planes.new_map("y", [7, 5], 70, 0);
        Layer {
            name: String::new(),
            nodes: Vec::new(),
            macs: 0,
            product,
            post: Post::default(),
            copies: [1, 1],
            output,
            result: None,
        }
    }

    const ROW: [[isize; 2]; 3] = [[0, 0], [0, 1], [0, 2]];

    fn cuts(lengths: &[usize]) -> Vec<Tile> {
        let mut start = 0;
        let tile = |&length: &usize| {
            let stores = vec![windows::Stored { window: 1, first: start, count: length }];
            let tile = Tile { start, length, stores };
            start += length;
            tile
        };
        lengths.iter().map(tile).collect()
    }

    fn costs_of(layer: &Layer, planes: &Planes, tiles: [&[Tile]; 2], outside: bool, costs: Costs) -> usize {
        let block = |columns: Range<usize>| Block {
            filters: filters(columns.len()),
            loads: loads(&layer.product, &columns),
        };
        let blocks: Vec<Block> = blocks(layer.product.channels).map(block).collect();
        cost(&blocks, planes, tiles, outside, layer, costs)
    }

    /// Blocks of 64 channels and of 6, padded to 16. All sums are computed manually.
    #[test]
    fn tiles_cost_the_longer_of_loads_and_convolutions_and_their_stores() {
        let mut planes = Planes::default();
        let mut layer = layer(&mut planes, [1, 1], &ROW);
        let cost = |layer: &Layer, rows: &[usize], outside, costs| {
            costs_of(layer, &planes, [&cuts(rows), &cuts(&[5])], outside, costs)
        };
        let longer = |compute: usize, load: usize| compute.max(load);
        // A 4 x 5 tile: 3 taps of 20 pixels; 4 rows of 7 words; 3 slices of 16 words, or of 4; a
        // store of 20.
        let first = longer(60, 4 * (7 + 3) + 48 + 5) + longer(60, 12 + 5) + 2 * (20 + 7);
        // A 3 x 5 tile.
        let second = longer(45, 3 * (7 + 3) + 48 + 5) + longer(45, 12 + 5) + 2 * (15 + 7);
        assert_eq!((first, second), (207, 172));
        assert_eq!(cost(&layer, &[4, 3], false, COSTS), first + second);
        // The cost of each kind of tile is multiplied by the number of such tiles.
        assert_eq!(cost(&layer, &[4, 4, 3, 4, 3], false, COSTS), 3 * first + 2 * second);
        // A block that visits all tiles keeps its weights but loads features again for each block.
        let outside = 2 * (longer(60, 4 * (7 + 3)) + 27) + 2 * (longer(45, 3 * (7 + 3)) + 22);
        assert_eq!(cost(&layer, &[4, 3], true, COSTS), outside);
        // With only one tile, weights are not reused.
        let whole = longer(105, 7 * (7 + 3) + 48 + 5) + longer(105, 7 * (7 + 3) + 12 + 5) + 2 * (35 + 7);
        assert_eq!(cost(&layer, &[7], true, COSTS), whole);
        let bursts = Costs { burst: 8, conv_pipe: 9, ..COSTS };
        // The products take 3 x (20 + 9). Rows are one burst, slices are 6 or 2 bursts.
        let burst = longer(87, 4 * (1 + 3) + 6 + 5) + longer(87, 2 + 5) + 2 * (20 + 7);
        assert_eq!(cost(&layer, &[4], false, bursts), burst);
        let slow = Costs { row_latency: 30, burst: 8, ..COSTS };
        assert_eq!(cost(&layer, &[4], false, slow), (4 * (1 + 30) + 6 + 5) + 60 + 2 * 27);
        let outside = 2 * (4 * (1 + 30) + 27) + 2 * (3 * (1 + 30) + 22);
        assert_eq!(cost(&layer, &[4, 3], true, slow), outside);
        // Two adjacent tiles in one row of tiles, of 7 x 3 and 7 x 2.
        let beside = 2 * (longer(63, 7 * (5 + 3)) + 28) + 2 * (longer(42, 7 * (4 + 3)) + 21);
        assert_eq!(costs_of(&layer, &planes, [&cuts(&[7]), &cuts(&[3, 2])], true, COSTS), beside);
        // Two tiles of a kind in both directions are four.
        let single = costs_of(&layer, &planes, [&cuts(&[3]), &cuts(&[2])], false, COSTS);
        assert_eq!(single, longer(18, 3 * (4 + 3) + 48 + 5) + longer(18, 12 + 5) + 2 * (6 + 7));
        let four = costs_of(&layer, &planes, [&cuts(&[3, 3]), &cuts(&[2, 2])], false, COSTS);
        assert_eq!(four, 4 * single);
        // With twice the channels, a tap takes twice as long for 64 results: 2048 products per
        // pixel.
        let mut wide = layer.clone();
        wide.product.parts[0].terms.iter_mut().for_each(|term| term.channels = 32);
        let fast = Costs { burst: 8, ..COSTS };
        assert_eq!(cost(&wide, &[4], false, fast), 120 + 60 + 2 * (20 + 7));
        // Each copy is stored separately. A residual is loaded as well.
        layer.copies = [2, 3];
        assert_eq!(cost(&layer, &[4], false, COSTS), first + 2 * 5 * 27);
        layer.copies = [1, 1];
        let residual = Step::Residual(View { size: [7, 5], pieces: layer.output.pieces.clone() });
        layer.post = layer.post.with(residual).unwrap();
        assert_eq!(cost(&layer, &[4], false, COSTS), first + 2 * 20);
    }

    #[test]
    fn stores_cost_their_windows_where_these_are_read_one_by_one() {
        let mut rows = cuts(&[4]);
        rows[0].stores = vec![
            windows::Stored { window: 2, first: 0, count: 3 },
            windows::Stored { window: 3, first: 1, count: 2 },
        ];
        let columns = cuts(&[5]);
        let stored = |residual, store_windows| {
            stores(&rows[0], &columns[0], residual, Costs { store_windows, ..COSTS })
        };
        assert_eq!(stored(false, false), (15 + 7) + (10 + 7));
        assert_eq!(stored(false, true), (15 * 2 + 7) + (10 * 3 + 7));
        assert_eq!(stored(true, false), (15 + 7 + 15) + (10 + 7 + 10));
        // Tiles of equal length cost different amounts if their stores differ.
        let mut two = cuts(&[4, 4]);
        two[1].stores = rows[0].stores.clone();
        assert_eq!(kinds(&two, &columns).len(), 2);
        let counts = |rows: &[usize], columns: &[usize]| {
            let (rows, columns) = (cuts(rows), cuts(columns));
            kinds(&rows, &columns).into_iter().map(|(count, _)| count).collect::<Vec<_>>()
        };
        assert_eq!(counts(&[4, 4, 3], &[5, 5]), [4, 2]);
    }

    #[test]
    fn taps_share_a_load_as_far_as_offsets_reach() {
        for (ats, expected) in [
            (&[0, 15][..], &[(0, 15, &[0, 15][..])][..]),
            (&[0, 16], &[(0, 0, &[0]), (16, 0, &[0])]),
            (&[3, -2, 0], &[(-2, 5, &[5, 0, 2])]),
            (&[3, -2, 0, 5], &[(-2, 7, &[5, 0, 2, 7])]),
            (&[-3, 4], &[(-3, 7, &[0, 7])]),
        ] {
            for axis in [0, 1] {
                let mut places = vec![[0, 0]; ats.len()];
                places.iter_mut().zip(ats).for_each(|(place, &at)| place[axis] = at);
                let layer = layer(&mut Planes::default(), [1, 1], &places);
                let found = loads(&layer.product, &(0..64));
                let found: Vec<_> = found
                    .iter()
                    .map(|load| {
                        let offsets: Vec<usize> = load.taps.iter().map(|tap| tap.offset[axis]).collect();
                        (load.at[axis], load.span[axis], offsets)
                    })
                    .collect();
                let expected: Vec<_> =
                    expected.iter().map(|&(at, span, offsets)| (at, span, offsets.to_vec())).collect();
                assert_eq!(found, expected, "{ats:?}");
            }
        }
    }

    #[test]
    fn rows_in_between_are_left_out_where_taps_are_in_one_row() {
        let step = |strides, ats: &[[isize; 2]], pitch| {
            let layer = layer(&mut Planes::default(), strides, ats);
            let load = &loads(&layer.product, &(0..64))[0];
            let step = load.row_step(pitch);
            (step, load.buffer([4, 5], step))
        };
        assert_eq!(step([3, 2], &ROW, 341), (3, [4, 11]));
        // 3 x 342 slots do not fit a row.
        assert_eq!(step([3, 2], &ROW, 342), (1, [10, 11]));
        assert_eq!(step([3, 2], &[[0, 0], [1, 0]], 20), (1, [11, 9]));
        assert_eq!(step([1, 1], &ROW, 20), (1, [4, 7]));
    }

    #[test]
    fn axes_are_cut_in_all_ways_that_differ_unless_pixels_stand_alone() {
        let mut planes = Planes::default();
        let mut layer = layer(&mut planes, [7, 7], &ROW);
        let ways = |layer: &Layer, planes: &Planes| {
            [0, 1].map(|axis| {
                let cuts = candidates(Windows::plain(7), layer, planes, axis);
                cuts.iter().map(|cut| longest(cut)).collect::<Vec<_>>()
            })
        };
        let all = vec![7, 4, 3, 2, 1];
        assert_eq!(ways(&layer, &planes), [all.clone(), all.clone()]);
        layer.product.parts[0].strides = [8, 7];
        assert_eq!(ways(&layer, &planes), [vec![1], all.clone()]);
        layer.product.parts[0].strides = [7, 8];
        assert_eq!(ways(&layer, &planes), [all.clone(), vec![1]]);
        layer.product.parts[0].strides = [1, 1];
        // Repeated columns are stored one by one.
        layer.copies = [1, 2];
        assert_eq!(ways(&layer, &planes), [all.clone(), vec![1]]);
        // Repeated rows are stored one by one if they have more than 1023 slots in total.
        let rows_of = [
            (1, 1023, all.clone()),
            (2, 511, all.clone()),
            (2, 512, vec![1]),
            (3, 341, all.clone()),
            (3, 342, vec![1]),
        ];
        for (copies, columns, rows) in rows_of {
            let name = String::new();
            let plane = planes.add(Plane { name, size: [14, columns], channels: 16, border: 0, fraction: 0 });
            layer.output.pieces[0].plane = plane;
            layer.copies = [copies, 1];
            assert_eq!(ways(&layer, &planes), [rows, all.clone()], "{copies} x {columns}");
        }
    }

    #[test]
    fn tiles_fit_the_buffers_with_what_their_windows_reach() {
        let mut planes = Planes::default();
        let layer = layer(&mut planes, [1, 1], &[[0, 0], [2, 0], [0, 2]]);
        let reaching = [Block { filters: 64, loads: loads(&layer.product, &(0..64)) }];
        for (size, alone, with_windows) in [
            ([127, 16], true, false),
            ([125, 14], true, true),
            ([128, 1], false, false),
            ([1, 128], false, false),
            ([1, 126], true, false),
            ([64, 32], true, false),
            ([64, 33], false, false),
            ([62, 30], true, true),
            ([62, 31], true, false),
        ] {
            assert_eq!(fits(&[], &planes, size), alone, "{size:?}");
            assert_eq!(fits(&reaching, &planes, size), with_windows, "{size:?}");
        }
    }
}
