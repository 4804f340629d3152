//! Scripts for Vivado: one that packages the top as a block, and for a [`VivadoBoard`] one that
//! makes a whole system with a bitstream.
//!
//! The text of a system's script consists of settings, which are written here, and of parts in
//! `vivado/*.tcl` that are equal for all circuits. Only the settings contain values of a circuit.

mod boards;
mod map;
mod mig;
mod package;

use crate::rtl::circuit::{Circuit, File};
use crate::rtl::escape::comment;
use crate::rtl::port::{Direction, Port};
use boards::Kind;
use map::{AddressMap, LENGTH_BITS, REGISTERS, hex};

pub use boards::{Range, VIVADO_BOARDS, VivadoBoard};

/// Widths of a bus that SmartConnect converts, in bits.
///
/// Source: AMD PG247.
const BUSES: std::ops::RangeInclusive<u64> = 32..=1024;

/// Reason why a board cannot have a circuit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// Banks and buffers do not fit into the memory.
    #[error(
        "the banks need {needed} bytes with their buffers, but {board} has {bytes} bytes for them: choose smaller depths"
    )]
    Memory {
        /// Name of the board.
        board: &'static str,
        /// Bytes of banks and buffers.
        needed: u64,
        /// Bytes that the board has for them.
        bytes: u64,
    },
    /// A bus has a width that cannot be converted.
    #[error(
        "the bus `{bus}` has {bits} bits, but the interconnect of {board} converts {} to {}: choose another width of the bus",
        BUSES.start(), BUSES.end()
    )]
    Width {
        /// Name of the board.
        board: &'static str,
        /// Prefix of the bus.
        bus: &'static str,
        /// Width in bits.
        bits: u64,
    },
    /// The clock is not a positive number.
    #[error("the clock of {mhz} MHz cannot be made: choose a positive number")]
    Clock {
        /// Clock in MHz.
        mhz: f64,
    },
    /// The circuit has other ports than a system has connections for.
    #[error("the circuit has {found}, but a system has connections for {legal}")]
    Ports {
        /// Ports that were found.
        found: String,
        /// Ports that are supported.
        legal: &'static str,
    },
}

/// Ports of a circuit with their roles.
struct Roles<'c> {
    clock: &'c str,
    reset: &'c str,
    banks: [&'static str; 2],
    instructions: &'static str,
    samples: &'static str,
    /// Width of the instruction stream in bits.
    stream_bits: u64,
}

impl Circuit {
    /// Returns the files of a whole system on a board: the script `NAME_system.tcl`, files that it
    /// reads, and `board.json` for the drivers. The script also reads the files of
    /// [`Circuit::files`].
    ///
    /// # Errors
    ///
    /// Fails if the banks do not fit into the memory, a bus cannot be converted, the clock is not
    /// positive, or the circuit has other ports than a clock, a reset, two banks, a stream of
    /// instructions and a stream of samples.
    pub fn vivado_board(&self, board: &VivadoBoard) -> Result<Vec<File>, Unfit> {
        let roles = self.roles()?;
        for bus in roles.banks {
            let bits = self.bits(bus, "wdata");
            if !BUSES.contains(&bits) {
                return Err(Unfit::Width { board: board.title, bus, bits });
            }
        }
        let mhz = self.clock_mhz.unwrap_or(board.clock_mhz); // Default: the system does not specify its clock.
        if !(mhz.is_finite() && mhz > 0.0) {
            return Err(Unfit::Clock { mhz });
        }
        let map = AddressMap::new(self, board).ok_or_else(|| Unfit::Memory {
            board: board.title,
            needed: map::needed(self),
            bytes: board.free.bytes,
        })?;
        let script = [&self.settings(board, &roles, &map, mhz), include_str!("vivado/begin.tcl")];
        let script = [&script[..], board.parts(), &[include_str!("vivado/end.tcl")]].concat().concat();
        let mut files = vec![File { name: format!("{}_system.tcl", self.name), text: script }];
        if let Kind::Arty(fpga) = board.kind {
            let pins = include_str!("vivado/arty.xdc").to_owned();
            files.push(File { name: format!("{}_system.xdc", self.name), text: pins });
            files.push(File { name: format!("{}_mig.prj", self.name), text: mig::project(fpga) });
        }
        let has_linux = !matches!(board.kind, Kind::Arty(_));
        let text = map.board_json(self, roles.stream_bits, has_linux);
        files.push(File { name: "board.json".to_owned(), text });
        Ok(files)
    }

