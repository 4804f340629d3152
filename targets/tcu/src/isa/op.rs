//! Typed instructions: [`Op`]; the rows that define their words, names and text: [`Op::rows`];
//! their reads and writes: [`Op::flow`].
//!
//! Sizes are in vectors (the field in the word holds one less), and so are addresses. Strides are
//! exponents of two. Source: specification 3.1 to 3.3, 3.6 and 9.8.

mod flow;
mod format;
mod memory;
mod operands;
mod register;

use npukit_base::Word;
use npukit_isa::coding::{Choice, Flag, Number};
use npukit_isa::{Form, Radix, When, instructions};

pub use flow::{Flow, Path, Place};
pub use format::Format;
pub use memory::Memory;
pub use operands::{DataMoveKind, SimdOp, SimdSub, Strided};
pub use register::Register;

use crate::config::Reading;
use format::{Operations, RegisterNumbers, Registers};

/// One instruction of the TCU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Does nothing.
    NoOp,
    /// Two-thread mode only: waits for thread `thread`.
    Wait {
        /// Thread to wait for.
        thread: u64,
    },
    /// Multiplies `size` vectors of local memory (or zeros) by the loaded weights, into the
    /// accumulators.
    MatMul {
        /// Whether to add to the accumulators instead of overwriting.
        accumulate: bool,
        /// Whether the input is zeros instead of local memory.
        zeroes: bool,
        /// Input in local memory.
        local: Strided,
        /// Output in the accumulators.
        accumulator: Strided,
        /// Number of vectors.
        size: u64,
    },
    /// Copies `size` vectors.
    DataMove {
        /// Source and destination memory.
        kind: DataMoveKind,
        /// Address in local memory.
        local: Strided,
        /// Address in the accumulators or a DRAM bank.
        other: Strided,
        /// Number of vectors.
        size: u64,
    },
    /// Shifts `size` rows into the array, highest address first.
    LoadWeights {
        /// Whether to shift in zeros instead of local memory.
        zeroes: bool,
        /// Rows in local memory.
        local: Strided,
        /// Number of rows.
        size: u64,
    },
    /// Passes one vector through the ALUs.
    Simd {
        /// Whether to read the input from the accumulators at `read_address`.
        read: bool,
        /// Whether to write the output to the accumulators at `write_address`.
        write: bool,
        /// Whether to add to the vector at `write_address` instead of overwriting it.
        accumulate: bool,
        /// Accumulator address of the output.
        write_address: u64,
        /// Accumulator address of the input.
        read_address: u64,
        /// Operation with its registers.
        sub: SimdSub,
    },
    /// Extension: loads lookup table `table` from local memory.
    LoadLut {
        /// Entries of the table in local memory.
        local: Strided,
        /// Table number: 0 is the index (the keys), `k` the values of table `k`.
        table: u64,
        /// Number of vectors.
        size: u64,
    },
    /// Writes a configuration register.
    Configure {
        /// Number of the configuration register.
        register: u8,
        /// Value: 28 bits in released hardware, 32 by the instruction set specification.
        value: u32,
    },
    /// An opcode, DataMove kind or SIMD operation without meaning: hardware consumes it in one
    /// cycle without effect. Only lenient decoding produces it; it encodes to its original word.
    Unassigned {
        /// Opcode and flags; in two-thread mode without the thread's bit.
        header: u8,
        /// The bits below the header.
        operands: Word,
    },
}

