//! Memory over a prime field: [`FieldMemory`].

use std::collections::HashMap;

use npukit_numeric::Element;

use crate::datatype::DataType;
use crate::exec::Addressed;
use crate::memory::Memory;

/// Bytes of a line.
const LINE: u64 = 64;

/// What a byte is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// What the driver left there.
    Driver,
    /// A byte that is 0, of whatever type.
    Zero,
    /// The first byte of an element.
    Start(DataType, Element),
    /// A later byte of an element.
    Part,
}

/// Elements by their byte addresses, over the bytes that the driver has written.
///
/// An element is read as what was written when its bytes are all of one that was written with a type of the same
/// size and kind. What mixes elements, or takes one for a type that it was not written as, looks random, as does what
/// nobody has written.
#[derive(Clone, Debug)]
pub(crate) struct FieldMemory {
    bytes: Memory,
    lines: HashMap<u64, [Cell; LINE as usize]>,
    seed: u64,
}

impl FieldMemory {
    /// A memory that holds what `bytes`, which knows what was written, holds.
    pub fn new(bytes: Memory, seed: u64) -> Self {
        Self { bytes, lines: HashMap::new(), seed }
    }

    fn cell(&self, address: u64) -> Cell {
        // Default: a line that no instruction has written to.
        self.lines.get(&(address / LINE)).map_or(Cell::Driver, |line| line[(address % LINE) as usize])
    }

    fn set(&mut self, address: u64, cell: Cell) {
        let line = self.lines.entry(address / LINE).or_insert([Cell::Driver; LINE as usize]);
        line[(address % LINE) as usize] = cell;
    }

    /// Writes an element of a type.
    pub fn write(&mut self, address: u64, data_type: DataType, element: Element) {
        self.set(address, Cell::Start(data_type, element));
        (1..u64::from(data_type.size_bytes())).for_each(|byte| self.set(address + byte, Cell::Part));
    }

    /// Reads an element of a type.
    ///
    /// # Errors
    ///
    /// Bits of the driver's that are no finite number.
    pub fn read(&self, address: u64, data_type: DataType) -> Result<Element, u32> {
        let size = u64::from(data_type.size_bytes());
        let rest = |cell: Cell| (1..size).all(|byte| self.cell(address + byte) == cell);
        Ok(match self.cell(address) {
            Cell::Driver if rest(Cell::Driver) => return self.number(address, data_type),
            Cell::Zero if rest(Cell::Zero) => Element::ZERO,
            Cell::Start(written, element)
                if written.size_bytes() == data_type.size_bytes() && rest(Cell::Part) =>
            {
                match (written.fixed(), data_type.fixed()) {
                    (Some(from), Some(to)) => element.scaled(from.fraction() - to.fraction()),
                    _ if written == data_type => element,
                    _ => self.mixed(address, size),
                }
            }
            _ => self.mixed(address, size),
        })
    }

    /// The image of what the driver has written.
    fn number(&self, address: u64, data_type: DataType) -> Result<Element, u32> {
        let size = data_type.size_bytes() as usize;
        if self.bytes.unwritten(address, size).is_some() {
            return Ok(self.mixed(address, size as u64));
        }
        let mut word = [0; 4];
        self.bytes.read(address, &mut word[..size]);
        let bits = u32::from_le_bytes(word);
        let real = data_type.real(data_type.raw(bits).ok_or(bits)?);
        Ok(Element::from_fixed(real.significand, -real.exponent))
    }

    /// What nothing is known of but the cells it depends on.
    fn mixed(&self, address: u64, size: u64) -> Element {
        let cells = (0..size).map(|byte| match self.cell(address + byte) {
            Cell::Start(_, element) => element,
            Cell::Driver | Cell::Zero | Cell::Part => Element::ZERO,
        });
        Element::hashed(self.seed, std::iter::once(Element::from_bits(address)).chain(cells))
    }
}

impl Addressed for FieldMemory {
    /// Reading what was never written is no fault here: it is random.
    fn unwritten(&self, _: u64, _: usize) -> Option<u64> {
        None
    }

    fn clear(&mut self, address: u64, bytes: u64) {
        (address..address + bytes).for_each(|address| self.set(address, Cell::Zero));
    }
}

#[cfg(test)]
mod tests {
    use npukit_target::Unset;

    use super::*;

    #[test]
    fn elements_are_what_was_written_where_it_was_written() {
        let mut bytes = Memory::new(Unset::Poison);
        bytes.write(0, &[0xFE, 0xFF]);
        let mut memory = FieldMemory::new(bytes, 1);
        let fixed = |name: &str| name.parse::<DataType>().expect("a type");
        assert_eq!(memory.read(0, DataType::INT16), Ok(Element::from_integer(-2)));
        assert_eq!(memory.read(1, fixed("fx8_5")), Ok(Element::from_fixed(-1, 5)));
        let element = Element::from_bits(12345);
        memory.write(64, DataType::INT16, element);
        assert_eq!(memory.read(64, DataType::INT16), Ok(element));
        assert_eq!(memory.read(64, fixed("fx16_9")), Ok(element.scaled(-9)));
        for (address, data_type) in
            [(64, DataType::INT8), (65, DataType::INT8), (64, DataType::INT32), (64, DataType::Fp16)]
        {
            assert_ne!(memory.read(address, data_type), Ok(element), "{address} {data_type}");
        }
        memory.clear(64, 64);
        assert_eq!(memory.read(64, DataType::INT32), Ok(Element::ZERO));
        assert_ne!(memory.read(128, DataType::INT8), memory.read(129, DataType::INT8));
    }
}
