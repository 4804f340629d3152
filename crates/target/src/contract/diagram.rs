//! [`Diagram`]: units, memories and data paths of an instance, as blocks for a drawing.

/// Kind of a block, which gives its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Processor or memory outside the accelerator.
    Outside,
    /// Memory of the accelerator.
    Memory,
    /// Unit that computes.
    Unit,
    /// Unit that fetches, decodes or moves.
    Control,
}

/// Block of a diagram: a unit or a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Name, as in timelines and assembly where it appears there.
    pub name: String,
    /// Size or function, in a few words; may be empty.
    pub detail: String,
    /// Kind, which gives its color.
    pub kind: BlockKind,
    /// Row of the drawing, from 0 at the top.
    pub row: usize,
    /// Column of the drawing, from 0 at the left.
    pub column: usize,
}

/// Data path between two blocks of equal or adjacent rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Index of the block where it begins.
    pub from: usize,
    /// Index of the block where it ends.
    pub to: usize,
    /// Data that takes it, in a word or two; may be empty.
    pub label: String,
    /// Whether data takes it in both directions.
    pub is_both_ways: bool,
}

/// Blocks of an instance and the data paths between them. Empty if an accelerator provides no
/// drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagram {
    blocks: Vec<Block>,
    paths: Vec<Path>,
}

impl Diagram {
    /// Adds a block at a row and column; returns its index for [`Self::path`].
    pub fn block(
        &mut self,
        kind: BlockKind,
        (row, column): (usize, usize),
        name: impl Into<String>,
        detail: impl Into<String>,
    ) -> usize {
        self.blocks.push(Block { name: name.into(), detail: detail.into(), kind, row, column });
        self.blocks.len() - 1
    }

    /// Adds a path for data from one block to another.
    pub fn path(&mut self, from: usize, to: usize, label: impl Into<String>) {
        self.paths.push(Path { from, to, label: label.into(), is_both_ways: false });
    }

    /// Adds a path for data in both directions.
    pub fn both_ways(&mut self, from: usize, to: usize, label: impl Into<String>) {
        self.paths.push(Path { from, to, label: label.into(), is_both_ways: true });
    }

    /// All blocks, in the order in which they were added.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// All paths; their indices are valid in [`Self::blocks`].
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }
}
