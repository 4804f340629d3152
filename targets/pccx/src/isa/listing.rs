//! Listings beside the assembler's own text: words, micro-operations, `memh`.

use std::fmt::Write as _;

use npukit_asm::Disassembly;

use crate::isa::op::INSTRUCTION_BYTES;
use crate::isa::uop::MicroOps;

/// The words of a program; a partial one at the end is left out.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (whole, _) = bytes.as_chunks::<INSTRUCTION_BYTES>();
    whole.iter().map(|word| u64::from_le_bytes(*word))
}

/// Index, word and text of every instruction.
pub fn listing(disassembly: &Disassembly, bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, (word, line)) in words(bytes).zip(&disassembly.lines).enumerate() {
        let note = line.note.as_ref().map_or_else(String::new, |note| format!(" ; {note}"));
        // Default: writing to a String cannot fail.
        let _ = writeln!(text, "{index:6}  {word:016x}  {}{note}", line.text);
    }
    text
}

/// The scheduler's registers after every word, as specification 2.5 has them.
pub fn micro_operations(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut uops = MicroOps::default();
    for (index, word) in words(bytes).enumerate() {
        let valid =
            uops.step(word).map_or_else(|| "none".to_owned(), |valid| format!("{valid:?}").to_lowercase());
        let MicroOps { gemm, gemv, load, store, memset, cvo, rd_start } = uops;
        let _ = writeln!(
            text,
            "{index:6}  {word:016x}  {valid:6}  gemm {gemm:05x} gemv {gemv:05x} load {load:013x} store {store:013x} \
             memset {memset:014x} cvo {cvo:015x} rd_start {}",
            u8::from(rd_start)
        );
    }
    text
}

/// A word a line, 16 hexadecimal digits each: what simulators of circuits load.
pub fn memh(bytes: &[u8]) -> String {
    words(bytes).map(|word| format!("{word:016x}\n")).collect()
}