instructions! {
    for Op on format: &Format, words of format.instruction_bytes, opcode in format.opcode;

    0, if !format.has_threads() => "NoOp" { Self::NoOp } "Does nothing. It has no flags and no operands." {
    }
    .with_form("noop", Vec::new());

    0, if format.has_threads() => "Wait" { Self::Wait { thread: waits_for } } "Waits for the other thread; without effect here, since threads run in program order." {
        waits_for: format.wait => format.threads(), "thread to wait for";
    }
    .with_form(&format.syntax("wait", " {waits_for}"), Vec::new());

    1 => "MatMul" {
        Self::MatMul {
            accumulate,
            zeroes,
            local: Strided { address: local_address, stride_log2: local_stride },
            accumulator: Strided { address: accumulator_address, stride_log2: accumulator_stride },
            size,
        }
    } "Multiplies vectors by the loaded weights, into the accumulators." {
        local_address: format.address0 => below(format.config.local_depth), "input";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        accumulator_address: format.address1 => below(format.config.accumulator_depth), "output";
        accumulator_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.accumulator_depth), "vectors";
        accumulate: format.flag(0) => Flag(".acc"), "adds to the output instead of overwriting it";
        zeroes: format.flag(1) => Flag(".zeroes"), "the input is zeros, not local memory";
    }
    .with_form(
        &format.syntax("matmul", &format!("{{accumulate}}{{zeroes}} {ACCUMULATOR}, {{size}}")),
        without_local(),
    )
    .with_form(
        &format.syntax("matmul", &format!("{{accumulate}}{{zeroes}} {LOCAL}, {ACCUMULATOR}, {{size}}")),
        Vec::new(),
    );

    2, 0x0 in format.flags => "DataMove DRAM0->Local" {
        Self::DataMove {
            kind: DataMoveKind::Dram0ToLocal,
            local: Strided { address: local_address, stride_log2: local_stride },
            other: Strided { address: other_address, stride_log2: other_stride },
            size,
        }
    } "Copies vectors." {
        local_address: format.address0 => below(format.config.local_depth), "in local memory";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        other_address: format.address1 => below(format.config.dram0_depth), "in dram0";
        other_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.dram0_depth), "vectors";
    }
    .with_form(&to_local(format, "dram0"), Vec::new());

    2, 0x1 in format.flags => "DataMove Local->DRAM0" {
        Self::DataMove {
            kind: DataMoveKind::LocalToDram0,
            local: Strided { address: local_address, stride_log2: local_stride },
            other: Strided { address: other_address, stride_log2: other_stride },
            size,
        }
    } "Copies vectors." {
        local_address: format.address0 => below(format.config.local_depth), "in local memory";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        other_address: format.address1 => below(format.config.dram0_depth), "in dram0";
        other_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.dram0_depth), "vectors";
    }
    .with_form(&from_local(format, "", "dram0"), Vec::new());

    2, 0x2 in format.flags => "DataMove DRAM1->Local" {
        Self::DataMove {
            kind: DataMoveKind::Dram1ToLocal,
            local: Strided { address: local_address, stride_log2: local_stride },
            other: Strided { address: other_address, stride_log2: other_stride },
            size,
        }
    } "Copies vectors." {
        local_address: format.address0 => below(format.config.local_depth), "in local memory";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        other_address: format.address1 => below(format.config.dram1_depth), "in dram1";
        other_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.dram1_depth), "vectors";
    }
    .with_form(&to_local(format, "dram1"), Vec::new());

    2, 0x3 in format.flags => "DataMove Local->DRAM1" {
        Self::DataMove {
            kind: DataMoveKind::LocalToDram1,
            local: Strided { address: local_address, stride_log2: local_stride },
            other: Strided { address: other_address, stride_log2: other_stride },
            size,
        }
    } "Copies vectors." {
        local_address: format.address0 => below(format.config.local_depth), "in local memory";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        other_address: format.address1 => below(format.config.dram1_depth), "in dram1";
        other_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.dram1_depth), "vectors";
    }
    .with_form(&from_local(format, "", "dram1"), Vec::new());

    2, 0xC in format.flags => "DataMove Acc->Local" {
        Self::DataMove {
            kind: DataMoveKind::AccumulatorToLocal,
            local: Strided { address: local_address, stride_log2: local_stride },
            other: Strided { address: other_address, stride_log2: other_stride },
            size,
        }
    } "Copies vectors." {
        local_address: format.address0 => below(format.config.local_depth), "in local memory";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        other_address: format.address1 => below(format.config.accumulator_depth), "in acc";
        other_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.accumulator_depth), "vectors";
    }
    .with_form(&to_local(format, "acc"), Vec::new());

    2, 0xD in format.flags => "DataMove Local->Acc" {
        Self::DataMove {
            kind: DataMoveKind::LocalToAccumulator,
            local: Strided { address: local_address, stride_log2: local_stride },
            other: Strided { address: other_address, stride_log2: other_stride },
            size,
        }
    } "Copies vectors." {
        local_address: format.address0 => below(format.config.local_depth), "in local memory";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        other_address: format.address1 => below(format.config.accumulator_depth), "in acc";
        other_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.accumulator_depth), "vectors";
    }
    .with_form(&from_local(format, "", "acc"), Vec::new());

    2, 0xF in format.flags => "DataMove Local->Acc accumulate" {
        Self::DataMove {
            kind: DataMoveKind::LocalToAccumulatorAccumulate,
            local: Strided { address: local_address, stride_log2: local_stride },
            other: Strided { address: other_address, stride_log2: other_stride },
            size,
        }
    } "Adds vectors, with saturation." {
        local_address: format.address0 => below(format.config.local_depth), "in local memory";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        other_address: format.address1 => below(format.config.accumulator_depth), "in acc";
        other_stride: format.stride1 => format.strides1(), STRIDE;
        size: format.size2 => format.sizes(format.config.accumulator_depth), "vectors";
    }
    .with_form(&from_local(format, ".acc", "acc"), Vec::new());

    3 => "LoadWeights" {
        Self::LoadWeights { zeroes, local: Strided { address: local_address, stride_log2: local_stride }, size }
    } "Shifts rows into the array, the highest address first." {
        local_address: format.address0 => below(format.config.local_depth), "rows: the bias, then the weights of input lanes 0, 1, ...";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        size: format.size1 => Number::size(format.config.local_depth), "rows";
        zeroes: format.flag(0) => Flag(".zeroes"), "shifts in zeros, not local memory";
    }
    .with_form(&format.syntax("loadweights", "{zeroes} {size}"), without_local())
    .with_form(&format.syntax("loadweights", &format!("{{zeroes}} {LOCAL}, {{size}}")), Vec::new());

    4 => "SIMD" {
        Self::Simd { read, write, accumulate, write_address, read_address, sub: SimdSub { op, left, right, destination } }
    } "Takes one vector through the ALUs: destination = op(left, right)." {
        write_address: format.write_address => below(format.config.accumulator_depth), "where the output is written; ignored without `write`";
        read_address: format.read_address => below(format.config.accumulator_depth), "where the input is read; ignored without `read`";
        destination: format.destination => Registers { none: "out", format }, "`out`, or a register in addition to it";
        right: format.right => Registers { none: "in", format }, right_meaning(format);
        left: format.left => Registers { none: "in", format }, "first source; ignored by `noop` and `zero`";
        op: format.simd_op => Operations { format }, "operation";
        read: format.flag(0) => Choice(&["noread", "read"]), "reads the input from the accumulators";
        write: format.flag(1) => Choice(&["nowrite", "write"]), "writes the output to the accumulators";
        accumulate: format.flag(2) => Flag(".acc"), "adds instead of overwriting; ignored without `write`";
    }
    .with_meanings("op", &SimdOp::meanings())
    .with_doc(&simd_doc(format))
    .with_forms(read_out(format))
    .with_form(&simd(format, ""), vec![of_arity(0), zero("left"), zero("right")])
    .with_form(&simd(format, "({left})"), vec![of_arity(1), When::Same("right".to_owned(), "left".to_owned())])
    .with_form(&simd(format, "({left}, {right})"), Vec::new());

    5, if format.config.has_lookup() => "LoadLUT" {
        Self::LoadLut { local: Strided { address: local_address, stride_log2: local_stride }, table, size }
    } "Loads a lookup table from local memory." {
        local_address: format.address0 => below(format.config.local_depth), "entries";
        local_stride: format.stride0 => format.strides0(), STRIDE;
        table: format.table => decimal(format.config.lookup_tables as u64), "0 is the index, k the values of table k";
        size: format.lut_size => format.lut_sizes(), "vectors";
    }
    .with_forms(loadlut(format));

    0xF, if !format.has_threads() => "Configure" { Self::Configure { register, value } } "Writes a configuration register." {
        register: format.register => RegisterNumbers, "register; numbers without a name are ignored";
        value: format.value => decimal(format.value.max()), value_meaning(format);
    }
    .with_form("configure {register}, {value}", Vec::new());

    outside {
        Self::Unassigned { header, operands } => "Unassigned", format.unassigned(header, operands);
    }
}

