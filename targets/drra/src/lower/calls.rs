//! Splits a task into kernel calls that fit the buffers and keep all columns busy.

use crate::config::column::Column;
use crate::config::fabric::{Fabric, ROW_WORDS};
use crate::config::revision::Revision;
use crate::program::call::{Call, Load, Results};
use crate::program::gather::Gather;
use crate::program::kernels::{Bases, Kernel, Kind, Nest, Operands, Stream, Work};
use crate::program::plan::Task;

/// Words per register file.
const FILE_WORDS: usize = 64;
/// Longest period with which rows of results follow each other: the delay in between has 14 bits.
const MAX_ROW_PERIOD: usize = 1024;
/// Longest period that the levels of the released dpu can cover between two results.
const MAX_RESET_PERIOD: usize = 64;
/// Maximum number of results per call that are reset separately: a cell of the released fabric
/// holds 64 instruction words.
const MAX_RESETS: usize = 8;
/// Rows that a stream may exceed its words by, so that its length can be expressed by levels.
const SPARE_ROWS: usize = 4;

impl Task {
    /// Returns the calls in order.
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

    /// Returns the size of a single result's operands if they exceed the input buffer.
    pub fn too_long(&self, fabric: &Fabric) -> Option<TooLong> {
        let Self::Vectors { work, operands, .. } = self else { return None };
        let (words, rows) = (operands.first()?.length(), one_result(*work, operands, fabric)?);
        let operands = operands.len();
        (rows > fabric.input_depth).then_some(TooLong { words, operands, rows, depth: fabric.input_depth })
    }
}

/// Result with operands that exceed the input buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Words of each operand.
    pub words: usize,
    /// Number of operands that stream.
    pub operands: usize,
    /// Rows needed in the input buffer.
    pub rows: usize,
    /// Rows of the input buffer.
    pub depth: usize,
}

/// Rows of the input buffer for the operands of a single result.
fn one_result(work: Work, operands: &[Gather], fabric: &Fabric) -> Option<usize> {
    let words = operands.first()?.length();
    let stream = Stream { work, operands: streams(operands), words, period: words, spare: 0 };
    Some(stream.rows(fabric.options.revision) * operands.len())
}

/// Number of operands that stream.
const fn streams(operands: &[Gather]) -> Operands {
    if operands.len() > 1 { Operands::Pair } else { Operands::One }
}

/// Results per call: whole rows if there are enough results; a single row if rows cannot follow
/// each other; few if each is reset separately.
fn results_of_call(most: usize, period: usize, work: Work, revision: Revision) -> usize {
    let most = if is_reset_alone(period, work, revision) { most.min(MAX_RESETS) } else { most };
    let most = if period > MAX_ROW_PERIOD { most.min(ROW_WORDS) } else { most };
    if most >= ROW_WORDS { most - most % ROW_WORDS } else { most.max(1) }
}

/// Whether each result needs its own reset.
fn is_reset_alone(period: usize, work: Work, revision: Revision) -> bool {
    revision.is_released() && work.accumulates() && period > MAX_RESET_PERIOD
}

/// Splits `count` into ranges of at most `size`. The remainder of whole rows is a range of its own.
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
    // The number of columns is limited by the room for one result per column in the input buffer.
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
    // Columns can share the streamed rows only if each column keeps a different vector.
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

