//! [`Activation`]: forms of `act` that raise a set of lines.

use std::collections::BTreeSet;

use super::problem::Line;

const SLOTS_TOGETHER: u8 = 4;
/// Number of registers that a map is read from, with 16 lines per register.
pub const MAP_REGISTERS: usize = 4;

/// Form of `act`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Mode 0: any lines of four adjacent slots.
    Contiguous {
        /// First slot.
        slot: u8,
        /// Mask of ports, four bits per slot, first slot lowest.
        ports: u16,
    },
    /// Mode 1: the same ports of any slots.
    Ports {
        /// Mask of slots.
        slots: u16,
        /// Mask of ports.
        ports: u8,
    },
    /// Mode 2: any lines, from four registers.
    Map(u64),
}

impl Activation {
    /// Returns the cheapest form for `lines`. With `one_port`, mode 1 names a single port of any
    /// slots.
    pub fn of(lines: &BTreeSet<Line>, one_port: bool) -> Self {
        let first = lines.first().map_or(0, |line| line.slot);
        if lines.iter().all(|line| line.slot - first < SLOTS_TOGETHER) {
            let bit = |line: &Line| 1_u16 << (4 * (line.slot - first) + line.port % 4);
            return Self::Contiguous {
                slot: first,
                ports: lines.iter().fold(0, |ports, line| ports | bit(line)),
            };
        }
        let slots = lines.iter().fold(0, |slots, line| slots | 1_u16 << (line.slot % 16));
        let ports = lines.iter().fold(0, |ports, line| ports | 1_u8 << (line.port % 4));
        let is_named = !one_port || ports.count_ones() == 1;
        if is_named && lines.len() == (slots.count_ones() * ports.count_ones()) as usize {
            return Self::Ports { slots, ports };
        }
        Self::Map(lines.iter().fold(0, |map, line| map | 1 << (4 * (line.slot % 16) + line.port % 4)))
    }

    /// Required register contents, lowest slots first; `None` if the form reads no register.
    pub fn registers(self) -> Option<[u16; MAP_REGISTERS]> {
        match self {
            Self::Map(map) => Some(std::array::from_fn(|index| (map >> (16 * index)) as u16)),
            _ => None,
        }
    }

    /// Number of instructions that fill the registers.
    pub fn loads(self) -> usize {
        self.registers().map_or(0, |registers| registers.into_iter().map(loads_of).sum())
    }
}

/// Number of instructions that load this value into a register, one byte per instruction.
pub fn loads_of(value: u16) -> usize {
    if value & 0xff == 0 || value >> 8 == 0 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(lines: &[(u8, u8)], one_port: bool) -> Activation {
        Activation::of(&lines.iter().map(|&(slot, port)| Line { slot, port }).collect(), one_port)
    }

    fn of(lines: &[(u8, u8)]) -> Activation {
        by(lines, false)
    }

    #[test]
    fn an_index_names_one_port() {
        let (same, both) = ([(0, 2), (6, 2), (15, 2)], [(0, 0), (0, 3), (9, 0), (9, 3)]);
        assert_eq!(by(&same, true), of(&same));
        assert_eq!(by(&both, true), Activation::Map(9 | 9 << 36));
    }

    #[test]
    fn the_cheapest_form_is_taken() {
        assert_eq!(of(&[(1, 1), (2, 1), (4, 1)]), Activation::Contiguous { slot: 1, ports: 0x2022 });
        assert_eq!(of(&[(0, 2), (6, 2), (15, 2)]), Activation::Ports { slots: 0x8041, ports: 4 });
        assert_eq!(of(&[(0, 0), (0, 3), (9, 0), (9, 3)]), Activation::Ports { slots: 0x201, ports: 9 });
        let map = of(&[(0, 0), (15, 3)]);
        assert_eq!(map, Activation::Map(1 | 1 << 63));
        assert_eq!(map.registers(), Some([1, 0, 0, 0x8000]));
        assert_eq!(map.loads(), 4);
        assert_eq!(loads_of(0x8001), 2);
    }
}
