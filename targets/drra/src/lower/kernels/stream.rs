//! [`Stream`]: a dpu that works in every cycle, while the rows of the next words arrive.
//!
//! A row has 16 words and occupies the dpu for 16 cycles. It passes from the input buffer through
//! one row of the memory above and one link. It arrives in the cycle in which the last word of the
//! previous row is read, as a read returns the content from before the cycle. If two operands
//! stream, the first arrives a cycle earlier and therefore alternates between two rows.

use crate::config::column::Column;
use crate::config::component::Component;
use crate::config::fabric::ROW_WORDS;
use crate::isa::pasm::epoch::Rep;
use crate::lower::kernels::column::{accumulation, configure, results};
use crate::lower::kernels::writer::{Writer, addresses};
use crate::program::kernels::{Bases, Operands, Stream};

impl Stream {
    /// Writes the operations of a column.
    pub(super) fn write(&self, writer: &mut Writer, column: &Column, bases: Bases) {
        let operands = if self.operands == Operands::One { 1 } else { 2 };
        self.stay(writer, column, bases);
        self.arrive(writer, column, bases);
        self.read(writer, column);
        configure(writer, column, self.work, operands);
        accumulation(writer, column, self.work, self.results(), self.period);
        results(writer, column, bases, self.results(), self.period, self.spare);
    }

    /// Writes the operations of the stationary rows, which come first: `input_ra`, `input_wa`,
    /// `feed_a`, `write_a`.
    fn stay(&self, writer: &mut Writer, column: &Column, bases: Bases) {
        if self.operands != Operands::Stationary {
            return;
        }
        let (rows, a) = (self.stationary_rows(), column.files[0]);
        writer.rop("input_ra", column.top, column.input, 0, &addresses(bases.stationary, &[(rows, 1, 0)]));
        writer.rop("input_wa", column.top, column.input, 2, &addresses(0, &[(rows, 0, 0)]));
        writer.rop("feed_a", column.top, column.input + 1, 3, &addresses(0, &[(rows, 0, 0)]));
        writer.rop("write_a", column.mid, a, 2, &addresses(0, &[(rows, 1, 0)]));
        writer.constraint("@input_wa == @input_ra");
        writer.constraint("@feed_a == @input_ra + 1");
        writer.constraint("@write_a == @feed_a");
        writer.constraint("@route_in <= @feed_a");
        writer.constraint("@input_ra < @input_r");
    }

    /// Writes the operations of the streamed rows: `input_r`, `input_w`, `feed`, `write_a`,
    /// `write_b`.
    fn arrive(&self, writer: &mut Writer, column: &Column, bases: Bases) {
        let ([a, b, _], rows) = (column.files, self.rows(column.revision));
        let every = |step: i64| match self.operands {
            Operands::Pair => vec![(2, step, 0), (rows, 2 * step, ROW_WORDS - 2)],
            _ => vec![(rows, step, ROW_WORDS - 1)],
        };
        writer.rop("input_r", column.top, column.input, 0, &addresses(bases.stream, &every(1)));
        writer.rop("input_w", column.top, column.input, 2, &addresses(0, &every(0)));
        writer.rop("feed", column.top, column.input + 1, 3, &addresses(0, &every(0)));
        writer.constraint("@input_w == @input_r");
        writer.constraint("@feed == @input_r + 1");
        let single = addresses(0, &[(rows, 0, ROW_WORDS - 1)]);
        match self.operands {
            Operands::One => {
                writer.rop("write_a", column.mid, a, 2, &single);
                writer.constraint("@write_a == @feed");
                writer.constraint("@read_a == @write_a + 1");
            }
            Operands::Stationary => {
                writer.rop("write_b", column.mid, b, 2, &single);
                writer.constraint("@write_b == @feed");
                writer.constraint("@read_a == @write_b + 1");
            }
            Operands::Pair => {
                let turns = addresses(0, &[(rows.min(2), 1, ROW_WORDS - 1), (rows / 2, 0, ROW_WORDS - 1)]);
                writer.rop("write_a", column.mid, a, 2, &turns);
                writer.rop("write_b", column.mid, b, 2, &single);
                writer.constraint("@write_a == @feed");
                writer.constraint("@write_b == @feed + 1");
                writer.constraint("@read_a == @write_b + 1");
            }
        }
    }

    /// Writes the reads of words by the dpu: `read_a`, `read_b`.
    fn read(&self, writer: &mut Writer, column: &Column) {
        let ([a, b, _], rows) = (column.files, self.rows(column.revision));
        let single = addresses(0, &[(ROW_WORDS, 1, 0), (rows, 0, 0)]);
        let first = match self.operands {
            Operands::One => single.clone(),
            Operands::Pair => addresses(0, &[(ROW_WORDS * rows.min(2), 1, 0), (rows / 2, 0, 0)]),
            Operands::Stationary => {
                let results = Rep::countable(self.results(), 0, Component::Rf, column.revision, 2);
                addresses(0, &[(self.period, 1, 0), (results, 0, 0)])
            }
        };
        writer.rop("read_a", column.mid, a, 1, &first);
        if self.operands != Operands::One {
            writer.rop("read_b", column.mid, b, 1, &single);
            writer.constraint("@read_b == @read_a");
        }
    }
}
