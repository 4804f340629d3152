//! The instruction set as people read and write it: [`isa()`] gives the [`IsaSpec`] of an instance.
//!
//! The assembler, the disassembler and the reference page come from this table; the simulator uses
//! [`crate::codec`], and a property test keeps the two in agreement.

use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix, When};

use crate::codec::fields::Fields;
use crate::codec::opcode;
use crate::config::Config;
use crate::configuration::Register;
use crate::op::{DataMoveKind, SimdOp};

/// The instruction set of `config`, which passes [`Config::check`].
///
/// Source: specification 3.1 to 3.3, 3.6 and 9.8.
pub fn isa(config: &Config) -> IsaSpec {
    let table = Table::new(config);
    let mut rows = vec![if table.threads { table.wait() } else { table.no_op() }, table.mat_mul()];
    rows.extend(DATA_MOVES.iter().map(|row| table.data_move(row)));
    rows.extend([table.load_weights(), table.simd()]);
    if config.has_lookup() {
        rows.push(table.load_lut());
    }
    if !table.threads {
        rows.push(table.configure());
    }
    IsaSpec { name: table.title(), doc: DOC.to_owned(), byte_order: ByteOrder::Little, instructions: rows }
}

const DOC: &str = "Addresses and sizes count vectors of N scalars. Element i of a strided address is at \
                   address + i * 2^stride. A size is stored less one.";
const LOCAL: &str = "local[{local_address}(? @2^{local_stride}?)]";
const ACCUMULATOR: &str = "acc[{accumulator_address}(? @2^{accumulator_stride}?)]";

#[rustfmt::skip] // A table: one kind a line.
const DATA_MOVES: [DataMove; 7] = [
    DataMove { kind: DataMoveKind::Dram0ToLocal,                 name: "DataMove DRAM0->Local",          memory: Memory::Dram0,       to_local: true,  suffix: "" },
    DataMove { kind: DataMoveKind::LocalToDram0,                 name: "DataMove Local->DRAM0",          memory: Memory::Dram0,       to_local: false, suffix: "" },
    DataMove { kind: DataMoveKind::Dram1ToLocal,                 name: "DataMove DRAM1->Local",          memory: Memory::Dram1,       to_local: true,  suffix: "" },
    DataMove { kind: DataMoveKind::LocalToDram1,                 name: "DataMove Local->DRAM1",          memory: Memory::Dram1,       to_local: false, suffix: "" },
    DataMove { kind: DataMoveKind::AccumulatorToLocal,           name: "DataMove Acc->Local",            memory: Memory::Accumulator, to_local: true,  suffix: "" },
    DataMove { kind: DataMoveKind::LocalToAccumulator,           name: "DataMove Local->Acc",            memory: Memory::Accumulator, to_local: false, suffix: "" },
    DataMove { kind: DataMoveKind::LocalToAccumulatorAccumulate, name: "DataMove Local->Acc accumulate", memory: Memory::Accumulator, to_local: false, suffix: ".acc" },
];

#[rustfmt::skip] // A table: one register a line.
const REGISTERS: [(u64, &str); 8] = [
    (0x0, "dram0_offset"),
    (0x1, "dram0_cache"),
    (0x4, "dram1_offset"),
    (0x5, "dram1_cache"),
    (0x8, "timeout"),
    (0x9, "tracepoint"),
    (0xA, "program_counter"),
    (0xB, "sample_interval"),
];

/// A row of [`DATA_MOVES`].
struct DataMove {
    kind: DataMoveKind,
    name: &'static str,
    memory: Memory,
    to_local: bool,
    suffix: &'static str,
}

/// What operand 1 addresses.
#[derive(Clone, Copy)]
enum Memory {
    Dram0,
    Dram1,
    Accumulator,
}

impl Memory {
    /// Its name in the text.
    const fn name(self) -> &'static str {
        match self {
            Self::Dram0 => "dram0",
            Self::Dram1 => "dram1",
            Self::Accumulator => "acc",
        }
    }

    const fn depth(self, config: &Config) -> u64 {
        match self {
            Self::Dram0 => config.dram0_depth,
            Self::Dram1 => config.dram1_depth,
            Self::Accumulator => config.accumulator_depth,
        }
    }
}

/// What the rows are made of.
struct Table<'a> {
    config: &'a Config,
    fields: Fields,
    size_bytes: usize,
    threads: bool,
}

impl<'a> Table<'a> {
    fn new(config: &'a Config) -> Self {
        let layout = config.layout();
        let (fields, size_bytes) = (Fields::new(&layout), layout.instruction_bytes());
        Self { config, fields, size_bytes, threads: config.number_of_threads > 1 }
    }

    fn title(&self) -> String {
        let (n, bytes) = (self.config.array_size, self.size_bytes);
        format!("TCU, {n}x{n} array of {}, {bytes}-byte instructions", self.config.data_type.name())
    }

    fn no_op(&self) -> InstructionSpec {
        self.row("NoOp", opcode::NO_OP, "Does nothing.").with_form("noop", Vec::new())
    }

