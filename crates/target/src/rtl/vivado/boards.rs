//! [`VivadoBoard`]: a board for which Vivado can make a whole system, and [`VIVADO_BOARDS`].

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First address.
    pub first: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Range {
    /// Returns the first address after the range.
    pub(super) const fn end(self) -> u64 {
        self.first + self.bytes
    }
}

/// Kind of a board: what its processing system, or its memory interface, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Zynq-7000, with three of its high-performance ports of 64 bits.
    Zynq7000,
    /// Zynq UltraScale+, with three of its high-performance ports of 128 bits.
    ZynqUltraScale,
    /// Arty A7 without a processor: a memory interface, and JTAG for registers and memory. The FPGA
    /// is in the notation of the memory interface's generator.
    Arty(&'static str),
}

/// A board for which Vivado can make a whole system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VivadoBoard {
    /// Name of the board, which is the name of a built-in instance.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// FPGA, as Vivado names it.
    pub part: &'static str,
    /// Pattern of the maker's board files, which are used if they are installed.
    pub(super) board_files: &'static str,
    /// Memory that the accelerator reaches.
    pub memory: Range,
    /// Part of the memory that banks and buffers may take; an operating system has the rest.
    pub free: Range,
    /// Address of the first engine's registers.
    pub(super) registers: u64,
    /// Clock in MHz of an instance whose system does not specify it.
    pub clock_mhz: f64,
    pub(super) kind: Kind,
}

/// Memory of the Zynq-7000 boards: 512 MiB; the first 64 MiB stay with the operating system.
const MEMORY_512: Range = Range { first: 0, bytes: 512 << 20 };
const FREE_512: Range = Range { first: 64 << 20, bytes: 448 << 20 };
/// Memory of the Arty A7: 256 MiB, which only the accelerator uses.
const MEMORY_256: Range = Range { first: 0x8000_0000, bytes: 256 << 20 };

/// PYNQ-Z1; the PYNQ-Z2 has the same FPGA and memory.
const PYNQ_Z1: VivadoBoard = VivadoBoard {
    name: "pynqz1",
    title: "PYNQ-Z1",
    part: "xc7z020clg400-1",
    board_files: "www.digilentinc.com:pynq-z1:part0:*",
    memory: MEMORY_512,
    free: FREE_512,
    registers: 0x4040_0000,
    clock_mhz: 50.0,
    kind: Kind::Zynq7000,
};

/// Arty A7-100; the Arty A7-35 has the same pins and memory.
const ARTY_100: VivadoBoard = VivadoBoard {
    name: "artya7100t",
    title: "Arty A7-100",
    part: "xc7a100tcsg324-1",
    board_files: "digilentinc.com:arty-a7-100:part0:*",
    memory: MEMORY_256,
    free: MEMORY_256,
    registers: 0x4040_0000,
    clock_mhz: 50.0,
    kind: Kind::Arty("xc7a100t-csg324/-1"),
};

/// Boards for which Vivado can make a whole system.
///
/// Sources: the boards' manuals (PYNQ-Z1, PYNQ-Z2, Arty A7), AMD DS987 (KV260), UG585 and UG1085
/// (addresses).
pub const VIVADO_BOARDS: &[VivadoBoard] = &[
    PYNQ_Z1,
    VivadoBoard { name: "pynqz2", title: "PYNQ-Z2", board_files: "tul.com.tw:pynq-z2:part0:*", ..PYNQ_Z1 },
    ARTY_100,
    VivadoBoard {
        name: "artya735t",
        title: "Arty A7-35",
        part: "xc7a35ticsg324-1L",
        board_files: "digilentinc.com:arty-a7-35:part0:*",
        kind: Kind::Arty("xc7a35ti-csg324/-1L"),
        ..ARTY_100
    },
    VivadoBoard {
        name: "kv260",
        title: "KV260",
        part: "xck26-sfvc784-2LV-c",
        board_files: "xilinx.com:kv260_som:part0:*",
        // The lower half of 4 GiB; the upper half is above 2^32. Firmware has its end.
        memory: Range { first: 0, bytes: 2 << 30 },
        free: Range { first: 256 << 20, bytes: 1536 << 20 },
        registers: 0xa000_0000,
        clock_mhz: 100.0,
        kind: Kind::ZynqUltraScale,
    },
];

impl VivadoBoard {
    /// Returns the board with this name.
    #[cfg(test)]
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        VIVADO_BOARDS.iter().find(|board| board.name == name)
    }

    /// Returns the parts of the script between its settings and its end.
    pub(super) const fn parts(&self) -> &'static [&'static str] {
        const ZYNQ: &str = include_str!("zynq.tcl");
        match self.kind {
            Kind::Zynq7000 => &[include_str!("zynq_7000.tcl"), ZYNQ],
            Kind::ZynqUltraScale => &[include_str!("zynq_ultrascale.tcl"), ZYNQ],
            Kind::Arty(_) => &[include_str!("artix_7.tcl")],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rtl::vivado::map::REGISTERS;

    #[test]
    fn boards_have_names_and_memory_of_their_own() {
        let names: BTreeSet<&str> = VIVADO_BOARDS.iter().map(|board| board.name).collect();
        assert_eq!(names.len(), VIVADO_BOARDS.len());
        for board in VIVADO_BOARDS {
            let [memory, free] = [board.memory, board.free];
            assert!(memory.first <= free.first && free.bytes <= memory.bytes, "{board:?}");
            assert!(free.first + free.bytes <= memory.first + memory.bytes, "{board:?}");
            assert!(memory.first + memory.bytes <= 1 << 32, "{board:?}");
            let registers = board.registers..board.registers + 2 * REGISTERS;
            assert!(!(memory.first..memory.first + memory.bytes).contains(&registers.start), "{board:?}");
            assert!(
                registers.end <= memory.first || registers.start >= memory.first + memory.bytes,
                "{board:?}"
            );
        }
    }
}
