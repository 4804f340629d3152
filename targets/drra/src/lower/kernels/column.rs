//! What all kernels have in a column: routes, links, the dpu's configuration, and the way out.

use super::writer::{Writer, addresses, events};
use super::{Bases, Work};
use crate::fabric::{Direction, ROW_WORDS};
use crate::lower::column::Column;

/// The operations that configure a column once: `route_in`, `route_mid`, `route_out`, `links`, `compute`.
pub(super) fn configure(writer: &mut Writer, column: &Column, work: Work, operands: usize) {
    let south = 1 << Direction::South.code();
    let north = Direction::North.code();
    let send = |slot: u8| format!("route (sr=send, source={slot}, target={south})");
    let receive = |slots: u16| format!("route (sr=receive, source={north}, target={slots})");
    let [a, b, c] = column.files;
    let inputs = if operands == 1 { 1 << a } else { 1 << a | 1 << b };
    writer.rop("route_in", column.top, (0, 1), &send(column.input + 1));
    writer.rop("route_mid", column.mid, (0, 1), &format!("{} {}", receive(inputs), send(c)));
    writer.rop("route_out", column.bottom, (0, 1), &receive(1 << (column.output + 1)));
    let link = |source: u8, target: u8| format!("swb (channel={target}, source={source}, target={target}) ");
    let second = if operands == 1 { String::new() } else { link(b, column.dpu + 1) };
    writer.rop(
        "links",
        column.mid,
        (0, 0),
        &format!("{}{second}{}", link(a, column.dpu), link(column.dpu, c)),
    );
    let (mode, immediate) = (work.mode.name(), work.immediate as u16);
    writer.rop("compute", column.mid, (column.dpu, 0), &format!("dpu (mode={mode}, immediate={immediate})"));
    writer.constraint("@route_in <= @feed");
    writer.constraint("@route_mid <= @write_a");
    writer.constraint("@route_out <= @store");
    writer.constraint("@links <= @read_a");
    writer.constraint("@compute <= @read_a");
}

/// The way out of `results`, one every `period` cycles after `read_a` begins: `keep` them as words, `read` them as
/// rows, `store` those in the memory below, and out through `output_r` and `output_w`.
pub(super) fn results(writer: &mut Writer, column: &Column, bases: Bases, results: usize, period: usize) {
    let (first, rows) = (results.min(ROW_WORDS), results.div_ceil(ROW_WORDS));
    let (between, c) = (period - 1, column.files[2]);
    let row = ROW_WORDS * period - 1;
    writer.rop("keep", column.mid, (c, 0), &addresses(0, &[(first, 1, between), (rows, 0, between)]));
    writer.rop("read", column.mid, (c, 3), &addresses(0, &[(rows, 0, row)]));
    writer.rop("store", column.bottom, (column.output + 1, 2), &addresses(0, &[(rows, 0, row)]));
    writer.rop("output_r", column.bottom, (column.output, 3), &addresses(0, &[(rows, 0, row)]));
    writer.rop("output_w", column.bottom, (column.output, 1), &addresses(bases.output, &[(rows, 1, row)]));
    // The sum of a cycle is there in the next. A row is complete after 16 words, and read before the next word
    // takes the place of its first: in that very cycle at the latest.
    writer.constraint(&format!("@keep == @read_a + {period}"));
    writer.constraint(&format!("@read == @read_a + {}", first * period + 1));
    writer.constraint("@store == @read");
    writer.constraint("@output_r == @store + 1");
    writer.constraint("@output_w == @output_r");
}

/// Resets and counts, where the mode asks for them.
pub(super) fn accumulation(writer: &mut Writer, column: &Column, work: Work, results: usize, period: usize) {
    if work.accumulates() {
        writer.rop("reset", column.mid, (column.dpu, 1), &events(&[(results, period - 1)]));
        writer.constraint("@reset == @read_a");
    }
    if work.counts() {
        writer.rop("count", column.mid, (column.dpu, 0), &events(&[(results * period, 0)]));
        writer.constraint("@count == @read_a");
    }
}
