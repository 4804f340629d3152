//! Listings other than assembly text: words, micro-operations, `memh`.

use std::fmt::Write as _;

use npukit_asm::Disassembly;

use crate::isa::micro_ops::MicroOps;
use crate::isa::op::INSTRUCTION_BYTES;

/// Returns the words of a program without an incomplete one at the end.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (whole, _) = bytes.as_chunks::<INSTRUCTION_BYTES>();
    whole.iter().map(|word| u64::from_le_bytes(*word))
}

/// Lists index, word and text of each instruction.
pub fn listing(disassembly: &Disassembly, bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, (word, line)) in words(bytes).zip(&disassembly.lines).enumerate() {
        let note = line.note.as_ref().map_or_else(String::new, |note| format!(" ; {note}"));
        // Default: writing to a String cannot fail.
        let _ = writeln!(text, "{index:6}  {word:016x}  {}{note}", line.text);
    }
    text
}

/// Lists the scheduler's registers after each word, in the format of specification 2.5.
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

/// Lists one word per line in 16 hexadecimal digits, a format that circuit simulators load.
pub fn memh(bytes: &[u8]) -> String {
    words(bytes).map(|word| format!("{word:016x}\n")).collect()
}