impl Op {
    /// Returns whether it moves vectors from a DRAM bank to local memory.
    pub const fn is_read_of_dram(&self) -> bool {
        matches!(self, Self::DataMove { kind: DataMoveKind::Dram0ToLocal | DataMoveKind::Dram1ToLocal, .. })
    }

    /// Returns the addresses that the instruction reads and writes, and the path of its vectors.
    // Most callers use only part of the result. Inlining lets the compiler remove the rest.
    #[inline(always)]
    pub fn flow(&self) -> Flow {
        match *self {
            Self::NoOp | Self::Wait { .. } | Self::Configure { .. } | Self::Unassigned { .. } => Flow::NONE,
            Self::MatMul { accumulate, zeroes, local, accumulator, size } => Flow {
                path: Path::Array,
                size,
                source: (!zeroes).then(|| Memory::Local.at(local)),
                target: Some(Memory::Accumulators.at(accumulator)),
                adds: accumulate,
            },
            Self::DataMove { kind, local, other, size } => {
                let (local, other) = (Memory::Local.at(local), kind.memory().at(other));
                let (source, target) = if kind.is_to_local() { (other, local) } else { (local, other) };
                let adds = kind == DataMoveKind::LocalToAccumulatorAccumulate;
                Flow { path: Path::Copy, size, source: Some(source), target: Some(target), adds }
            }
            Self::LoadWeights { zeroes, local, size } => {
                let source = (!zeroes).then(|| Memory::Local.at(local));
                Flow { path: Path::Weights, size, source, ..Flow::NONE }
            }
            Self::Simd { read, write, accumulate, write_address, read_address, sub } => {
                let at = |address| Memory::Accumulators.at(Strided { address, stride_log2: 0 });
                let (source, target) = (read.then(|| at(read_address)), write.then(|| at(write_address)));
                Flow { path: Path::Alus(sub), size: 1, source, target, adds: accumulate }
            }
            Self::LoadLut { local, table, size } => {
                Flow { path: Path::Tables(table), size, source: Some(Memory::Local.at(local)), ..Flow::NONE }
            }
        }
    }
}