    fn wait(&self) -> InstructionSpec {
        let last = (self.config.number_of_threads as u64).saturating_sub(1);
        self.row("Wait", opcode::NO_OP, "Waits for the other thread.")
            .with_field("waits_for", self.fields.wait, decimal(last), "the thread waited for")
            .with_form(&self.syntax("wait", " {waits_for}"), Vec::new())
    }

    fn mat_mul(&self) -> InstructionSpec {
        let depth = self.config.accumulator_depth;
        let row = self.row(
            "MatMul",
            opcode::MAT_MUL,
            "Multiplies vectors by the loaded weights, into the accumulators.",
        );
        let row = self.with_local(row, "input");
        self.with_other(row, "accumulator", depth, "output")
            .with_field("size", self.fields.size2, self.size_up_to(depth), "vectors")
            .with_field(
                "accumulate",
                self.flag(0),
                FieldKind::flag(".acc"),
                "adds to the output instead of overwriting it",
            )
            .with_field(
                "zeroes",
                self.flag(1),
                FieldKind::flag(".zeroes"),
                "the input is zeros, not local memory",
            )
            .with_form(
                &self.syntax("matmul", &format!("{{accumulate}}{{zeroes}} {ACCUMULATOR}, {{size}}")),
                without_local(),
            )
            .with_form(
                &self.syntax("matmul", &format!("{{accumulate}}{{zeroes}} {LOCAL}, {ACCUMULATOR}, {{size}}")),
                Vec::new(),
            )
    }

    fn data_move(&self, kind: &DataMove) -> InstructionSpec {
        let (memory, depth) = (kind.memory.name(), kind.memory.depth(self.config));
        let other = format!("{memory}[{{other_address}}(? @2^{{other_stride}}?)]");
        let (to, from) = if kind.to_local { (LOCAL, other.as_str()) } else { (other.as_str(), LOCAL) };
        let meaning = match kind.suffix {
            "" => "Copies vectors.",
            _ => "Adds vectors, with saturation.",
        };
        let row = self.row(kind.name, opcode::DATA_MOVE, meaning);
        let row = self.with_local(
            row.with_pattern("kind", self.fields.flags, kind.kind.code().into()),
            "in local memory",
        );
        self.with_other(row, "other", depth, &format!("in {memory}"))
            .with_field("size", self.fields.size2, self.size_up_to(depth), "vectors")
            .with_form(
                &self.syntax("datamove", &format!("{} {to} <- {from}, {{size}}", kind.suffix)),
                Vec::new(),
            )
    }

    fn load_weights(&self) -> InstructionSpec {
        let row = self.row(
            "LoadWeights",
            opcode::LOAD_WEIGHTS,
            "Shifts rows into the array, the highest address first.",
        );
        self.with_local(row, "rows: the bias, then the weights of input lanes 0, 1, ...")
            .with_field("size", self.fields.size1, FieldKind::size(self.config.local_depth), "rows")
            .with_field(
                "zeroes",
                self.flag(0),
                FieldKind::flag(".zeroes"),
                "shifts in zeros, not local memory",
            )
            .with_form(&self.syntax("loadweights", "{zeroes} {size}"), without_local())
            .with_form(&self.syntax("loadweights", &format!("{{zeroes}} {LOCAL}, {{size}}")), Vec::new())
    }

    fn simd(&self) -> InstructionSpec {
        let address = || hexadecimal(self.config.accumulator_depth.saturating_sub(1));
        let row = self.row(
            "SIMD",
            opcode::SIMD,
            "Takes one vector through the ALUs: destination = op(left, right).",
        );
        let row = row
            .with_field("write_address", self.fields.write_address, address(), "where the output is written")
            .with_field("read_address", self.fields.read_address, address(), "where the input is read")
            .with_field("destination", self.fields.destination, self.registers("out"), "`out`, or a register beside it")
            .with_field("right", self.fields.right, self.registers("in"), "second source; ignored by unary operations")
            .with_field("left", self.fields.left, self.registers("in"), "first source")
            .with_field("op", self.fields.simd_op, self.operations(), "operation")
            .with_field("read", self.flag(0), FieldKind::choice(["noread", "read"]), "reads the input from the accumulators")
            .with_field("write", self.flag(1), FieldKind::choice(["nowrite", "write"]), "writes the output to the accumulators")
            .with_field("accumulate", self.flag(2), FieldKind::flag(".acc"), "adds instead of overwriting")
            .with_doc("A source `in` needs a `read`, and a `read` needs a source `in`: hardware hangs otherwise, \
                       also for the ignored right source of a unary operation. `move(r1)` sets both sources to r1.");
        self.simd_forms(row)
    }

