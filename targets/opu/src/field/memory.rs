//! Memory over a prime field: [`FieldMemory`].

use std::collections::HashMap;

use npukit_numeric::Element;

use crate::datatype::DataType;
use crate::exec::Addressed;
use crate::memory::Memory;

/// Bytes of a line: those of a slot of bytes.
const LINE: u64 = 64;
/// Bytes of a page, of as many lines.
const PAGE: u64 = 64 * LINE;

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

/// The bytes of a line: what is the same for all of them takes no room.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Same(Cell),
    Each(Box<[Cell; LINE as usize]>),
}

/// The lines of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Page {
    Zero,
    Lines(Box<[Line]>),
}

impl Page {
    /// Line `index`, to be changed.
    fn line(&mut self, index: u64) -> Option<&mut Line> {
        if let Self::Zero = self {
            *self = Self::Lines(vec![Line::Same(Cell::Zero); (PAGE / LINE) as usize].into());
        }
        match self {
            Self::Lines(lines) => lines.get_mut(index as usize),
            Self::Zero => None,
        }
    }
}

/// Elements by their byte addresses, over the bytes that the driver has written.
///
/// An element is read as what was written when its bytes are all of one that was written with a type of the same
/// size and kind. What mixes elements, or takes one for a type that it was not written as, looks random, as does what
/// nobody has written. A byte that holds elements takes 24 of ours, a page of 4096 that was cleared some 32.
#[derive(Clone, Debug)]
pub(crate) struct FieldMemory {
    bytes: Memory,
    pages: HashMap<u64, Page>,
    seed: u64,
}

impl FieldMemory {
    /// A memory that holds what `bytes`, which knows what was written, holds.
    pub fn new(bytes: Memory, seed: u64) -> Self {
        Self { bytes, pages: HashMap::new(), seed }
    }

    fn cell(&self, address: u64) -> Cell {
        let lines = match self.pages.get(&(address / PAGE)) {
            None => return Cell::Driver,
            Some(Page::Zero) => return Cell::Zero,
            Some(Page::Lines(lines)) => lines,
        };
        match &lines[(address % PAGE / LINE) as usize] {
            Line::Same(cell) => *cell,
            Line::Each(cells) => cells[(address % LINE) as usize],
        }
    }

    /// The line that holds an address.
    fn line(&mut self, address: u64) -> Option<&mut Line> {
        let untouched = || Page::Lines(vec![Line::Same(Cell::Driver); (PAGE / LINE) as usize].into());
        self.pages.entry(address / PAGE).or_insert_with(untouched).line(address % PAGE / LINE)
    }

    fn set(&mut self, address: u64, cell: Cell) {
        let Some(line) = self.line(address) else { return };
        if let Line::Same(cell) = *line {
            *line = Line::Each([cell; LINE as usize].into());
        }
        if let Line::Each(cells) = line {
            cells[(address % LINE) as usize] = cell;
        }
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
        let (mut at, end) = (address, address + bytes);
        while at < end {
            // As much at once as is whole.
            let whole = |size: u64| at.is_multiple_of(size) && size <= end - at;
            if whole(PAGE) {
                self.pages.insert(at / PAGE, Page::Zero);
                at += PAGE;
            } else if whole(LINE)
                && let Some(line) = self.line(at)
            {
                *line = Line::Same(Cell::Zero);
                at += LINE;
            } else {
                self.set(at, Cell::Zero);
                at += 1;
            }
        }
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

    /// Whole pages, whole lines and single bytes are cleared alike, and written again.
    #[test]
    fn what_is_cleared_is_zero_and_nothing_else_is() {
        let (element, end) = (Element::from_bits(77), 4 * PAGE);
        for (first, bytes) in [(0, end), (1, 3 * PAGE), (PAGE - LINE, PAGE + 2 * LINE + 3), (70, 0), (70, 1)] {
            let mut memory = FieldMemory::new(Memory::new(Unset::Poison), 1);
            (0..end).for_each(|address| memory.write(address, DataType::INT8, element));
            memory.clear(first, bytes);
            for address in 0..end {
                let is_cleared = (first..first + bytes).contains(&address);
                let expected = if is_cleared { Element::ZERO } else { element };
                assert_eq!(memory.read(address, DataType::INT8), Ok(expected), "{address} of {first}, {bytes}");
            }
            memory.write(first, DataType::INT8, element);
            assert_eq!(memory.read(first, DataType::INT8), Ok(element));
        }
    }

    /// All of memory can be cleared: it takes no room by the byte.
    #[test]
    fn all_of_memory_is_cleared() {
        let mut memory = FieldMemory::new(Memory::new(Unset::Poison), 1);
        memory.clear(0, 1 << 32);
        assert_eq!(memory.pages.len() as u64, (1 << 32) / PAGE);
        assert!(memory.pages.values().all(|page| *page == Page::Zero));
    }
}
