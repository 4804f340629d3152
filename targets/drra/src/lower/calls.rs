//! [`Call`]: the calls of kernels that a task takes, by what fits the buffers and keeps all columns busy.

use serde::{Deserialize, Serialize};

use super::column::Column;
use super::gather::Gather;
use super::kernels::{Bases, Kernel, Kind, Nest, Operands, Stream, Work};
use super::plan::Task;
use crate::fabric::{Fabric, ROW_WORDS};
use crate::revision::Revision;

/// Words of a register file.
const FILE_WORDS: usize = 64;
/// Longest period for which rows of results follow each other: the delay between them has 14 bits.
const MOST_ROW_PERIOD: usize = 1024;
/// Longest period for which levels of the released dpu reach from a result to the next.
const MOST_RESET_PERIOD: usize = 64;
/// Results that are reset one by one in a call: a cell of the released fabric has 64 words.
const MOST_RESETS: usize = 8;
/// Rows that a stream may take beyond its words, so that levels count them.
const SPARE_ROWS: usize = 4;

/// A call of a kernel.
#[derive(Clone, Debug)]
pub struct Call {
    /// The kernel.
    pub kernel: Kernel,
    /// What goes into the input buffer, from row 0 on without gaps.
    pub loads: Vec<Load>,
    /// What each column's results are.
    pub results: Vec<Results>,
}

/// Rows of the input buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Load {
    /// Operands whose rows take turns.
    pub operands: Vec<usize>,
    /// Vectors, first and last but one.
    pub vectors: std::ops::Range<usize>,
    /// Rows of each operand.
    pub rows: usize,
    /// Zeros behind each vector.
    #[serde(default)]
    pub spare: usize,
}

/// Results of a column: these numbers, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Number of the first among all results of the task.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Task {
    /// The calls, in order.
    pub fn calls(&self, fabric: &Fabric, columns: &[Column]) -> Vec<Call> {
        match self {
            Self::Vectors { work, operands, .. } => vector_calls(*work, operands, fabric, columns.len()),
            Self::Dots { work, stationary, stream, .. } => {
                dot_calls(*work, stationary, stream, fabric, columns.len())
            }
            Self::Nest { nest, operands, .. } => vec![nest_call(nest, operands)],
            Self::Move { .. } | Self::Fill(_) => Vec::new(),
        }
    }

    /// Rows of the input buffer that a single result takes, when those are more than there are.
    pub fn too_long(&self, fabric: &Fabric) -> Option<TooLong> {
        let Self::Vectors { work, operands, .. } = self else { return None };
        let (words, rows) = (operands.first()?.length(), one_result(*work, operands, fabric)?);
        let operands = operands.len();
        (rows > fabric.input_depth).then_some(TooLong { words, operands, rows, depth: fabric.input_depth })
    }
}

/// A result of more words than the input buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Words of each operand.
    pub words: usize,
    /// Operands that stream.
    pub operands: usize,
    /// Rows that they take.
    pub rows: usize,
    /// Rows there are.
    pub depth: usize,
}

/// Rows that the operands of a single result take.
fn one_result(work: Work, operands: &[Gather], fabric: &Fabric) -> Option<usize> {
    let words = operands.first()?.length();
    let stream = Stream { work, operands: streams(operands), words, period: words, spare: 0 };
    Some(stream.rows(fabric.options.revision) * operands.len())
}

/// What streams when these are the operands.
const fn streams(operands: &[Gather]) -> Operands {
    if operands.len() > 1 { Operands::Pair } else { Operands::One }
}

/// Results of a call: whole rows as long as there are many; all in one row where rows cannot follow each other; few
/// where each is reset by itself.
fn results_of_call(most: usize, period: usize, work: Work, revision: Revision) -> usize {
    let most = if is_reset_alone(period, work, revision) { most.min(MOST_RESETS) } else { most };
    let most = if period > MOST_ROW_PERIOD { most.min(ROW_WORDS) } else { most };
    if most > ROW_WORDS { most - most % ROW_WORDS } else { most.max(1) }
}

/// Whether each result has a reset of its own.
fn is_reset_alone(period: usize, work: Work, revision: Revision) -> bool {
    revision.is_released() && work.accumulates() && period > MOST_RESET_PERIOD
}

/// Ranges of at most `size`. What is left of whole rows is a range of its own.
fn ranges(count: usize, size: usize) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    let mut start = 0;
    while start < count {
        let left = count - start;
        let take = if left >= size || left <= ROW_WORDS { left.min(size) } else { left - left % ROW_WORDS };
        ranges.push(start..start + take);
        start += take;
    }
    ranges
}

fn nest_call(nest: &Nest, operands: &[Gather; 2]) -> Call {
    let load = |operand: usize| {
        let vectors = 0..operands[operand].count();
        Load { operands: vec![operand], vectors, rows: nest.rows(operand), spare: 0 }
    };
    let kernel = Kernel { kind: Kind::Nest(nest.clone()), bases: vec![Bases::default()] };
    let results = vec![Results { first: 0, count: nest.results }];
    Call { kernel, loads: vec![load(0), load(1)], results }
}

