//! Division of a layer into tiles: [`Tiling`].

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::lower::layers::hir::Layer;
use crate::lower::memory::next_use::Again;

/// Pixel range and block range of a tile.
pub type Tile = (Range<usize>, Range<usize>);

/// Size and order of a layer's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiling {
    /// Number of pixels per tile.
    pub pixels: usize,
    /// Number of blocks per tile.
    pub blocks: usize,
    /// Whether tiles of the same blocks follow each other, so that their weights stay in local
    /// memory. Otherwise tiles of the same pixels do, so that their inputs stay.
    pub blocks_outer: bool,
}

impl Tiling {
    /// Returns the kind of objects that the tiles reuse.
    pub(super) fn again(self, layer: &Layer) -> Again {
        if self.blocks_outer && self.blocks < layer.blocks { Again::Variables } else { Again::Constants }
    }

    /// Returns the tiles in groups of similar cost: tiles of the same blocks or pixels, or single
    /// tiles if one covers all.
    pub(super) fn groups(self, layer: &Layer) -> Vec<Vec<Tile>> {
        let pixels = ranges(layer.pixels, self.pixels);
        let blocks = ranges(layer.blocks, self.blocks);
        let of_blocks =
            |blocks: &Range<usize>| pixels.iter().map(|pixels| (pixels.clone(), blocks.clone())).collect();
        let of_pixels =
            |pixels: &Range<usize>| blocks.iter().map(|blocks| (pixels.clone(), blocks.clone())).collect();
        let groups: Vec<Vec<Tile>> = if self.blocks_outer {
            blocks.iter().map(of_blocks).collect()
        } else {
            pixels.iter().map(of_pixels).collect()
        };
        match <[Vec<Tile>; 1]>::try_from(groups) {
            Ok([only]) => only.into_iter().map(|tile| vec![tile]).collect(),
            Err(groups) => groups,
        }
    }
}

fn ranges(total: usize, size: usize) -> Vec<Range<usize>> {
    (0..total).step_by(size.max(1)).map(|first| first..(first + size).min(total)).collect()
}
