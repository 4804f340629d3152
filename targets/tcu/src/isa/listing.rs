//! [`listing()`]: a program in Tensil's `.tasm` syntax, for comparison with the output of Tensil's
//! compiler.
//!
//! This form is for output only; [`crate::isa()`] defines the syntax that can be assembled.

use std::fmt::Write as _;

use crate::config::Config;
use crate::isa::op::{DataMoveKind, Memory, Op, Path, SimdOp, SimdSub, Strided};

/// Returns the listing: one line per instruction with CR LF, `[index] thread mnemonic operands`.
///
/// Instructions that Tensil's compiler never emits follow the same pattern. Source: specification
/// 6.6.
pub fn listing(config: &Config, ops: &[Op]) -> String {
    let mut text = String::new();
    for (index, op) in ops.iter().enumerate() {
        // An `Op` has no thread, since programs belong to thread 0. Writing to a string cannot
        // fail.
        let _ = write!(text, "[{index}] 0 {}\r\n", line(config, op));
    }
    text
}

fn line(config: &Config, op: &Op) -> String {
    match *op {
        // In two-thread mode, opcode 0 means `Wait`.
        Op::NoOp if config.number_of_threads > 1 => "Wait 0".to_owned(),
        Op::Wait { thread } => format!("Wait {thread}"),
        Op::Simd { read, write, accumulate, write_address, read_address, sub } => {
            let flags: String = [(read, 'R'), (write, 'W'), (accumulate, 'A')]
                .iter()
                .filter_map(|(set, letter)| set.then_some(*letter))
                .collect();
            let mnemonic = if flags.is_empty() { "SIMD".to_owned() } else { format!("SIMD({flags})") };
            let written = if write { format!(" WAcc({write_address})") } else { String::new() };
            let reads = if read { format!(" RAcc({read_address})") } else { String::new() };
            format!("{mnemonic} {}{written}{reads}", equation(sub))
        }
        Op::LoadLut { local, table, size } => {
            format!("LoadLUT {} {table}{}", at("Local", local), suffix(size))
        }
        Op::Configure { register, value } => format!("Configure {register} {value}"),
        Op::Unassigned { header, .. } => format!("Unassigned({header:#04x})"),
        _ => vectors(op),
    }
}

/// Formats an instruction that only specifies vectors: mnemonic, places and size.
fn vectors(op: &Op) -> String {
    let flow = op.flow();
    let zeroes = flow.source.is_none() && flow.path != Path::Decoder;
    let places = flow.places().into_iter().flatten().map(|place| at(name(place.memory), place.run));
    let words =
        std::iter::once(mnemonic(op).to_owned()).chain(zeroes.then(|| "Zeroes".to_owned())).chain(places);
    words.collect::<Vec<_>>().join(" ") + &suffix(flow.size)
}

/// Returns Tensil's mnemonic.
fn mnemonic(op: &Op) -> &'static str {
    match op {
        Op::MatMul { accumulate: true, .. } => "MatMul(Acc)",
        Op::DataMove { kind: DataMoveKind::LocalToAccumulatorAccumulate, .. } => "DataMove(->, Acc)",
        Op::DataMove { kind, .. } if kind.is_to_local() => "DataMove(<-)",
        Op::DataMove { .. } => "DataMove(->)",
        _ => op.mnemonic(),
    }
}

/// Returns Tensil's name of a memory.
const fn name(memory: Memory) -> &'static str {
    match memory {
        Memory::Dram0 => "DRAM0",
        Memory::Dram1 => "DRAM1",
        Memory::Local => "Local",
        Memory::Accumulators => "Acc",
    }
}

fn at(memory: &str, strided: Strided) -> String {
    let stride = match strided.stride_log2 {
        0 => String::new(),
        stride => format!("@2^{stride}"),
    };
    format!("{memory}({}){stride}", strided.address)
}

/// Formats the size as in the word, with the one to add.
fn suffix(size: u64) -> String {
    match size.saturating_sub(1) {
        0 => String::new(),
        more => format!(" {more}(+1)"),
    }
}

fn equation(sub: SimdSub) -> String {
    let destination = register("O", sub.destination);
    let (left, right) = (register("I", sub.left), register("I", sub.right));
    match sub.op {
        SimdOp::NoOp => "NoOp".to_owned(),
        SimdOp::Zero => format!("{destination}=0"),
        SimdOp::Move => format!("{destination}={left}"),
        op if op.arity() == 1 => format!("{destination}={}({left})", op.name()),
        op => format!("{destination}={}({left},{right})", op.name()),
    }
}

fn register(none: &str, code: u8) -> String {
    if code == 0 { none.to_owned() } else { format!("R{code}") }
}
