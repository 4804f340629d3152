//! [`Fabric`]: rows and columns of cells, each with its resources in slots. An architecture, elaborated.

use std::collections::BTreeMap;

use npukit_target::system_of;

use crate::config::Systems;
use crate::config::component::Component;
use crate::config::encoding::Encoding;
use crate::config::revision::Revision;
use crate::config::seed::Choices;

/// Words of a bulk row.
pub const ROW_WORDS: usize = 16;
/// Slots of a cell.
pub const SLOTS: usize = 16;

/// A row of a memory: element 0 first.
pub type Row<W = i16> = [W; ROW_WORDS];

/// Where a cell is.
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

/// An instance: every position holds a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Cells, row after row.
    pub cells: Vec<Cell>,
    /// Rows of the input buffer.
    pub input_depth: usize,
    /// Rows of the output buffer.
    pub output_depth: usize,
    /// Which hardware it is, and what is not hardware.
    pub options: Options,
    /// What is around it.
    pub systems: Systems,
}

/// How programs are to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which hardware it is.
    pub revision: Revision,
    /// Cycles by which a column starts after the one before it: 0 as the seed's compiler has it, 1 as the hardware.
    pub call_skew: u32,
    /// Gives a meaning to what no source defines: see the table in `targets/drra/README.md`.
    pub extensions: bool,
    /// Refuses addresses beyond a memory, which otherwise wrap.
    pub strict: bool,
    /// How words are written in files. In programs they are as released.
    pub encoding: Encoding,
    /// What the seed's text leaves open, where it counts.
    pub seed: Choices,
}

impl Options {
    /// Those of a revision.
    pub const fn of(revision: Revision) -> Self {
        let encoding = match revision {
            Revision::Released | Revision::Text | Revision::Seed => Encoding::Released,
            Revision::Later => Encoding::Later,
        };
        let (call_skew, seed) = (revision.call_skew(), Choices::DEFAULT);
        Self { revision, call_skew, extensions: false, strict: false, encoding, seed }
    }

    /// Whether the modes of dpus have a meaning that no source defines.
    pub const fn has_modes(&self) -> bool {
        self.extensions || self.revision.is_seed()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::of(Revision::default())
    }
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Name of its kind in the architecture.
    pub name: String,
    /// Words its instruction memory can be loaded with.
    pub iram_words: usize,
    /// In the order of their slots.
    pub resources: Vec<Resource>,
}

/// A component in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What it is.
    pub component: Component,
    /// Its first slot.
    pub slot: u8,
    /// Rows of 16 words of its memory; 0 without one.
    pub rows: usize,
    /// Fraction bits of a dpu's products.
    pub fraction_bits: u32,
}

/// The sides and corners of a cell that bulk rows cross, and the cell itself; the discriminant is the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the row above, the column before.
    NorthWest = 0,
    /// To the row above.
    North = 1,
    /// To the row above, the next column.
    NorthEast = 2,
    /// To the column before.
    West = 3,
    /// From slot to slot of the cell.
    Centre = 4,
    /// To the next column.
    East = 5,
    /// To the row below, the column before.
    SouthWest = 6,
    /// To the row below.
    South = 7,
    /// To the row below, the next column.
    SouthEast = 8,
}

/// Directions there are.
pub const DIRECTIONS: usize = Direction::ALL.len();

impl Direction {
    /// Every one, by code.
    pub const ALL: [Self; 9] = [
        Self::NorthWest,
        Self::North,
        Self::NorthEast,
        Self::West,
        Self::Centre,
        Self::East,
        Self::SouthWest,
        Self::South,
        Self::SouthEast,
    ];

    /// The code in `route`.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The direction of that code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Its place in [`Direction::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether it crosses a corner, where no circuit has wires.
    pub const fn is_diagonal(self) -> bool {
        matches!(self, Self::NorthWest | Self::NorthEast | Self::SouthWest | Self::SouthEast)
    }

    /// What is seen from the other side.
    pub const fn opposite(self) -> Self {
        match self {
            Self::NorthWest => Self::SouthEast,
            Self::North => Self::South,
            Self::NorthEast => Self::SouthWest,
            Self::West => Self::East,
            Self::Centre => Self::Centre,
            Self::East => Self::West,
            Self::SouthWest => Self::NorthEast,
            Self::South => Self::North,
            Self::SouthEast => Self::NorthWest,
        }
    }
}

impl Resource {
    /// Whether it takes that slot.
    pub const fn covers(&self, slot: u8) -> bool {
        slot >= self.slot && slot < self.slot + self.component.slots()
    }

    /// Its address generators: slot, port, and how many addresses each can have.
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

    /// The slot through which its bulk rows go; none for what has no bulk ports.
    pub const fn bulk_slot(&self) -> Option<u8> {
        match self.component {
            Component::Rf => Some(self.slot),
            component if component.is_iosram() => Some(self.slot + 1),
            _ => None,
        }
    }
}

impl Cell {
    /// The resource at a slot.
    pub fn resource_at(&self, slot: u8) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.covers(slot))
    }

    /// What sits at a slot.
    pub fn component_at(&self, slot: u8) -> Option<Component> {
        self.resource_at(slot).map(|resource| resource.component)
    }

    /// Whether it reads the input buffer.
    pub fn has_input(&self) -> bool {
        self.resources.iter().any(|resource| resource.component.has_input())
    }

    /// Whether it writes the output buffer.
    pub fn has_output(&self) -> bool {
        self.resources.iter().any(|resource| resource.component.has_output())
    }
}

impl Fabric {
    /// The same as another revision.
    pub fn of_revision(mut self, revision: Revision) -> Self {
        let Options { extensions, strict, seed, .. } = self.options;
        self.options = Options { extensions, strict, seed, ..Options::of(revision) };
        self
    }

    /// How it differs from released hardware, as far as that is known.
    pub fn unreleased(&self) -> Option<String> {
        let bits = self.cells.iter().flat_map(|cell| &cell.resources).map(|part| part.fraction_bits).max();
        let bits = bits.filter(|bits| *bits > 0 && self.options.revision != Revision::Later)?;
        Some(format!(
            "dpus with {bits} fraction bits are no released hardware: they came with the later encoding (`+later`)"
        ))
    }

    /// The cell at a place.
    pub fn cell(&self, place: Place) -> Option<&Cell> {
        self.cells.get(self.index(place)?)
    }

    /// A place's number, row after row.
    pub fn index(&self, place: Place) -> Option<usize> {
        (place.row < self.rows && place.col < self.cols).then(|| place.row * self.cols + place.col)
    }

    /// The place of a number.
    pub const fn place(&self, index: usize) -> Place {
        Place { row: index / self.cols, col: index % self.cols }
    }

    /// All places, row after row.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        (0..self.cells.len()).map(|index| self.place(index))
    }

    /// The cell at a side or a corner of another; the cell itself at its centre.
    pub fn neighbour(&self, index: usize, side: Direction) -> Option<usize> {
        let Place { row, col } = self.place(index);
        // Codes go through the rows of three by three cells, of which this one is the centre.
        let (down, right) = (side.index() / 3, side.index() % 3);
        self.index(Place { row: (row + down).checked_sub(1)?, col: (col + right).checked_sub(1)? })
    }
}

/// Rows by number; others are zero, or were not written.
pub type Image = BTreeMap<u32, Row>;

impl Fabric {
    /// The same in the system of that name.
    ///
    /// # Errors
    ///
    /// It has none of this name; the sentence says which it has.
    pub fn with_system(mut self, name: &str) -> Result<Self, String> {
        self.systems.own = system_of(&self.systems.named, name)?.clone();
        Ok(self)
    }
}