/// Returns the documentation of the right source of a SIMD.
const fn right_meaning(format: &Format) -> &'static str {
    match format.config.reading {
        Reading::Released => {
            "second source; for operations with one source the hardware waits for it and ignores its value"
        }
        Reading::Seed => "second source; ignored by operations with one source or none",
    }
}

/// Returns the documentation of the value of a Configure.
const fn value_meaning(format: &Format) -> &'static str {
    match format.config.reading {
        Reading::Released => {
            "value; DRAM offsets are in units of 64 KiB and use 16 bits; registers ignore the bits that they do not have"
        }
        Reading::Seed => {
            "value, starting in operand 1; DRAM offsets are in units of 64 KiB; registers ignore the bits that they do not have"
        }
    }
}

/// Returns the documentation of a SIMD, apart from its fields.
fn simd_doc(format: &Format) -> String {
    let flags = match format.config.reading {
        Reading::Released => {
            "A source `in` needs a `read`, and a `read` needs a source `in`: otherwise the hardware hangs, also for the ignored \
             right source of a unary operation. `move(r1)` sets both sources to r1. `noop` does nothing; with a flag the \
             hardware hangs. The accumulators run their commands in order: a DataMove from them needs no wait after a \
             `write`."
        }
        Reading::Seed => {
            "`read` takes a vector from the accumulators to the ALUs, whatever the sources; a source `in` needs it. `noop` \
             with `write` puts the last row that the array has computed into the accumulators, with `read` a vector of theirs \
             into local memory; it ignores sources and destination. The specification requires two instructions between a `write` and \
             a DataMove from the accumulators; the released circuits were measured to need none."
        }
    };
    format!(
        "{flags} `not`, `and` and `or` use truth values: everything except 0 is true, and true is 1. In fixed point \
         `abs` of the smallest number is that number: it wraps, whereas sums, differences and products saturate."
    )
}

