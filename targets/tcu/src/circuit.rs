//! The circuit of the TCU: its sources in `rtl/`, with parameters and ports for an instance.

pub(crate) mod cosim;
mod system;

use npukit_target::rtl::{
    AXI_CHECKER, Bank, Circuit, Defects, LIBRARY, Limit, Parameter, Port, Source, TestBench, Unbuildable,
    axi4_master, identifier, stream,
};

use crate::config::packing::Packing;
use crate::config::{Config, DataType, Reading, System, board};
use crate::isa::op::Register;

/// Embeds files of `rtl/`.
macro_rules! sources {
    ($($name:literal,)*) => {
        [$(Source { name: $name, text: include_str!(concat!("../rtl/", $name)) },)*]
    };
}

/// Source files of the circuit, packages first. The library precedes them.
const SOURCES: &[Source] = &sources![
    "tcu_pkg.sv",
    "tcu_float.sv",
    "tcu.sv",
    "tcu_accumulator_commands.sv",
    "tcu_accumulator_pipeline.sv",
    "tcu_accumulators.sv",
    "tcu_adder.sv",
    "tcu_alu_array.sv",
    "tcu_alu_lane.sv",
    "tcu_array.sv",
    "tcu_configuration.sv",
    "tcu_decoder.sv",
    "tcu_dram_bursts.sv",
    "tcu_dram_port.sv",
    "tcu_dram_requests.sv",
    "tcu_host_router.sv",
    "tcu_instruction_stream.sv",
    "tcu_local_lanes.sv",
    "tcu_local_memory.sv",
    "tcu_lock.sv",
    "tcu_lookup.sv",
    "tcu_processing_element.sv",
    "tcu_rounding.sv",
    "tcu_router.sv",
    "tcu_sampler.sv",
    "tcu_systolic_array.sv",
    "tcu_weights.sv",
];

const BENCH: &[Source] =
    &[Source { name: "tcu_bench.sv", text: include_str!("../rtl/sim/tcu_bench.sv") }, AXI_CHECKER];
const HARNESS: Source = Source { name: "harness.cpp", text: include_str!("../rtl/sim/harness.cpp") };
const HEADERS: &[Source] = &[
    Source { name: "axi.h", text: include_str!("../rtl/sim/axi.h") },
    Source { name: "bank.h", text: include_str!("../rtl/sim/bank.h") },
    Source { name: "files.h", text: include_str!("../rtl/sim/files.h") },
];

/// Widths of the data bus that the circuit supports, in bits.
const BUSES: std::ops::RangeInclusive<u32> = 8..=1024;
/// Sizes of the array that the circuit supports.
const LANES: std::ops::RangeInclusive<usize> = 2..=256;
/// Depths of the optional queues, which the released circuit does not have.
const QUEUES: std::ops::RangeInclusive<usize> = 2..=16;
/// Bits of the identifiers on the buses of the released circuit.
const ID_BITS: u64 = 6;
/// Maximum depth of an on-chip memory in vectors: the sources store it as a 32-bit integer.
const MAX_VECTORS: u64 = 1 << 30;
/// Bytes that 32-bit addresses can reach.
const MAX_BYTES: u64 = 1 << 32;
/// Maximum number of vectors of a bank by the instruction set specification.
const MAX_REPORTED: u64 = 1 << 32;

/// FPGA of each built-in instance's board, and its family.
///
/// Sources: the pages of the makers (ZCU104, Ultra96-V2, PYNQ-Z1, PYNQ-Z2, Arty A7, Arty Z7, Cmod
/// A7) and AMD DS987 (KV260). The FPGA of the ULX3S is of another maker.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const PARTS: [(&str, &str, &str); 11] = [
    ("artya7100t",   "xc7a100tcsg324-1",       "xc7"),
    ("artya735t",    "xc7a35ticsg324-1L",      "xc7"),
    ("artyz720",     "xc7z020clg400-1",        "xc7"),
    ("cmoda7",       "xc7a35tcpg236-1",        "xc7"),
    ("kv260",        "xck26-sfvc784-2lv-c",    "xcup"),
    ("pynqz1",       "xc7z020clg400-1",        "xc7"),
    ("pynqz1_12x12", "xc7z020clg400-1",        "xc7"),
    ("pynqz2",       "xc7z020clg400-1",        "xc7"),
    ("ultra96v2",    "xczu3eg-sbva484-1-i",    "xcup"),
    ("zcu104",       "xczu7ev-ffvc1156-2-e",   "xcup"),
    ("zcu104_uram",  "xczu7ev-ffvc1156-2-e",   "xcup"),
];