    /// One form for each number of sources; the last one can say everything.
    fn simd_forms(&self, row: InstructionSpec) -> InstructionSpec {
        let accesses = "(?, {read} acc[{read_address}]?)(?, {write}{accumulate} acc[{write_address}]?)";
        let form =
            |sources: &str| self.syntax("simd", &format!(" {{destination}} = {{op}}{sources}{accesses}"));
        let of_arity = |arity: usize| {
            let codes = SimdOp::ALL.iter().filter(|op| op.arity() == arity).map(|op| op.code().into());
            When::OneOf("op".to_owned(), codes.collect())
        };
        let zero = |field: &str| When::Is(field.to_owned(), 0);
        row.with_form(&form(""), vec![of_arity(0), zero("left"), zero("right")])
            .with_form(
                &form("({left})"),
                vec![of_arity(1), When::Same("right".to_owned(), "left".to_owned())],
            )
            .with_form(&form("({left}, {right})"), Vec::new())
    }

    fn load_lut(&self) -> InstructionSpec {
        let largest = self.config.local_depth.min(self.fields.size2.max().saturating_add(1));
        let tables = decimal(self.config.lookup_tables as u64);
        let row = self.row("LoadLUT", opcode::LOAD_LUT, "Loads a lookup table from local memory.");
        self.with_local(row, "entries")
            .with_field("table", self.fields.table, tables, "0 is the index, k the values of table k")
            .with_field("size", self.fields.size2, FieldKind::size(largest), "vectors")
            .with_form(&self.syntax("loadlut", &format!(" {LOCAL}, table {{table}}, {{size}}")), Vec::new())
    }

    fn configure(&self) -> InstructionSpec {
        let names = REGISTERS.iter().map(|(code, name)| (*code, (*name).to_owned())).collect();
        let row = self
            .row("Configure", opcode::CONFIGURE, "Writes a configuration register.")
            .with_field(
                "register",
                self.fields.register,
                FieldKind::Choice { names, open: true },
                "register; others are ignored",
            )
            .with_field(
                "value",
                self.fields.value,
                decimal(self.fields.value.max()),
                "value; of DRAM offsets, in units of 64 KiB",
            )
            .with_form("configure {register}, {value}", Vec::new());
        Register::ALL.into_iter().fold(row, |row, register| {
            let here = When::Is("register".to_owned(), register as u64);
            row.with_limit_when(&["value"], register.largest().into(), vec![here])
        })
    }

    /// A row with its opcode and, in two-thread mode, its thread.
    fn row(&self, name: &str, opcode: u8, meaning: &str) -> InstructionSpec {
        let row = InstructionSpec::new(name, self.size_bytes, meaning).with_pattern(
            "opcode",
            self.fields.opcode,
            opcode.into(),
        );
        if !self.threads {
            return row;
        }
        row.with_field("thread", self.fields.tid, FieldKind::flag(".t1"), "issued by thread 1")
    }

    /// A mnemonic, the thread's place, and the rest of a form.
    fn syntax(&self, mnemonic: &str, rest: &str) -> String {
        let thread = if self.threads { "{thread}" } else { "" };
        format!("{mnemonic}{thread}{rest}")
    }

    fn with_local(&self, row: InstructionSpec, meaning: &str) -> InstructionSpec {
        let address = hexadecimal(self.config.local_depth.saturating_sub(1));
        let stride = decimal((self.config.stride0_depth as u64).saturating_sub(1));
        row.with_field("local_address", self.fields.address0, address, meaning).with_field(
            "local_stride",
            self.fields.stride0,
            stride,
            "distance of vectors, as an exponent of two",
        )
    }

    fn with_other(&self, row: InstructionSpec, name: &str, depth: u64, meaning: &str) -> InstructionSpec {
        let stride = decimal((self.config.stride1_depth as u64).saturating_sub(1));
        let address = hexadecimal(depth.saturating_sub(1));
        row.with_field(&format!("{name}_address"), self.fields.address1, address, meaning).with_field(
            &format!("{name}_stride"),
            self.fields.stride1,
            stride,
            "distance of vectors, as an exponent of two",
        )
    }

    /// Sizes of what moves between local memory and one of `depth` vectors.
    fn size_up_to(&self, depth: u64) -> FieldKind {
        FieldKind::size(self.config.local_depth.min(depth))
    }

    const fn flag(&self, bit: u32) -> BitRange {
        BitRange::new(self.fields.flags.lo + bit, 1)
    }

    /// Code 0 is `none`, code k register k.
    fn registers(&self, none: &str) -> FieldKind {
        let registers = (1..=self.config.simd_registers_depth).map(|register| format!("r{register}"));
        FieldKind::choice(std::iter::once(none.to_owned()).chain(registers))
    }

    fn operations(&self) -> FieldKind {
        let count = if self.config.has_lookup() { 17 } else { 16 };
        FieldKind::choice(SimdOp::ALL.iter().take(count).map(|op| op.name().to_ascii_lowercase()))
    }
}

/// The conditions of a form that says `.zeroes` and no local address.
fn without_local() -> Vec<When> {
    let zero = |field: &str| When::Is(field.to_owned(), 0);
    vec![When::OneOf("zeroes".to_owned(), vec![1]), zero("local_address"), zero("local_stride")]
}

const fn decimal(max: u64) -> FieldKind {
    FieldKind::up_to(max, Radix::Decimal)
}

const fn hexadecimal(max: u64) -> FieldKind {
    FieldKind::up_to(max, Radix::Hexadecimal)
}