/// Groups parts of equal length, at most `most` at a time.
fn same_length(
    parts: &[std::ops::Range<usize>],
    most: usize,
) -> impl Iterator<Item = &[std::ops::Range<usize>]> {
    parts.chunk_by(|a, b| a.len() == b.len()).flat_map(move |all| all.chunks(most.max(1)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::column::columns;
    use crate::config::preset;
    use crate::isa::op::DpuMode;
    use crate::program::gather::Source;
    use crate::program::plan::Place;

    const MAC: Work = Work::plain(DpuMode::Mac);

    fn rows_of(length: usize, count: usize) -> Gather {
        Gather::rows(Source::Value(0), count, length)
    }

    /// Returns the calls of a task, after checking that loads fit the input buffer, that kernels
    /// match the columns, and that each of `all` results occurs once.
    fn calls_of(fabric: &Fabric, task: &Task, all: usize) -> Vec<Call> {
        let columns = columns(fabric).unwrap();
        let calls = task.calls(fabric, &columns);
        let mut seen = vec![0; all];
        for call in &calls {
            assert!(call.input_rows() <= fabric.input_depth, "{call:?}");
            assert!(call.results.len() <= columns.len(), "{call:?}");
            assert_eq!(call.kernel.bases.len(), call.results.len());
            for results in &call.results {
                seen[results.first..results.first + results.count].iter_mut().for_each(|times| *times += 1);
            }
        }
        assert!(seen.iter().all(|times| *times == 1), "{seen:?}");
        calls
    }

    /// First result and number of results of each column, call by call.
    fn results_of(calls: &[Call]) -> Vec<Vec<(usize, usize)>> {
        let of = |call: &Call| call.results.iter().map(|results| (results.first, results.count)).collect();
        calls.iter().map(of).collect()
    }

    fn vectors(operands: usize, length: usize, count: usize, work: Work) -> Task {
        let operands = vec![rows_of(length, count); operands];
        Task::Vectors { work, operands, to: Place::all(count) }
    }

    /// Task of `kept` vectors that stay and `count` vectors that stream.
    fn dots(length: usize, kept: usize, count: usize) -> Task {
        let (stationary, stream) = (rows_of(length, kept), rows_of(length, count));
        Task::Dots { work: MAC, stationary, stream, to: Place::all(kept * count) }
    }

    /// An input buffer has 1,024 rows of 16 words, with 4 free rows per stream.
    #[test]
    fn vectors_are_shared_by_columns_as_far_as_they_fit() {
        let seed = |name: &str| preset(name).unwrap().of_revision(Revision::Text);
        // Each column computes 25 results, rounded up to whole rows.
        let calls = calls_of(&seed("3x4"), &vectors(1, 3, 100, MAC), 100);
        assert_eq!(results_of(&calls), [vec![(0, 32), (32, 32), (64, 32)], vec![(96, 4)]]);
        // The buffer holds 508 rows of each operand, which are 81 vectors of 100 words.
        let calls = calls_of(&seed("3x1"), &vectors(2, 100, 200, MAC), 200);
        assert_eq!(results_of(&calls), [[(0, 80)], [(80, 80)], [(160, 32)], [(192, 8)]]);
        // 252 rows of each column are 40 of them.
        let calls = calls_of(&seed("3x4"), &vectors(1, 100, 2000, MAC), 2000);
        assert_eq!((calls.len(), &results_of(&calls)[0]), (17, &vec![(0, 32), (32, 32), (64, 32), (96, 32)]));
        // With 400 rows of each operand, the buffer has room for only one column.
        let calls = calls_of(&seed("3x4"), &vectors(2, 6400, 3, MAC), 3);
        assert_eq!(results_of(&calls), [[(0, 1)], [(1, 1)], [(2, 1)]]);
    }

    /// On the released circuit, each of several results of more than 64 words is followed by a
    /// zero, in which it is reset.
    #[test]
    fn results_that_are_reset_alone_have_a_spare_word() {
        let fabric = preset("3x1").unwrap();
        let streams = |task: &Task, all| -> Vec<(usize, usize, usize)> {
            let calls = calls_of(&fabric, task, all);
            let of = |call: &Call| {
                let Kind::Stream(stream) = call.kernel.kind else { panic!() };
                assert!(call.loads.iter().all(|load| load.spare == stream.spare));
                (stream.words, stream.period, stream.spare)
            };
            calls.iter().map(of).collect()
        };
        assert_eq!(streams(&vectors(2, 64, 3, MAC), 3), [(192, 64, 0)]);
        assert_eq!(streams(&vectors(2, 65, 3, MAC), 3), [(198, 66, 1)]);
        assert_eq!(streams(&vectors(2, 65, 1, MAC), 1), [(65, 65, 0)], "a single result");
        assert_eq!(streams(&vectors(2, 65, 3, Work::plain(DpuMode::Mult)), 3), [(195, 65, 0)], "no sums");
        // The buffer's 508 rows are 8,128 words: eight vectors of 1,016 words, but only seven of
        // 1,017.
        let (seven, six) = ((7 * 1017, 1017, 1), (6 * 1017, 1017, 1));
        assert_eq!(streams(&vectors(2, 1016, 20, MAC), 20), [seven, seven, six]);
    }

    /// Rows of 16 vectors that stay take 4 rows per column.
    #[test]
    fn columns_keep_vectors_and_share_what_streams() {
        let fabric = preset("3x4").unwrap();
        let whole = |vectors: std::ops::Range<usize>, first, size, count: usize| -> Vec<(usize, usize)> {
            vectors.map(|vector| (vector * count + first, size)).collect()
        };
        // Streams use four columns at a time.
        let calls = calls_of(&fabric, &dots(10, 8, 100), 800);
        let expected = [(0..4, 0, 96), (4..8, 0, 96), (0..4, 96, 4), (4..8, 96, 4)];
        assert_eq!(
            results_of(&calls),
            expected.map(|(vectors, first, size)| whole(vectors, first, size, 100))
        );
        assert!(calls.iter().all(|call| call.loads.len() == 5), "one stream");
        // There are fewer vectors than columns. Each vector stays in two columns, and each of these
        // gets half of the stream.
        let calls = calls_of(&fabric, &dots(10, 2, 128), 256);
        assert_eq!(results_of(&calls), [[(0, 64), (128, 64), (64, 64), (192, 64)]]);
        assert_eq!(calls[0].loads.len(), 4);
        // The buffer's 1,004 rows hold 15 times 63 rows of 16 results, but not 16 times.
        let calls = calls_of(&fabric, &dots(63, 5, 480), 2400);
        let expected = [(0..4, 0), (4..5, 0), (0..4, 240), (4..5, 240)];
        assert_eq!(results_of(&calls), expected.map(|(vectors, first)| whole(vectors, first, 240, 480)));
        // Each of four streams has 248 rows, which are 62 vectors of 64 words.
        let calls = calls_of(&fabric, &dots(64, 2, 1000), 2000);
        assert_eq!(results_of(&calls)[0], [(0, 48), (1000, 48), (48, 48), (1048, 48)]);
    }

    /// The operands of a single result must fit the input buffer of 1,024 rows; two operands come
    /// in pairs of rows.
    #[test]
    fn what_is_longer_than_the_input_buffer_is_told() {
        let fabric = preset("3x4").unwrap().of_revision(Revision::Text);
        let too_long = |operands, words| vectors(operands, words, 2, MAC).too_long(&fabric);
        let long = |words, operands, rows| Some(TooLong { words, operands, rows, depth: 1024 });
        assert_eq!((too_long(1, 16_384), too_long(2, 8_192)), (None, None));
        assert_eq!(too_long(1, 16_385), long(16_385, 1, 1025));
        assert_eq!(too_long(2, 8_193), long(8_193, 2, 1028));
        assert_eq!(too_long(1, 32_768), long(32_768, 1, 2048));
        assert_eq!(dots(10, 2, 3).too_long(&fabric), None);
    }

    #[test]
    fn whole_rows_come_first() {
        assert_eq!(ranges(100, 32), [0..32, 32..64, 64..96, 96..100]);
        assert_eq!(ranges(40, 64), [0..32, 32..40]);
        assert_eq!(ranges(9, 64).len(), 1);
        let of = |most, period, revision| results_of_call(most, period, Work::plain(DpuMode::Mac), revision);
        let seed = Revision::Text;
        assert_eq!((of(100, 3, seed), of(100, 2000, seed), of(0, 1, seed)), (96, 16, 1));
        assert_eq!((of(100, 1024, seed), of(100, 1025, seed)), (96, 16));
        let released = Revision::Released;
        assert_eq!((of(100, 64, released), of(100, 65, released), of(100, 65, seed)), (96, 8, 96));
    }
}