/// Returns the circuit of an instance.
///
/// Source: the specification, 2, 3 and 9.
///
/// # Errors
///
/// Every parameter that the circuit does not support, with the supported values.
pub fn circuit(
    name: &str,
    config: &Config,
    system: &System,
    defects: Defects,
) -> Result<Circuit, Unbuildable> {
    let bus = board::memory(config, system, None).axi_bits;
    Unbuildable::check(limits(config, bus, defects))?;
    let board = PARTS.iter().find(|(board, ..)| name.split(['@', '+', ',']).next() == Some(board));
    let defective = match defects {
        Defects::Mended => "",
        Defects::Released => ", with the defects of the released circuit",
    };
    let lanes = config.array_size;
    let format = config.data_type.name();
    Ok(Circuit {
        instance: format!("tcu:{name}"),
        name: identifier(name),
        summary: format!("tensor compute unit, {lanes}x{lanes} {format} on buses of {bus} bits{defective}"),
        module: "tcu",
        sources: [LIBRARY, SOURCES].concat(),
        parameters: parameters(config, bus, defects),
        ports: ports(bus.into(), address_bits(config.reading)),
        buses: vec!["m_axi_dram0", "m_axi_dram1", "instruction", "sample"],
        banks: banks(config),
        sample_block: config.sample_block_size.max(1),
        system: system::SYSTEM,
        bench: TestBench {
            module: "tcu_bench",
            modules: BENCH,
            harness: HARNESS,
            headers: HEADERS,
            parameters: vec![Parameter::integer("INSTRUCTION_AXI_BITS", stream_bits(config, bus))],
        },
        part: board.map(|&(_, part, _)| part),
        family: board.map(|&(.., family)| family),
        clock_mhz: system.clock_mhz,
    })
}

/// Returns the banks of DRAM. Sizes above 64 bits, which a depth may have, become the largest size.
fn banks(config: &Config) -> Vec<Bank> {
    let bytes = |depth: u64| depth.saturating_mul(config.vector_bits() / 8);
    vec![
        Bank { name: "dram0", bus: "m_axi_dram0", bytes: bytes(config.dram0_depth) },
        Bank { name: "dram1", bus: "m_axi_dram1", bytes: bytes(config.dram1_depth) },
    ]
}

/// Returns the width of the instruction stream in a simulation. It is wide enough that the decoder
/// never waits for an instruction, as the clock assumes.
pub(crate) fn stream_bits(config: &Config, bus: u32) -> u64 {
    let instruction = 8 * config.layout().instruction_bytes() as u64;
    instruction.next_power_of_two().max(bus.into())
}

fn limits(config: &Config, bus: u32, defects: Defects) -> Vec<Option<Limit>> {
    let (overlap, is_mended) = (config.overlap, defects == Defects::Mended);
    let queue = |key: &str, depth: usize| {
        let legal = format!("0, or {} to {}", QUEUES.start(), QUEUES.end());
        Limit::unless(depth == 0 || QUEUES.contains(&depth), key, depth, &legal)
    };
    let lanes = format!("{} to {}", LANES.start(), LANES.end());
    let mut limits =
        vec![Limit::unless(LANES.contains(&config.array_size), "array_size", config.array_size, &lanes)];
    limits.extend(depth_limits(config));
    limits.extend(table_limits(config, is_mended));
    limits.push(Limit::unless(
        config.reading == Reading::Released || is_mended,
        "reading",
        config.reading.name(),
        "released with the defects of the released circuit",
    ));
    limits.extend(bus_limits(config, bus, is_mended));
    limits.push(queue("local_queue_depth", overlap.local_queue_depth));
    limits.push(queue("outstanding_bursts", overlap.outstanding_bursts));
    limits.push(Limit::unless(
        !overlap.pipelined_simd || is_mended,
        "pipelined_simd",
        1,
        "0 with the defects of the released circuit",
    ));
    limits.push(Limit::unless(
        !config.registered_rows || is_mended,
        "registered_rows",
        1,
        "0 with the defects of the released circuit",
    ));
    limits
}