    /// Returns the beginning of a system's script: all values that depend on circuit and board.
    fn settings(&self, board: &VivadoBoard, roles: &Roles<'_>, map: &AddressMap, mhz: f64) -> String {
        let Self { name, module, .. } = self;
        let (instance, top) = (comment(&self.instance), self.top());
        let VivadoBoard { title, part, board_files, memory, .. } = board;
        let Roles { clock, reset, banks: [bank0, bank1], instructions, samples, stream_bits } = roles;
        let dma_bits = (*stream_bits).max(32);
        let [first, bytes] = [memory.first, memory.bytes].map(hex);
        let [instruction_registers, sample_registers] =
            [map.instruction_registers, map.sample_registers].map(hex);
        let register_bytes = hex(REGISTERS);
        format!(
            "# Makes a bitstream with {instance} for {title}; run in the folder of this file:
#   vivado -mode batch -source {name}_system.tcl
#
# This script has not been run in Vivado yet, since npukit is built and tested without Vivado. A test interprets it with a
# model of Vivado's commands. Please report necessary changes. It writes design.bit, design.hwh, design.xsa, and reports.

# == settings ==

set name {name}
set top {top}
set library {module}
set part {part}
set board_files {board_files}
set mhz {mhz:.3}
set clock {clock}
set reset {reset}
set bank0 {bank0}
set bank1 {bank1}
set instructions {instructions}
set samples {samples}
set stream_bits {stream_bits}
set dma_bits {dma_bits}
set length_bits {LENGTH_BITS}
set instruction_registers {instruction_registers}
set sample_registers {sample_registers}
set register_bytes {register_bytes}
set memory_first {first}
set memory_bytes {bytes}
"
        )
    }

    /// Returns the ports by their roles.
    fn roles(&self) -> Result<Roles<'_>, Unfit> {
        let other = |found: String, legal: &'static str| Unfit::Ports { found, legal };
        let [clock, reset] = self
            .control()
            .ok_or_else(|| other("fewer than two control inputs".to_owned(), "a clock and a reset"))?;
        let banks: Vec<&'static str> = self.banks.iter().map(|bank| bank.bus).collect();
        let banks = <[&'static str; 2]>::try_from(banks)
            .map_err(|banks| other(format!("{} banks", banks.len()), "2 banks"))?;
        let stream = |direction| {
            let is_data = |bus: &str| {
                self.ports
                    .iter()
                    .any(|port| port.name == format!("{bus}_tdata") && port.direction == direction)
            };
            self.buses.iter().copied().find(|bus| is_data(bus))
        };
        let (Some(instructions), Some(samples)) = (stream(Direction::Input), stream(Direction::Output))
        else {
            return Err(other(
                format!("the buses {}", self.buses.join(", ")),
                "a stream of instructions and a stream of samples",
            ));
        };
        let stream_bits = self.bits(instructions, "tdata");
        Ok(Roles { clock, reset, banks, instructions, samples, stream_bits })
    }

    /// Returns the names of clock and reset: the first inputs that are single wires.
    fn control(&self) -> Option<[&str; 2]> {
        let is_control = |port: &&Port| port.bits.is_none() && port.direction == Direction::Input;
        let mut wires = self.ports.iter().filter(is_control).map(|port| port.name.as_str());
        Some([wires.next()?, wires.next()?])
    }