fn vector_calls(work: Work, operands: &[Gather], fabric: &Fabric, columns: usize) -> Vec<Call> {
    let Some(first) = operands.first() else { return Vec::new() };
    let (count, length, revision) = (first.count(), first.length(), fabric.options.revision);
    let spare = |size: usize| usize::from(size > 1 && is_reset_alone(length, work, revision));
    // As many columns as there is room for a result in the input buffer.
    let room = one_result(work, operands, fabric).and_then(|rows| fabric.input_depth.checked_div(rows));
    let columns = room.map_or(columns, |room| columns.min(room)).max(1);
    let kind = streams(operands);
    // Two rows of each operand are loaded at a time.
    let rows = (fabric.input_depth / columns / operands.len()).saturating_sub(SPARE_ROWS);
    let share = count.div_ceil(columns).next_multiple_of(ROW_WORDS);
    let most = (rows * ROW_WORDS / (length + spare(share))).min(share);
    let parts = ranges(count, results_of_call(most, length, work, revision));
    let mut calls = Vec::new();
    for parts in same_length(&parts, columns) {
        let size = parts.first().map_or(0, |part| part.len());
        let (spare, period) = (spare(size), length + spare(size));
        let stream = Stream { work, operands: kind, words: size * period, period, spare };
        let mut call = Call::new(Kind::Stream(stream));
        for part in parts {
            let all = (0..operands.len()).collect();
            let rows = stream.rows(revision);
            let base = call.load(Load { operands: all, vectors: part.clone(), rows, spare });
            call.column(Bases { stationary: 0, stream: base, output: 0 }, part.start, size);
        }
        calls.push(call);
    }
    calls
}

fn dot_calls(work: Work, stationary: &Gather, stream: &Gather, fabric: &Fabric, columns: usize) -> Vec<Call> {
    let (count, period, kept) = (stream.count(), stationary.length(), stationary.count());
    // Columns share the rows that stream when each keeps another vector.
    let streams = if kept >= columns { 1 } else { columns };
    let rows = (fabric.input_depth.saturating_sub(columns * FILE_WORDS / ROW_WORDS) / streams)
        .saturating_sub(SPARE_ROWS);
    let share = count.div_ceil(columns.div_ceil(kept.max(1))).next_multiple_of(ROW_WORDS);
    let most = (rows * ROW_WORDS / period).min(share);
    let revision = fabric.options.revision;
    let parts = ranges(count, results_of_call(most, period, work, revision));
    let jobs: Vec<(usize, std::ops::Range<usize>)> =
        parts.iter().flat_map(|part| (0..kept).map(move |vector| (vector, part.clone()))).collect();
    let mut calls = Vec::new();
    for jobs in jobs
        .chunk_by(|a, b| a.1.len() == b.1.len() && (streams > 1 || a.1 == b.1))
        .flat_map(|all| all.chunks(columns))
    {
        let size = jobs.first().map_or(0, |job| job.1.len());
        let kernel = Stream { work, operands: Operands::Stationary, words: size * period, period, spare: 0 };
        let mut call = Call::new(Kind::Stream(kernel));
        for (vector, part) in jobs {
            let rows = kernel.stationary_rows();
            let vectors = *vector..vector + 1;
            let stays = call.load(Load { operands: vec![0], vectors, rows, spare: 0 });
            let rows = kernel.rows(revision);
            let streams = call.load(Load { operands: vec![1], vectors: part.clone(), rows, spare: 0 });
            let bases = Bases { stationary: stays, stream: streams, output: 0 };
            call.column(bases, vector * count + part.start, size);
        }
        calls.push(call);
    }
    calls
}

/// Parts of one length, at most `most` at a time.
fn same_length(
    parts: &[std::ops::Range<usize>],
    most: usize,
) -> impl Iterator<Item = &[std::ops::Range<usize>]> {
    parts.chunk_by(|a, b| a.len() == b.len()).flat_map(move |all| all.chunks(most.max(1)))
}

impl Call {
    const fn new(kind: Kind) -> Self {
        Self { kernel: Kernel { kind, bases: Vec::new() }, loads: Vec::new(), results: Vec::new() }
    }

    /// The first row of what is loaded, which may be there already.
    fn load(&mut self, load: Load) -> usize {
        let mut row = 0;
        for known in &self.loads {
            if *known == load {
                return row;
            }
            row += known.all_rows();
        }
        self.loads.push(load);
        row
    }

    /// Adds a column; its results follow those of the columns before.
    fn column(&mut self, mut bases: Bases, first: usize, count: usize) {
        bases.output = self.results.iter().map(|results| results.count.div_ceil(ROW_WORDS)).sum();
        self.kernel.bases.push(bases);
        self.results.push(Results { first, count });
    }
}

impl Load {
    /// Rows in the buffer.
    pub const fn all_rows(&self) -> usize {
        self.rows * self.operands.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::DpuMode;

    #[test]
    fn whole_rows_come_first() {
        assert_eq!(ranges(100, 32), [0..32, 32..64, 64..96, 96..100]);
        assert_eq!(ranges(40, 64), [0..32, 32..40]);
        assert_eq!(ranges(9, 64).len(), 1);
        let of = |most, period, revision| results_of_call(most, period, Work::plain(DpuMode::Mac), revision);
        let seed = Revision::Seed;
        assert_eq!((of(100, 3, seed), of(100, 2000, seed), of(0, 1, seed)), (96, 16, 1));
        let released = Revision::Released;
        assert_eq!((of(100, 64, released), of(100, 65, released), of(100, 65, seed)), (96, 8, 96));
    }
}