/// Limits of the depths of the memories, in vectors.
fn depth_limits(config: &Config) -> [Option<Limit>; 4] {
    let on_chip = |key: &str, depth: u64| {
        Limit::unless((2..=MAX_VECTORS).contains(&depth), key, depth, &format!("2 to {MAX_VECTORS}"))
    };
    let vector_bytes = (config.vector_bits() / 8).max(1);
    // By the instruction set specification, the number of distinguishable vectors limits addresses.
    let (most, reason) = match config.reading {
        Reading::Released => (
            MAX_BYTES / vector_bytes,
            format!(": addresses on the bus have 32 bits, and a vector has {vector_bytes} bytes"),
        ),
        Reading::Seed => (MAX_REPORTED, String::new()),
    };
    let dram = |key: &str, depth: u64| {
        Limit::unless((2..=most).contains(&depth), key, depth, &format!("2 to {most}{reason}"))
    };
    [
        on_chip("local_depth", config.local_depth),
        on_chip("accumulator_depth", config.accumulator_depth),
        dram("dram0_depth", config.dram0_depth),
        dram("dram1_depth", config.dram1_depth),
    ]
}

/// Limits of lookup tables.
fn table_limits(config: &Config, is_mended: bool) -> [Option<Limit>; 4] {
    let (tables, overlap) = (config.lookup_tables, config.overlap);
    let count =
        |is_legal: bool, legal: &str| Limit::unless(tables == 0 || is_legal, "lookup_tables", tables, legal);
    let depth = format!(
        "1 to {}, the depth of the accumulators, or 0 for the maximum that fits",
        config.accumulator_depth
    );
    let fits = tables == 0 || table_vectors(config) <= config.accumulator_depth;
    [
        count(is_mended, "only 0 with the defects of the released circuit, which has no lookup tables"),
        count(
            overlap.local_queue_depth == 0 && !overlap.pipelined_simd,
            "0 with queues in front of local memory and with a pipelined SIMD",
        ),
        count(config.data_type != DataType::Float32, "0 with FLOAT32"),
        Limit::unless(fits, "lookup_depth", table_vectors(config), &depth),
    ]
}

/// Limits of the width of the bus.
fn bus_limits(config: &Config, bus: u32, is_mended: bool) -> [Option<Limit>; 2] {
    let has_size = LANES.contains(&config.array_size);
    let packing = Packing::new(config, bus);
    let carries = bus.is_power_of_two() && BUSES.contains(&bus) && packing.longest() > 0;
    let (first, last, bits) = (BUSES.start(), BUSES.end(), config.vector_bits());
    let width =
        format!("a power of two from {first} to {last} such that 256 words hold a vector of {bits} bits");
    let divisor = format!(
        "a divisor of {bits} with the defects of the released circuit, whose vectors are whole words"
    );
    [
        // An unsupported array size has no valid bus. Only the size is reported, not the bus as
        // well.
        Limit::unless(carries || !has_size, "axi_width_bits", bus, &width),
        Limit::unless(packing.is_whole() || !carries || is_mended, "axi_width_bits", bus, &divisor),
    ]
}

