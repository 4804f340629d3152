//! [`Nest`]: operands that fit the register files, read in nested loops.

use crate::config::column::Column;
use crate::lower::kernels::column::{accumulation, configure, results};
use crate::lower::kernels::writer::{Rep, Writer, addresses};
use crate::program::kernels::{Bases, Level, Nest};

impl Nest {
    /// Writes the operations of a column. In the input buffer, the second operand's rows follow the
    /// first's.
    pub(super) fn write(&self, writer: &mut Writer, column: &Column, bases: Bases) {
        let ([a, b, _], rows) = (column.files, [self.rows(0), self.rows(1)]);
        let all = rows[0] + rows[1];
        writer.rop("input_r", column.top, column.input, 0, &addresses(bases.stream, &[(all, 1, 0)]));
        writer.rop("input_w", column.top, column.input, 2, &addresses(0, &[(all, 0, 0)]));
        writer.rop("feed", column.top, column.input + 1, 3, &addresses(0, &[(all, 0, 0)]));
        writer.rop("write_a", column.mid, a, 2, &addresses(0, &[(rows[0], 1, 0)]));
        writer.rop("write_b", column.mid, b, 2, &addresses(0, &[(rows[1], 1, 0)]));
        writer.constraint("@input_w == @input_r");
        writer.constraint("@feed == @input_r + 1");
        writer.constraint("@write_a == @feed");
        writer.constraint(&format!("@write_b == @write_a + {}", rows[0]));
        let reads =
            |levels: &[Level]| -> Vec<Rep> { levels.iter().map(|&(iter, step)| (iter, step, 0)).collect() };
        writer.rop("read_a", column.mid, a, 1, &addresses(0, &reads(&self.levels[0])));
        writer.rop("read_b", column.mid, b, 1, &addresses(0, &reads(&self.levels[1])));
        writer.constraint(&format!("@read_a >= @write_b + {}", rows[1]));
        writer.constraint("@read_b == @read_a");
        configure(writer, column, self.work, 2);
        accumulation(writer, column, self.work, self.results, self.period);
        results(writer, column, bases, self.results, self.period, 0);
    }
}
