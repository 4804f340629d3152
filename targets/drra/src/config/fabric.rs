//! [`Fabric`]: an elaborated architecture. It has rows and columns of cells, each with its
//! resources in slots.

use std::collections::BTreeMap;

use npukit_target::system_of;

use crate::config::Systems;
use crate::config::component::Component;
use crate::config::encoding::Encoding;
use crate::config::revision::Revision;
use crate::config::seed::Choices;

/// Words per bulk row.
pub const ROW_WORDS: usize = 16;
/// Slots per cell.
pub const SLOTS: usize = 16;

/// Row of a memory, element 0 first.
pub type Row<W = i16> = [W; ROW_WORDS];

/// Position of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Row, 0 at the top.
    pub row: usize,
    /// Column, 0 at the left.
    pub col: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {})", self.row, self.col)
    }
}

/// Instance of the target: every position has a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Cells in row-major order.
    pub cells: Vec<Cell>,
    /// Rows of the input buffer.
    pub input_depth: usize,
    /// Rows of the output buffer.
    pub output_depth: usize,
    /// Hardware revision and deviations from hardware.
    pub options: Options,
    /// Systems around the fabric.
    pub systems: Systems,
}

/// Hardware revision and deviations from hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Hardware revision.
    pub revision: Revision,
    /// Cycles by which a column starts after the previous one: 0 in the ISA document's compiler, 1
    /// in hardware.
    pub call_skew: u32,
    /// Whether the dpu modes that no source defines have a meaning; see the table in
    /// `targets/drra/README.md`.
    pub extensions: bool,
    /// Whether an address beyond a memory is a fault. Otherwise it wraps.
    pub strict: bool,
    /// Encoding of words in files. Programs in memory use the released encoding.
    pub encoding: Encoding,
    /// Choices where the ISA document is silent; used by revision `Seed` only.
    pub seed: Choices,
}

impl Options {
    /// Returns the default options of a revision.
    pub const fn of(revision: Revision) -> Self {
        let encoding = match revision {
            Revision::Released | Revision::Text | Revision::Seed => Encoding::Released,
            Revision::Later => Encoding::Later,
        };
        let (call_skew, seed) = (revision.call_skew(), Choices::DEFAULT);
        Self { revision, call_skew, extensions: false, strict: false, encoding, seed }
    }

    /// Whether the dpu modes that no source defines have a meaning.
    pub const fn has_modes(&self) -> bool {
        self.extensions || self.revision.is_seed()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::of(Revision::default())
    }
}

/// Cell of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Name of the cell's kind in the architecture.
    pub name: String,
    /// Number of words that can be loaded into its instruction memory.
    pub iram_words: usize,
    /// Resources, in slot order.
    pub resources: Vec<Resource>,
}

/// Component in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Kind of component.
    pub component: Component,
    /// First slot of the component.
    pub slot: u8,
    /// Rows of 16 words of its memory; 0 if it has none.
    pub rows: usize,
    /// Fraction bits of a dpu's products.
    pub fraction_bits: u32,
}

/// Sides and corners of a cell that bulk rows cross, and the cell itself. The discriminant is the
/// code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the previous column in the row above.
    NorthWest = 0,
    /// To the row above.
    North = 1,
    /// To the next column in the row above.
    NorthEast = 2,
    /// To the previous column.
    West = 3,
    /// Within the cell, from slot to slot.
    Center = 4,
    /// To the next column.
    East = 5,
    /// To the previous column in the row below.
    SouthWest = 6,
    /// To the row below.
    South = 7,
    /// To the next column in the row below.
    SouthEast = 8,
}

/// Number of directions.
pub const DIRECTIONS: usize = Direction::ALL.len();

impl Direction {
    /// All directions, by code.
    pub const ALL: [Self; 9] = [
        Self::NorthWest,
        Self::North,
        Self::NorthEast,
        Self::West,
        Self::Center,
        Self::East,
        Self::SouthWest,
        Self::South,
        Self::SouthEast,
    ];

    /// Code in `route`.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the direction of a code, or `None` if the code is above 8.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Index in [`Direction::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether it crosses a corner. No released circuit has wires there.
    pub const fn is_diagonal(self) -> bool {
        matches!(self, Self::NorthWest | Self::NorthEast | Self::SouthWest | Self::SouthEast)
    }

    /// Direction in which the receiving cell sees the sender.
    pub const fn opposite(self) -> Self {
        match self {
            Self::NorthWest => Self::SouthEast,
            Self::North => Self::South,
            Self::NorthEast => Self::SouthWest,
            Self::West => Self::East,
            Self::Center => Self::Center,
            Self::East => Self::West,
            Self::SouthWest => Self::NorthEast,
            Self::South => Self::North,
            Self::SouthEast => Self::NorthWest,
        }
    }
}