fn parameters(config: &Config, bus: u32, defects: Defects) -> Vec<Parameter> {
    let released = u64::from(defects == Defects::Released);
    let seed = u64::from(config.reading == Reading::Seed);
    let (scalar_bits, binary_point) = scalar(config.data_type);
    vec![
        Parameter::integer("ARRAY_SIZE", config.array_size as u64),
        Parameter::integer("SCALAR_BITS", scalar_bits),
        Parameter::integer("BINARY_POINT", binary_point),
        Parameter::integer("SLOT_BYTES", config.data_type.size_bytes() as u64),
        Parameter::sized("DRAM0_DEPTH", config.dram0_depth, 64),
        Parameter::sized("DRAM1_DEPTH", config.dram1_depth, 64),
        Parameter::integer("LOCAL_DEPTH", config.local_depth),
        Parameter::integer("ACCUMULATOR_DEPTH", config.accumulator_depth),
        Parameter::integer("SIMD_REGISTERS_DEPTH", config.simd_registers_depth as u64),
        Parameter::integer("LOOKUP_TABLES", config.lookup_tables as u64),
        Parameter::integer("LOOKUP_DEPTH", table_vectors(config)),
        Parameter::integer("STRIDE0_DEPTH", config.stride0_depth as u64),
        Parameter::integer("STRIDE1_DEPTH", config.stride1_depth as u64),
        Parameter::integer("NUMBER_OF_THREADS", config.number_of_threads as u64),
        Parameter::integer("AXI_BITS", bus.into()),
        Parameter::integer("SAMPLE_BLOCK_SIZE", config.sample_block_size.max(1).into()),
        Parameter::sized("LOSES_ADDITIONS", released, 1),
        Parameter::sized("MOVES_WRITES", released, 1),
        Parameter::sized("CROSSES_BY_A_BEAT", released, 1),
        Parameter::integer("LOCAL_QUEUE_DEPTH", config.overlap.local_queue_depth as u64),
        Parameter::sized("OVERLAPPED_DRAM", config.overlap.overlapped_dram.into(), 1),
        Parameter::sized("DOUBLE_WEIGHTS", config.overlap.double_weights.into(), 1),
        Parameter::sized("PIPELINED_SIMD", config.overlap.pipelined_simd.into(), 1),
        Parameter::integer("OUTSTANDING_BURSTS", config.overlap.outstanding_bursts as u64),
        Parameter::sized("REGISTERED_ROWS", config.registered_rows.into(), 1),
        Parameter::sized("VALUE_IN_OPERAND1", seed, 1),
        Parameter::integer("OFFSET_BITS", Register::Dram0Offset.bits(config.reading).into()),
        Parameter::integer("AXI_ADDRESS_BITS", address_bits(config.reading)),
        Parameter::sized("READS_BY_FLAG", seed, 1),
        Parameter::sized("NOOP_MOVES", seed, 1),
        Parameter::sized("FIXED_TABLES", seed, 1),
        Parameter::sized("INVALID_SAMPLES", seed, 1),
    ]
}

/// Number of keys of a lookup table, if the instance does not specify it: the number that npukit's
/// compiler uses.
const KEYS: u64 = 1024;

/// Returns the address width of the buses: the released circuit's width, or the width that offsets
/// of the specification need.
const fn address_bits(reading: Reading) -> u64 {
    match reading {
        Reading::Released => 32,
        Reading::Seed => 64,
    }
}

/// Returns the number of vectors of a lookup table in the circuit.
pub(crate) fn table_vectors(config: &Config) -> u64 {
    if let Some(vectors) = config.lookup_vectors() {
        return vectors;
    }
    let lanes = config.array_size.max(1) as u64;
    match config.lookup_depth {
        0 => KEYS.div_ceil(lanes).min(config.accumulator_depth),
        depth => depth,
    }
}

/// Returns the total and the fraction bits of a scalar; floats have no fraction bits.
pub(crate) fn scalar(data_type: DataType) -> (u64, u64) {
    match data_type.format() {
        npukit_numeric::NumberFormat::Fixed(format) => (format.width.into(), format.binary_point.into()),
        npukit_numeric::NumberFormat::Float32 => (32, 0),
    }
}