    /// Returns the width of a signal of a bus; 0 if there is no such vector.
    fn bits(&self, bus: &str, signal: &str) -> u64 {
        let name = format!("{bus}_{signal}");
        let port = self.ports.iter().find(|port| port.name == name);
        port.and_then(|port| port.bits).unwrap_or(0) // Default: a missing bus, which no width fits.
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::Value;

    use super::*;
    use crate::rtl::circuit::Bank;
    use crate::rtl::circuit::tests::example;
    use crate::rtl::port::{axi4_master, stream};

    /// Returns a circuit with two banks and two streams.
    pub(crate) fn system() -> Circuit {
        let circuit = example();
        let buses = [stream("out", true, 64), axi4_master("m_a", 64, 32, 6), axi4_master("m_b", 64, 32, 6)];
        Circuit {
            ports: [circuit.ports, buses.concat()].concat(),
            buses: vec!["in", "out", "m_a", "m_b"],
            banks: vec![
                Bank { name: "dram0", bus: "m_a", bytes: 1 << 20 },
                Bank { name: "dram1", bus: "m_b", bytes: (1 << 20) + 16 },
            ],
            ..circuit
        }
    }

    fn text(circuit: &Circuit, board: &str, ending: &str) -> String {
        let files = circuit.vivado_board(VivadoBoard::named(board).unwrap()).unwrap();
        files.into_iter().find(|file| file.name.ends_with(ending)).unwrap().text
    }

    #[test]
    fn settings_and_map_have_the_same_addresses() {
        for board in VIVADO_BOARDS {
            let script = text(&system(), board.name, "_system.tcl");
            assert!(script.contains("has not been run in Vivado yet"), "{script}");
            assert!(script.contains("\nset mhz 50.000\n"), "{script}");
            let json: Value = serde_json::from_str(&text(&system(), board.name, "board.json")).unwrap();
            let registers = json["instruction_dma"].as_str().unwrap();
            assert!(script.contains(&format!("\nset instruction_registers {registers}\n")), "{script}");
            assert_eq!(json["stream_bytes"], 4, "the engine's memory port has 32 bits");
            assert_eq!(json.get("windows").is_none(), board.name.starts_with("arty"));
        }
        let json: Value = serde_json::from_str(&text(&system(), "pynqz1", "board.json")).unwrap();
        // 1 MiB, 16 bytes more than 1 MiB, and two buffers, at the end of 512 MiB.
        assert_eq!(json["dram0"]["address"], "0x1fb00000");
        assert_eq!(json["dram1"]["address"], "0x1fc00000");
        assert_eq!(json["dram1"]["bytes"], (1 << 20) + 16);
        assert_eq!(json["staging"]["address"], "0x1fe00000");
        assert_eq!(json["samples"]["address"], "0x1ff00000");
        assert_eq!(json["windows"][1]["bytes"], 5 << 20);
    }

    #[test]
    fn only_boards_without_a_processor_have_pins_and_a_memory_interface() {
        for board in VIVADO_BOARDS {
            let files = system().vivado_board(board).unwrap();
            let names: Vec<&str> = files.iter().map(|file| &file.name[..]).collect();
            let all = [
                "small_depth_8_system.tcl",
                "small_depth_8_system.xdc",
                "small_depth_8_mig.prj",
                "board.json",
            ];
            let some = [all[0], all[3]];
            let wanted: &[&str] = if board.name.starts_with("arty") { &all } else { &some };
            assert_eq!(names, wanted);
        }
    }

    #[test]
    fn banks_that_do_not_fit_are_refused_with_their_sizes() {
        let board = VivadoBoard::named("artya7100t").unwrap();
        let with = |bytes: u64| {
            let banks = ["m_a", "m_b"].map(|bus| Bank { name: bus, bus, bytes });
            Circuit { banks: banks.into(), ..system() }.vivado_board(board)
        };
        assert!(with(127 << 20).is_ok());
        assert_eq!(
            with((127 << 20) + 1).unwrap_err().to_string(),
            "the banks need 270532608 bytes with their buffers, but Arty A7-100 has 268435456 bytes for them: choose smaller \
             depths"
        );
        assert!(matches!(with(u64::MAX), Err(Unfit::Memory { .. })));
    }

    #[test]
    fn other_widths_clocks_and_ports_are_refused() {
        let board = VivadoBoard::named("kv260").unwrap();
        let of = |circuit: Circuit| circuit.vivado_board(board).map_err(|error| error.to_string());
        let on = |bits: u64| {
            let buses = ["m_a", "m_b"].map(|bus| axi4_master(bus, bits, 32, 6)).concat();
            let streams = [stream("in", false, 64), stream("out", true, 64)].concat();
            of(Circuit { ports: [system().ports[..2].to_vec(), streams, buses].concat(), ..system() })
        };
        assert!(on(32).is_ok() && on(1024).is_ok());
        let message = "the bus `m_a` has 16 bits, but the interconnect of KV260 converts 32 to 1024: choose another width of \
                       the bus";
        assert_eq!(on(16), Err(message.to_owned()));
        for mhz in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(of(Circuit { clock_mhz: Some(mhz), ..system() }).is_err());
        }
        assert!(of(Circuit { clock_mhz: None, ..system() }).is_ok());
        let banks = of(Circuit { banks: Vec::new(), ..system() });
        assert_eq!(
            banks,
            Err("the circuit has 0 banks, but a system has connections for 2 banks".to_owned())
        );
        let buses = of(Circuit { buses: vec!["m_a", "m_b", "out"], ..system() });
        assert!(buses.unwrap_err().starts_with("the circuit has the buses m_a, m_b, out, but"));
    }
}