impl Resource {
    /// Whether the component occupies a slot.
    pub const fn covers(&self, slot: u8) -> bool {
        slot >= self.slot && slot < self.slot + self.component.slots()
    }

    /// Returns its address generators: slot, port, and number of addresses.
    pub fn ports(&self) -> Vec<(u8, u8, u32)> {
        const BUFFER_ROWS: u32 = 1 << 16;
        const OPTIONS: u32 = 4;
        let (slot, rows) = (self.slot, self.rows as u32);
        match self.component {
            Component::Sequencer => Vec::new(),
            Component::Dpu => vec![(slot, 0, OPTIONS), (slot, 1, OPTIONS)],
            Component::Swb => vec![(slot, 0, OPTIONS), (slot, 1, OPTIONS)],
            Component::Rf => {
                let words = rows * ROW_WORDS as u32;
                vec![(slot, 0, words), (slot, 1, words), (slot, 2, rows), (slot, 3, rows)]
            }
            component => {
                let input = [(slot, 0, BUFFER_ROWS), (slot, 2, rows)];
                let output = [(slot, 1, BUFFER_ROWS), (slot, 3, rows)];
                let bulk = [(slot + 1, 2, rows), (slot + 1, 3, rows)];
                let input = input.into_iter().filter(|_| component.has_input());
                let output = output.into_iter().filter(|_| component.has_output());
                input.chain(output).chain(bulk).collect()
            }
        }
    }

    /// Slot of its bulk rows, or `None` if it has no bulk ports.
    pub const fn bulk_slot(&self) -> Option<u8> {
        match self.component {
            Component::Rf => Some(self.slot),
            component if component.is_iosram() => Some(self.slot + 1),
            _ => None,
        }
    }
}

impl Cell {
    /// Returns the resource at a slot.
    pub fn resource_at(&self, slot: u8) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.covers(slot))
    }

    /// Returns the component at a slot.
    pub fn component_at(&self, slot: u8) -> Option<Component> {
        self.resource_at(slot).map(|resource| resource.component)
    }

    /// Whether the cell reads the input buffer.
    pub fn has_input(&self) -> bool {
        self.resources.iter().any(|resource| resource.component.has_input())
    }

    /// Whether the cell writes the output buffer.
    pub fn has_output(&self) -> bool {
        self.resources.iter().any(|resource| resource.component.has_output())
    }
}

impl Fabric {
    /// Returns the fabric as another revision.
    pub fn of_revision(mut self, revision: Revision) -> Self {
        let Options { extensions, strict, seed, .. } = self.options;
        self.options = Options { extensions, strict, seed, ..Options::of(revision) };
        self
    }

    /// Returns how the fabric differs from released hardware, or `None` if no difference is known.
    pub fn unreleased(&self) -> Option<String> {
        let bits = self.cells.iter().flat_map(|cell| &cell.resources).map(|part| part.fraction_bits).max();
        let bits = bits.filter(|bits| *bits > 0 && self.options.revision != Revision::Later)?;
        Some(format!(
            "dpus with {bits} fraction bits are not released hardware: they require the later encoding (`+later`)"
        ))
    }

    /// Returns the cell at a position.
    pub fn cell(&self, place: Place) -> Option<&Cell> {
        self.cells.get(self.index(place)?)
    }

    /// Returns the row-major index of a position.
    pub fn index(&self, place: Place) -> Option<usize> {
        (place.row < self.rows && place.col < self.cols).then(|| place.row * self.cols + place.col)
    }

    /// Returns the position of a row-major index.
    pub const fn place(&self, index: usize) -> Place {
        Place { row: index / self.cols, col: index % self.cols }
    }

    /// Returns all positions in row-major order.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        (0..self.cells.len()).map(|index| self.place(index))
    }

    /// Returns the index of the neighboring cell in a direction, which is the cell itself for the
    /// center.
    pub fn neighbor(&self, index: usize, side: Direction) -> Option<usize> {
        let Place { row, col } = self.place(index);
        // The codes number the 3 x 3 cells around this cell, row by row.
        let (down, right) = (side.index() / 3, side.index() % 3);
        self.index(Place { row: (row + down).checked_sub(1)?, col: (col + right).checked_sub(1)? })
    }
}

/// Rows of a buffer by number. Missing rows are zero or unwritten.
pub type Image = BTreeMap<u32, Row>;

impl Fabric {
    /// Returns the fabric in the named system.
    ///
    /// # Errors
    ///
    /// The name is unknown; the message lists the known names.
    pub fn with_system(mut self, name: &str) -> Result<Self, String> {
        self.systems.own = system_of(&self.systems.named, name)?.clone();
        Ok(self)
    }
}