/// Returns the ports of `tcu` in declaration order. The instruction stream is as wide as the buses,
/// as in the released tops.
fn ports(bus: u64, address_bits: u64) -> Vec<Port> {
    let flags = ["timeout", "tracepoint", "bus_error"].map(Port::output);
    [
        vec![Port::input("clk_i"), Port::input("rst_i")],
        flags.to_vec(),
        stream("instruction", false, bus),
        stream("sample", true, 64),
        axi4_master("m_axi_dram0", bus, address_bits, ID_BITS),
        axi4_master("m_axi_dram1", bus, address_bits, ID_BITS),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeMap;
    use std::fs;

    use npukit_target::rtl::{Direction, VIVADO_BOARDS};

    use super::*;
    use crate::config::Board;

    fn of(name: &str, change: impl FnOnce(Config) -> Config) -> Result<Circuit, Unbuildable> {
        let Board { config, system, .. } = Board::preset(name).unwrap().changed(change);
        circuit(name, &config, &system, Defects::Mended)
    }

    #[test]
    fn every_source_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rtl");
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<String> = names.filter(|name| name.ends_with(".sv")).collect();
        let mut embedded: Vec<&str> = SOURCES.iter().map(|source| source.name).collect();
        assert_eq!(embedded[0], "tcu_pkg.sv");
        found.sort_unstable();
        embedded.sort_unstable();
        assert_eq!(found, embedded);
    }

    /// Returns the declarations between the brackets of a module, parsed from its source text.
    fn declared(text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let (head, rest) = text.split_once("\n) (\n").unwrap();
        let parameters = head.lines().filter_map(|line| line.trim().strip_prefix("parameter "));
        let parameters = parameters.map(|line| {
            let (name, value) = line.trim_end_matches(',').split_once(" = ").unwrap();
            (name.rsplit(' ').next().unwrap().to_owned(), value.to_owned())
        });
        let (ports, _) = rest.split_once("\n);\n").unwrap();
        let ports = ports.lines().map(str::trim).filter(|line| !line.is_empty());
        (parameters.collect(), ports.map(|line| line.trim_end_matches(',').to_owned()).collect())
    }

    #[test]
    fn ports_and_parameters_are_those_of_the_module() {
        let circuit = of("zcu104", |config| config).unwrap();
        let module = SOURCES.iter().find(|source| source.name == "tcu.sv").unwrap();
        let (parameters, ports) = declared(module.text);
        let names: Vec<&str> = parameters.iter().map(|(name, _)| &name[..]).collect();
        assert!(circuit.parameters.iter().all(|parameter| names.contains(&parameter.name)), "{names:?}");
        // The top module does not set these parameters, so the module's defaults must match the
        // ports.
        let defaults: BTreeMap<_, _> = parameters.iter().cloned().collect();
        assert_eq!(defaults["AXI_ID_BITS"], ID_BITS.to_string());
        assert_eq!(defaults["INSTRUCTION_AXI_BITS"], "AXI_BITS");
        let widths = BTreeMap::from([
            ("AXI_BITS", 128),
            ("INSTRUCTION_AXI_BITS", 128),
            ("AXI_ID_BITS", ID_BITS),
            ("AXI_ADDRESS_BITS", 32),
        ]);
        let bits = |range: &str| {
            let high = range.trim().strip_suffix(":0").unwrap().trim();
            let (size, less) =
                high.split_once('-').map_or((high, 0), |(size, one)| (size, one.parse().unwrap()));
            let (name, divisor) =
                size.split_once('/').map_or((size, 1), |(name, by)| (name, by.parse().unwrap()));
            let value: u64 = widths.get(name).copied().unwrap_or_else(|| name.parse().unwrap());
            value / divisor - less + 1
        };
        let read: Vec<Port> = ports
            .iter()
            .map(|line| {
                let (direction, rest) =
                    line.split_once(" logic").or_else(|| line.split_once("  logic")).unwrap();
                let direction =
                    if direction.trim() == "input" { Direction::Input } else { Direction::Output };
                let (range, name) = rest.split_once(']').unwrap_or(("", rest));
                let bits = range.split_once('[').map(|(_, range)| bits(range));
                Port { direction, bits, name: name.trim().to_owned() }
            })
            .collect();
        assert_eq!(read, circuit.ports);
    }

    #[test]
    fn every_preset_has_a_circuit() {
        for name in Config::presets() {
            let circuit = of(name, |config| config).unwrap();
            assert_eq!(circuit.top(), format!("top_{name}"));
            // The board of the speech robot is not published, and Vivado does not know the ULX3S.
            assert_eq!(
                circuit.part.is_none(),
                ["speech_robot", "ulx3s", "ulx3s_85f"].contains(&name),
                "{name}"
            );
        }
    }

    #[test]
    fn every_board_for_vivado_has_a_system_with_its_instance() {
        for board in VIVADO_BOARDS {
            let circuit = of(board.name, |config| config).unwrap();
            assert!(circuit.part.unwrap().eq_ignore_ascii_case(board.part), "{}", board.name);
            circuit.vivado_board(board).unwrap();
            let large = of(board.name, |config| Config { dram1_depth: 1 << 26, ..config }).unwrap();
            let message = large.vivado_board(board).unwrap_err().to_string();
            let free = format!("{} has {} bytes for them", board.title, board.free.bytes);
            assert!(message.contains(&free), "{message}");
        }
    }

    #[test]
    fn what_has_no_circuit_is_told_with_what_has() {
        let message = of("zcu104", |config| Config {
            data_type: DataType::Float32,
            array_size: 257,
            local_depth: 1,
            lookup_tables: 2,
            lookup_depth: 1 << 16,
            ..config
        });
        let message = message.unwrap_err();
        let keys: Vec<&str> = message.limits().iter().map(|limit| &limit.parameter[..]).collect();
        assert_eq!(keys, ["array_size", "local_depth", "lookup_tables", "lookup_depth"]);
        assert_eq!(
            message.limits()[2].to_string(),
            "`lookup_tables` is 2, but the circuit supports 0 with FLOAT32"
        );
    }

    #[test]
    fn every_array_of_the_pages_table_has_a_circuit() {
        for array_size in 2..=256 {
            for data_type in DataType::ALL {
                of("cmoda7", |config| Config { data_type, array_size, ..config }).unwrap();
            }
        }
    }

    #[test]
    fn only_a_circuit_without_the_defects_has_vectors_that_share_words() {
        let config = Config { array_size: 12, ..Config::preset("pynqz1").unwrap() };
        let on = |bus, defects| {
            let system = System { axi_width_bits: Some(bus), ..System::default() };
            circuit("pynqz1", &config, &system, defects)
        };
        for bus in [8, 16, 32, 64, 128, 256, 512, 1024] {
            on(bus, Defects::Mended).unwrap();
        }
        on(64, Defects::Released).unwrap();
        let message = on(128, Defects::Released).unwrap_err();
        assert_eq!(message.limits()[0].parameter, "axi_width_bits");
        let message = on(2048, Defects::Mended).unwrap_err();
        assert!(message.to_string().contains("a power of two from 8 to 1024"), "{message}");
        let wide = Config { array_size: 256, data_type: DataType::Fp32Bp16, ..config.clone() };
        let system = System { axi_width_bits: Some(16), ..System::default() };
        let message = circuit("wide", &wide, &system, Defects::Mended).unwrap_err();
        assert!(message.to_string().contains("such that 256 words hold a vector of 8192 bits"), "{message}");
    }

    #[test]
    fn only_a_circuit_without_the_defects_goes_by_the_page() {
        let Board { config, system, .. } = Board::preset("cmoda7").unwrap();
        let config = Config { reading: Reading::Seed, dram0_depth: 1 << 32, ..config };
        let built = circuit("cmoda7+seed", &config, &system, Defects::Mended).unwrap();
        for (name, value) in [("OFFSET_BITS", 32), ("AXI_ADDRESS_BITS", 64)] {
            assert!(built.parameters.contains(&Parameter::integer(name, value)), "{name}");
        }
        let address = built.ports.iter().find(|port| port.name == "m_axi_dram1_awaddr").unwrap();
        assert_eq!(address.bits, Some(64));
        let message = circuit("cmoda7+seed", &config, &system, Defects::Released).unwrap_err();
        assert_eq!(message.limits()[0].parameter, "reading");
    }

    #[test]
    fn only_the_released_circuit_has_bursts_across_4_kib() {
        let Board { config, system, .. } = Board::preset("pynqz1").unwrap();
        for (defects, crosses) in [(Defects::Mended, 0), (Defects::Released, 1)] {
            let parameters = circuit("pynqz1", &config, &system, defects).unwrap().parameters;
            assert!(parameters.contains(&Parameter::sized("CROSSES_BY_A_BEAT", crosses, 1)), "{defects:?}");
        }
    }

    #[test]
    fn only_a_circuit_without_the_defects_has_lookup_tables() {
        let config = Config::preset("cmoda7").unwrap().with_lookup(2);
        let with = |defects| circuit("cmoda7+lut", &config, &System::default(), defects);
        let parameters = with(Defects::Mended).unwrap().parameters;
        assert!(parameters.contains(&Parameter::integer("LOOKUP_TABLES", 2)));
        // The instance has 1,024 keys on 4 lanes, which is 256 vectors.
        assert!(parameters.contains(&Parameter::integer("LOOKUP_DEPTH", 256)));
        let message = with(Defects::Released).unwrap_err();
        assert_eq!(message.limits()[0].parameter, "lookup_tables");
    }
}
