//! Feature maps: [`Plane`]s of at most 64 channels in memory, and [`View`]s of them.
//!
//! A tensor is a view: rows, columns, and pieces of planes with consecutive channels. Slices,
//! splits, concatenations and flattenings are views of existing planes.

use super::limits::LANES;

/// Index of a plane of a [`Planes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaneId(pub usize);

/// Up to 64 channels of a feature map, with a slot of 64 elements per pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Name of the graph's value in the plane, with the plane's number.
    pub name: String,
    /// Rows and columns without the border.
    pub size: [usize; 2],
    /// Channels in use.
    pub channels: usize,
    /// Width of the zeros on all sides that readers need.
    pub border: usize,
    /// Fraction length: a real value `x` is stored as `x * 2^fraction`.
    pub fraction: i32,
}

impl Plane {
    /// Returns rows and columns of slots, border included.
    pub fn slots(&self) -> [usize; 2] {
        self.size.map(|size| size + 2 * self.border)
    }

    /// Returns the index of the slot at row and column `at`, relative to the plane without its
    /// border; `None` outside the border.
    pub fn slot(&self, at: [isize; 2]) -> Option<usize> {
        let border = self.border as isize;
        let [row, column] = at.map(|at| usize::try_from(at + border).ok());
        Some(row? * self.slots()[1] + column?)
    }
}

/// All planes of a program.
#[derive(Clone, Debug, Default)]
pub struct Planes(Vec<Plane>);

impl Planes {
    /// Adds a plane and returns its id.
    pub fn add(&mut self, plane: Plane) -> PlaneId {
        self.0.push(plane);
        PlaneId(self.0.len() - 1)
    }

    /// Returns the plane with that id.
    pub fn get(&self, id: PlaneId) -> &Plane {
        &self.0[id.0]
    }

    /// Returns the plane with that id, for changes.
    pub fn get_mut(&mut self, id: PlaneId) -> &mut Plane {
        &mut self.0[id.0]
    }

    /// Iterates over all planes in order.
    pub fn iter(&self) -> impl Iterator<Item = &Plane> {
        self.0.iter()
    }

    /// Returns the number of planes.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Creates the planes of a feature map of `channels` channels, and returns a view of all of it.
    pub fn new_map(&mut self, name: &str, size: [usize; 2], channels: usize, fraction: i32) -> View {
        let piece = |first: usize| {
            let channels = LANES.min(channels - first);
            let name = format!("{name}[{}]", first / LANES);
            let plane = self.add(Plane { name, size, channels, border: 0, fraction });
            Piece { plane, lane: 0, channels, origin: [0, 0] }
        };
        View { size, pieces: (0..channels).step_by(LANES).map(piece).collect() }
    }

    /// Returns the smallest fraction length of the planes of `view`, which must not be empty.
    pub fn coarsest_fraction(&self, view: &View) -> i32 {
        let fractions = view.pieces.iter().map(|piece| self.get(piece.plane).fraction);
        fractions.min().expect("a map has channels, hence a plane")
    }

    /// Whether `view` covers its planes from edge to edge, so that it has the planes' borders.
    pub fn covers(&self, view: &View) -> bool {
        view.pieces.iter().all(|piece| piece.origin == [0, 0] && self.get(piece.plane).size == view.size)
    }
}

/// Consecutive channels of a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Plane that holds the channels.
    pub plane: PlaneId,
    /// First channel in the plane.
    pub lane: usize,
    /// Number of channels.
    pub channels: usize,
    /// Row and column of the plane where the view begins.
    pub origin: [usize; 2],
}

/// Tensor in planes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Rows and columns.
    pub size: [usize; 2],
    /// Pieces with the view's channels, in order.
    pub pieces: Vec<Piece>,
}

impl View {
    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.pieces.iter().map(|piece| piece.channels).sum()
    }

    /// Returns the view of channels `first .. first + count`.
    pub fn channel_range(&self, first: usize, count: usize) -> Self {
        let (mut pieces, mut at) = (Vec::new(), 0);
        for piece in &self.pieces {
            let (from, to) = (first.max(at), (first + count).min(at + piece.channels));
            if from < to {
                pieces.push(Piece { lane: piece.lane + from - at, channels: to - from, ..piece.clone() });
            }
            at += piece.channels;
        }
        Self { size: self.size, pieces }
    }

    /// Returns the view of `size` rows and columns, starting at `origin`.
    pub fn window(&self, origin: [usize; 2], size: [usize; 2]) -> Self {
        let moved = |piece: &Piece| {
            let origin = [piece.origin[0] + origin[0], piece.origin[1] + origin[1]];
            Piece { origin, ..piece.clone() }
        };
        Self { size, pieces: self.pieces.iter().map(moved).collect() }
    }

    /// Returns a view of one pixel that has all elements, row-major, as its channels.
    pub fn flattened(&self) -> Self {
        let [rows, columns] = self.size;
        let pixels = (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column]));
        let pieces = pixels.flat_map(|at| self.window(at, [1, 1]).pieces).collect();
        Self { size: [1, 1], pieces }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_channels_has_no_empty_pieces() {
        let view = Planes::default().new_map("x", [2, 3], 130, 0);
        let pieces = |first, count| {
            let range = view.channel_range(first, count);
            range.pieces.iter().map(|piece| (piece.plane.0, piece.lane, piece.channels)).collect::<Vec<_>>()
        };
        assert_eq!(pieces(0, 64), [(0, 0, 64)]);
        assert_eq!(pieces(64, 64), [(1, 0, 64)]);
        assert_eq!(pieces(60, 69), [(0, 60, 4), (1, 0, 64), (2, 0, 1)]);
    }
}
