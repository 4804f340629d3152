//! Kernels as PASM programs, generated for a size: [`Kernel::pasm`].

mod column;
mod nest;
mod stream;
mod writer;

use crate::config::column::Column;
use crate::program::kernels::{Kernel, Kind};

impl Kernel {
    /// Returns the kernel as a PASM program for `columns.len()` columns.
    pub fn pasm(&self, columns: &[Column]) -> String {
        let mut writer = writer::Writer::new(&self.kind.name());
        for (number, (column, bases)) in columns.iter().zip(&self.bases).enumerate() {
            writer.column(number);
            match &self.kind {
                Kind::Stream(stream) => stream.write(&mut writer, column, *bases),
                Kind::Nest(nest) => nest.write(&mut writer, column, *bases),
            }
        }
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::column::columns;
    use crate::config::preset;
    use crate::config::revision::Revision;
    use crate::isa::op::DpuMode;
    use crate::program::kernels::{Bases, Operands, Stream, Work};

    /// Body of each operation, by name.
    fn operations(revision: Revision, kind: Kind) -> std::collections::BTreeMap<String, String> {
        let columns = columns(&preset("3x1").unwrap().of_revision(revision)).unwrap();
        let pasm = Kernel { kind, bases: vec![Bases::default()] }.pasm(&columns);
        let words = pasm.split_whitespace().collect::<Vec<_>>().join(" ");
        let of = |text: &str| {
            let (name, rest) = text.split_once("_0>").unwrap();
            let (_, body) = rest.split_once("{ ").unwrap();
            (name.to_owned(), body.split_once(" }").unwrap().0.to_owned())
        };
        words.split("rop<").skip(1).map(of).collect()
    }

    fn stream(mode: DpuMode, operands: Operands, results: usize, period: usize) -> Kind {
        Kind::Stream(Stream { work: Work::plain(mode), operands, words: results * period, period, spare: 0 })
    }

    /// Sums are reset, and extremes also counted; work that depends on no earlier word is neither.
    /// Levels of the circuit's dpu cover 64 cycles; for longer periods, each of several results has
    /// its own reset.
    #[test]
    fn what_depends_on_the_words_before_is_reset() {
        let of = |mode, results, period| -> Vec<String> {
            let all = operations(Revision::Released, stream(mode, Operands::Pair, results, period));
            all.into_keys().filter(|name| name.starts_with("reset") || name == "count").collect()
        };
        assert_eq!(of(DpuMode::Mult, 3, 1), [""; 0]);
        assert_eq!(of(DpuMode::Mult, 3, 65), [""; 0]);
        assert_eq!(of(DpuMode::Mac, 3, 4), ["reset"]);
        assert_eq!(of(DpuMode::MacInter, 3, 64), ["reset"]);
        assert_eq!(of(DpuMode::Mac, 3, 65), ["reset0", "reset1", "reset2"]);
        assert_eq!(of(DpuMode::Mac, 1, 65), ["reset"], "the first begins with the stream");
        assert_eq!(of(DpuMode::MaxMinAcc, 3, 4), ["count", "reset"]);
    }

    /// Expected levels: one row every 16 cycles, with the two operands' rows
    /// in adjacent cycles.
    #[test]
    fn levels_of_a_stream_of_pairs() {
        let all = operations(Revision::Text, stream(DpuMode::Mult, Operands::Pair, 160, 1));
        for (name, body) in [
            ("input_r", "dsu (init_addr=0) rep (iter=2, step=1, delay=0) rep (iter=10, step=2, delay=14)"),
            ("write_a", "dsu (init_addr=0) rep (iter=2, step=1, delay=15) rep (iter=5, step=0, delay=15)"),
            ("write_b", "dsu (init_addr=0) rep (iter=10, step=0, delay=15)"),
            ("read_a", "dsu (init_addr=0) rep (iter=32, step=1, delay=0) rep (iter=5, step=0, delay=0)"),
            ("read_b", "dsu (init_addr=0) rep (iter=16, step=1, delay=0) rep (iter=10, step=0, delay=0)"),
        ] {
            assert_eq!(all[name], body, "{name}");
        }
    }

    /// A single result is kept once, regardless of its cycle. Levels that repeat nothing are
    /// omitted.
    #[test]
    fn levels_of_a_single_result() {
        let all = operations(Revision::Released, stream(DpuMode::Mac, Operands::Pair, 1, 150));
        for name in ["keep", "read", "store", "output_r", "output_w"] {
            assert_eq!(all[name], "dsu (init_addr=0) rep (iter=1, step=0, delay=0)", "{name}");
        }
        let all = operations(Revision::Released, stream(DpuMode::Mac, Operands::Pair, 2, 50));
        assert_eq!(all["keep"], "dsu (init_addr=0) rep (iter=2, step=1, delay=49)");
    }
}