/// Returns the text forms of a LoadLUT. By the instruction set specification it has no size.
fn loadlut(format: &Format) -> Vec<Form> {
    let table = format.syntax("loadlut", &format!(" {LOCAL}, table {{table}}"));
    let is_default = When::Is("size".to_owned(), format.lut_vectors());
    let pages = Form { syntax: table.clone(), when: vec![is_default] };
    let own = Form { syntax: format!("{table}, {{size}}"), when: Vec::new() };
    if format.config.lookup_vectors().is_some() { vec![pages, own] } else { vec![own, pages] }
}

/// Returns the form of a SIMD NoOp that reads accumulators out to local memory, which only the
/// specification defines.
fn read_out(format: &Format) -> Vec<Form> {
    let is_there = format.config.reading == Reading::Seed;
    let syntax = format.syntax("simd", " local[{write_address}] = noop, read acc[{read_address}]");
    let zeros = ["op", "left", "right", "destination", "write", "accumulate"].map(zero);
    let when = zeros.into_iter().chain([When::Is("read".to_owned(), 1)]).collect();
    is_there.then_some(Form { syntax, when }).into_iter().collect()
}

const STRIDE: &str = "distance of vectors, as an exponent of two";
const LOCAL: &str = "local[{local_address}(? @2^{local_stride}?)]";
const OTHER: &str = "[{other_address}(? @2^{other_stride}?)]";
const ACCUMULATOR: &str = "acc[{accumulator_address}(? @2^{accumulator_stride}?)]";

/// Returns the form of a DataMove from `memory`.
fn to_local(format: &Format, memory: &str) -> String {
    format.syntax("datamove", &format!(" {LOCAL} <- {memory}{OTHER}, {{size}}"))
}

/// Returns the form of a DataMove to `memory`.
fn from_local(format: &Format, suffix: &str, memory: &str) -> String {
    format.syntax("datamove", &format!("{suffix} {memory}{OTHER} <- {LOCAL}, {{size}}"))
}

/// Returns the number format of addresses of a memory of `depth` vectors.
const fn below(depth: u64) -> Number {
    Number::up_to(depth.saturating_sub(1), Radix::Hexadecimal)
}

const fn decimal(max: u64) -> Number {
    Number::up_to(max, Radix::Decimal)
}

/// Returns the conditions of a form with `.zeroes` and without a local address.
fn without_local() -> Vec<When> {
    vec![When::OneOf("zeroes".to_owned(), vec![1]), zero("local_address"), zero("local_stride")]
}

fn zero(field: &str) -> When {
    When::Is(field.to_owned(), 0)
}

/// Returns the condition that a SIMD operation has this number of sources.
fn of_arity(arity: usize) -> When {
    let codes = SimdOp::ALL.iter().filter(|op| op.arity() == arity).map(|op| op.code().into());
    When::OneOf("op".to_owned(), codes.collect())
}

/// Returns the form of a SIMD with these sources; the form with two can express everything.
fn simd(format: &Format, sources: &str) -> String {
    let accesses = "(?, {read} acc[{read_address}]?)(?, {write}{accumulate} acc[{write_address}]?)";
    format.syntax("simd", &format!(" {{destination}} = {{op}}{sources}{accesses}"))
}
