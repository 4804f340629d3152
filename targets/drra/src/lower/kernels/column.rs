//! Operations that all kernels have in a column: routes, links, the dpu's configuration, and output
//! of results.

use crate::config::column::Column;
use crate::config::component::Component;
use crate::config::fabric::{Direction, ROW_WORDS};
use crate::isa::pasm::epoch::Rep;
use crate::lower::kernels::writer;
use crate::lower::kernels::writer::{Writer, addresses, events};
use crate::program::kernels::{Bases, Work};

/// Levels that resets and counts may use.
const MAX_LEVELS: u32 = 3;

/// Writes the operations that configure a column once: `route_in`, `route_mid`, `route_out`,
/// `links`, `compute`.
pub(super) fn configure(writer: &mut Writer, column: &Column, work: Work, operands: usize) {
    let south = 1 << Direction::South.code();
    let north = Direction::North.code();
    let send = |slot: u8| format!("route (sr=send, source={slot}, target={south})");
    let receive = |slots: u16| format!("route (sr=receive, source={north}, target={slots})");
    let [a, b, c] = column.files;
    let inputs = if operands == 1 { 1 << a } else { 1 << a | 1 << b };
    writer.rop("route_in", column.top, 0, 1, &send(column.input + 1));
    writer.rop("route_mid", column.mid, 0, 1, &format!("{} {}", receive(inputs), send(c)));
    writer.rop("route_out", column.bottom, 0, 1, &receive(1 << (column.output + 1)));
    let link = |source: u8, target: u8| format!("swb (channel={target}, source={source}, target={target}) ");
    let second = if operands == 1 { String::new() } else { link(b, column.dpu + 1) };
    writer.rop("links", column.mid, 0, 0, &format!("{}{second}{}", link(a, column.dpu), link(column.dpu, c)));
    let (mode, immediate) = (work.mode.name(), work.immediate as u16);
    writer.rop("compute", column.mid, column.dpu, 0, &format!("dpu (mode={mode}, immediate={immediate})"));
    writer.constraint("@route_in <= @feed");
    writer.constraint("@route_mid <= @write_a");
    writer.constraint("@route_out <= @store");
    writer.constraint("@links <= @read_a");
    writer.constraint("@compute <= @read_a");
}

/// Writes the operations that output `results`, one every `period` cycles after `read_a` starts.
/// The last `spare` cycles of a period do not belong to the result. `keep` stores words, `read`
/// reads rows, `store` writes them to the memory below, and `output_r` and `output_w` send them
/// out.
pub(super) fn results(
    writer: &mut Writer,
    column: &Column,
    bases: Bases,
    results: usize,
    period: usize,
    spare: usize,
) {
    let (first, rows) = (results.min(ROW_WORDS), results.div_ceil(ROW_WORDS));
    let c = column.files[2];
    let words = Spaced::new(column, if results > 1 { period } else { 1 });
    let row = Spaced::new(column, if rows > 1 { ROW_WORDS * period } else { 1 });
    let keep = words.levels(&[(first, 1), (rows, 0)]);
    writer.rop("keep", column.mid, c, 0, &addresses(0, &keep));
    writer.rop("read", column.mid, c, 3, &addresses(0, &row.levels(&[(rows, 0)])));
    writer.rop("store", column.bottom, column.output + 1, 2, &addresses(0, &row.levels(&[(rows, 0)])));
    writer.rop("output_r", column.bottom, column.output, 3, &addresses(0, &row.levels(&[(rows, 0)])));
    let output = addresses(bases.output, &row.levels(&[(rows, 1)]));
    writer.rop("output_w", column.bottom, column.output, 1, &output);
    // The sum of a cycle is available in the next cycle. A row is complete after 16 words. It must
    // be read before its first word is replaced, at the latest in the same cycle.
    writer.constraint(&format!("@keep + {} == @read_a + {}", words.lead, period - spare));
    writer.constraint(&format!("@read + {} == @read_a + {}", row.lead, first * period - spare + 1));
    writer.constraint("@store == @read");
    writer.constraint("@output_r == @store + 1");
    writer.constraint("@output_w == @output_r");
}

/// Addresses at a distance of `period` cycles. If the delay of a level is too short for that, each
/// address is repeated, and its last repetition takes effect.
struct Spaced {
    /// Number of repetitions of each address, and the delay between them.
    repeats: (usize, usize),
    /// Delay from the last repetition to the next address.
    delay: usize,
    /// Cycles from the first repetition to the last.
    lead: usize,
}

impl Spaced {
    /// Addresses of a register file or memory, every `period` cycles.
    fn new(column: &Column, period: usize) -> Self {
        let most = longest_delay(column, Component::Rf);
        let between = period - 1;
        let more = between.saturating_sub(most).div_ceil(most + 1);
        let stride = between.saturating_sub(most).div_ceil(more.max(1));
        let lead = more * stride;
        Self { repeats: (more + 1, stride.saturating_sub(1)), delay: between - lead, lead }
    }

    /// Returns the levels of such addresses.
    fn levels(&self, levels: &[(usize, i64)]) -> Vec<writer::Rep> {
        let own = levels.iter().map(|&(iter, step)| (iter, step, self.delay));
        std::iter::once((self.repeats.0, 0, self.repeats.1)).chain(own).collect()
    }
}

/// Longest delay of a level of a component.
fn longest_delay(column: &Column, component: Component) -> usize {
    let [.., (_, _, longest)] = Rep::limits(column.revision, component);
    usize::try_from(longest).expect("a delay is not negative")
}

/// Writes resets and counts if the mode needs them. Events after the last result have no effect.
pub(super) fn accumulation(writer: &mut Writer, column: &Column, work: Work, results: usize, period: usize) {
    if work.accumulates() && results > 1 && period > longest_delay(column, Component::Dpu) + 1 {
        // No level is long enough to reach the next result. The activation also resets, in a cycle
        // that does not matter.
        for number in 0..results {
            writer.rop(&format!("reset{number}"), column.mid, column.dpu, 1, "evt");
            writer.constraint(&format!("@reset{number} == @read_a + {}", number * period));
        }
    } else if work.accumulates() {
        let times = Rep::countable(results, 0, Component::Dpu, column.revision, MAX_LEVELS);
        writer.rop("reset", column.mid, column.dpu, 1, &events(&[(times, period - 1)]));
        writer.constraint("@reset == @read_a");
    }
    if work.counts() {
        let times = Rep::countable(results * period, 0, Component::Dpu, column.revision, MAX_LEVELS);
        writer.rop("count", column.mid, column.dpu, 0, &events(&[(times, 0)]));
        writer.constraint("@count == @read_a");
    }
}
