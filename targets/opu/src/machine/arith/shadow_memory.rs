//! Memory of other values than numbers: [`ShadowMemory`], whose elements a [`Source`] derives from
//! the driver's bytes.

use std::fmt::Debug;
use std::sync::Arc;

use crate::config::datatype::DataType;
use crate::isa::memory::MEMORY_BYTES;
use crate::isa::op::{Access, Extent};
use crate::machine::memory::Memory;
use crate::machine::values::Addressed;

/// Bytes per line: a slot of one-byte elements.
const LINE: u64 = 64;
/// Bytes per page.
const PAGE: u64 = 64 * LINE;
/// Bytes per table of pages.
const TABLE: u64 = 1024 * PAGE;

/// Role of a byte in an element.
#[derive(Clone, Debug, PartialEq)]
enum Cell<T> {
    /// Byte that the driver wrote.
    Driver,
    /// Byte that is 0, of any type.
    Zero,
    /// First byte of an element.
    Start(DataType, T),
    /// Later byte of an element.
    Part,
}

/// Bytes of a line. Lines with one kind of bytes, and copies without changes, take no space.
#[derive(Clone, Debug, PartialEq)]
enum Line<T> {
    Same(Cell<T>),
    Each(Arc<[Cell<T>; LINE as usize]>),
}

/// Lines of a page.
#[derive(Clone, Debug, PartialEq)]
enum Page<T> {
    Driver,
    Zero,
    Each(Arc<[Line<T>; (PAGE / LINE) as usize]>),
}

impl<T> Line<T> {
    const DRIVER: Self = Self::Same(Cell::Driver);
    const ZERO: Self = Self::Same(Cell::Zero);
}

impl<T: Clone> Line<T> {
    fn cell(&self, address: u64) -> Cell<T> {
        match self {
            Self::Same(cell) => cell.clone(),
            Self::Each(cells) => cells[(address % LINE) as usize].clone(),
        }
    }
}

impl<T: Clone> Page<T> {
    fn lines_mut(&mut self) -> &mut [Line<T>; (PAGE / LINE) as usize] {
        loop {
            match self {
                Self::Each(lines) => return Arc::make_mut(lines),
                Self::Driver => *self = Self::Each(Arc::new([Line::DRIVER; _])),
                Self::Zero => *self = Self::Each(Arc::new([Line::ZERO; _])),
            }
        }
    }

    fn line_mut(&mut self, address: u64) -> &mut Line<T> {
        &mut self.lines_mut()[(address % PAGE / LINE) as usize]
    }
}

/// Values that a memory holds in place of numbers.
pub(crate) trait Source {
    /// Type of the values; the default is 0.
    type Element: Clone + Default + PartialEq + Debug;

    /// Returns the value of the driver's bits at an address.
    ///
    /// # Errors
    ///
    /// The bits are not a finite number.
    fn of_bits(&self, address: u64, bits: u32, data_type: DataType) -> Result<Self::Element, u32>;

    /// Returns the element times two to an exponent.
    fn scaled(&self, element: Self::Element, exponent: i32) -> Self::Element;

    /// Returns a value for bytes that are not one whole element. It only depends on the address and
    /// on the elements that the bytes overlap.
    fn mixed(&self, address: u64, elements: impl Iterator<Item = Self::Element>) -> Self::Element;
}

/// Pages of a table, in address order.
type Table<E> = Box<[Page<E>]>;

/// Elements by byte address, on top of the bytes that the driver wrote.
///
/// An element is read back unchanged if all its bytes belong to one element that was written with a
/// type of the same size and kind. The value is unknown if a read mixes elements, uses another type
/// than the write, or reads unwritten bytes. A byte that holds elements takes 24 bytes of host
/// memory, a cleared page of 4096 bytes takes 16.
#[derive(Clone, Debug)]
pub(crate) struct ShadowMemory<S: Source> {
    bytes: Memory,
    /// Tables to which something was written, by index.
    tables: Vec<Option<Table<S::Element>>>,
    source: S,
}

impl<S: Source> ShadowMemory<S> {
    /// Creates a memory with the contents of `bytes`, which also tracks written bytes.
    pub fn new(bytes: Memory, source: S) -> Self {
        Self { bytes, tables: vec![None; (MEMORY_BYTES / TABLE) as usize], source }
    }

    fn page(&self, address: u64) -> &Page<S::Element> {
        let table = self.tables.get((address / TABLE) as usize).and_then(Option::as_ref);
        table.map_or(&Page::Driver, |pages| &pages[(address % TABLE / PAGE) as usize]) // Default: never written.
    }

    /// Whether a line holds only data that the driver wrote.
    fn is_drivers(&self, address: u64) -> bool {
        match self.page(address) {
            Page::Driver => true,
            Page::Zero => false,
            Page::Each(lines) => {
                matches!(lines[(address % PAGE / LINE) as usize], Line::Same(Cell::Driver))
            }
        }
    }

    /// Returns the page of an address, allocated in this memory.
    fn page_mut(&mut self, address: u64) -> &mut Page<S::Element> {
        let table = self.tables[(address / TABLE) as usize]
            .get_or_insert_with(|| (0..TABLE / PAGE).map(|_| Page::Driver).collect());
        &mut table[(address % TABLE / PAGE) as usize]
    }

    fn cell(&self, address: u64) -> Cell<S::Element> {
        match self.page(address) {
            Page::Driver => Cell::Driver,
            Page::Zero => Cell::Zero,
            Page::Each(lines) => lines[(address % PAGE / LINE) as usize].cell(address),
        }
    }

    /// Returns the cells of the line of an address.
    fn cells_mut(&mut self, address: u64) -> &mut [Cell<S::Element>; LINE as usize] {
        let line = self.page_mut(address).line_mut(address);
        loop {
            match line {
                Line::Each(cells) => return Arc::make_mut(cells),
                Line::Same(cell) => *line = Line::Each(Arc::new(std::array::from_fn(|_| cell.clone()))),
            }
        }
    }

    fn set(&mut self, address: u64, cell: Cell<S::Element>) {
        self.cells_mut(address)[(address % LINE) as usize] = cell;
    }

    /// Returns the elements of a type that an access reads, in its order.
    ///
    /// # Errors
    ///
    /// Position and bits of the first element that is not a finite number.
    pub fn load(&self, access: &Access, data_type: DataType) -> Result<Vec<S::Element>, (usize, u32)> {
        let mut elements = Vec::new();
        for run in access.runs() {
            self.read_run(run, data_type, &mut elements).map_err(|bits| (elements.len(), bits))?;
        }
        Ok(elements)
    }

    /// Writes elements of a type to the bytes of an access, in its order.
    pub fn store(&mut self, access: &Access, data_type: DataType, elements: &[S::Element]) {
        let mut rest = elements;
        for run in access.runs() {
            let count = run.bytes() / u64::from(data_type.size_bytes());
            let (written, behind) = rest.split_at(count as usize);
            self.write_run(run, data_type, written);
            rest = behind;
        }
    }

    /// Writes the elements of a type to a run of bytes.
    fn write_run(&mut self, run: Extent, data_type: DataType, elements: &[S::Element]) {
        let addresses = (run.first..run.end).step_by(data_type.size_bytes() as usize);
        addresses
            .zip(elements)
            .for_each(|(address, element)| self.write(address, data_type, element.clone()));
    }

    /// Reads the elements of a type from a run of bytes, line by line.
    ///
    /// # Errors
    ///
    /// The driver's bits of the next element after those in `elements` are not a finite number.
    fn read_run(&self, run: Extent, data_type: DataType, elements: &mut Vec<S::Element>) -> Result<(), u32> {
        let size = data_type.size_bytes() as usize;
        let mut first = run.first;
        while first < run.end {
            // An element in two lines is read together with the first line.
            let end = run.end.min((first / LINE + 1) * LINE).max(first + size as u64);
            if end <= (first / LINE + 1) * LINE && self.is_drivers(first) {
                self.numbers(Extent { first, end }, data_type, elements)?;
            } else {
                for address in (first..end).step_by(size) {
                    elements.push(self.read(address, data_type)?);
                }
            }
            first += (end - first).next_multiple_of(size as u64);
        }
        Ok(())
    }

    /// Reads elements from bytes of a line that the driver wrote.
    fn numbers(&self, run: Extent, data_type: DataType, elements: &mut Vec<S::Element>) -> Result<(), u32> {
        let size = data_type.size_bytes() as usize;
        let mut line = [0; LINE as usize];
        let bytes = &mut line[..run.bytes() as usize];
        if !run.bytes().is_multiple_of(size as u64) || self.bytes.unwritten(run.first, bytes.len()).is_some()
        {
            for address in (run.first..run.end).step_by(size) {
                elements.push(self.number(address, data_type)?);
            }
            return Ok(());
        }
        self.bytes.read(run.first, bytes);
        for (address, bytes) in (run.first..).step_by(size).zip(bytes.chunks_exact(size)) {
            let mut word = [0; 4];
            word[..size].copy_from_slice(bytes);
            elements.push(self.source.of_bits(address, u32::from_le_bytes(word), data_type)?);
        }
        Ok(())
    }

    /// Writes one element of a type.
    pub fn write(&mut self, address: u64, data_type: DataType, element: S::Element) {
        self.set(address, Cell::Start(data_type, element));
        (1..u64::from(data_type.size_bytes())).for_each(|byte| self.set(address + byte, Cell::Part));
    }

    /// Reads one element of a type.
    ///
    /// # Errors
    ///
    /// The driver's bits are not a finite number.
    pub fn read(&self, address: u64, data_type: DataType) -> Result<S::Element, u32> {
        let size = u64::from(data_type.size_bytes());
        let rest = |cell: Cell<S::Element>| (1..size).all(|byte| self.cell(address + byte) == cell);
        Ok(match self.cell(address) {
            Cell::Driver if rest(Cell::Driver) => return self.number(address, data_type),
            Cell::Zero if rest(Cell::Zero) => S::Element::default(),
            Cell::Start(written, element)
                if written.size_bytes() == data_type.size_bytes() && rest(Cell::Part) =>
            {
                match (written.fixed(), data_type.fixed()) {
                    (Some(from), Some(to)) if from.fraction() != to.fraction() => {
                        self.source.scaled(element, from.fraction() - to.fraction())
                    }
                    (Some(_), Some(_)) => element,
                    _ if written == data_type => element,
                    _ => self.mixed(address, size),
                }
            }
            _ => self.mixed(address, size),
        })
    }

    /// Returns the element that the driver wrote.
    fn number(&self, address: u64, data_type: DataType) -> Result<S::Element, u32> {
        let size = data_type.size_bytes() as usize;
        if self.bytes.unwritten(address, size).is_some() {
            return Ok(self.mixed(address, size as u64));
        }
        let mut word = [0; 4];
        self.bytes.read(address, &mut word[..size]);
        self.source.of_bits(address, u32::from_le_bytes(word), data_type)
    }

    /// Returns a value for bytes that are not one whole element; it depends on their cells.
    fn mixed(&self, address: u64, size: u64) -> S::Element {
        let cells = (0..size).map(|byte| match self.cell(address + byte) {
            Cell::Start(_, element) => element,
            Cell::Driver | Cell::Zero | Cell::Part => S::Element::default(),
        });
        self.source.mixed(address, cells)
    }
}

impl<S: Source> Addressed for ShadowMemory<S> {
    /// Always `None`: reading unwritten bytes is not a fault here, their value is just unknown.
    fn unwritten(&self, _: u64, _: usize) -> Option<u64> {
        None
    }

    fn clear(&mut self, address: u64, bytes: u64) {
        let (mut at, end) = (address, address + bytes);
        while at < end {
            // The loop clears the largest unit that is completely inside the range, which needs the
            // fewest steps.
            let whole = |size: u64| at.is_multiple_of(size) && size <= end - at;
            if whole(PAGE) {
                *self.page_mut(at) = Page::Zero;
                at += PAGE;
            } else if whole(LINE) {
                *self.page_mut(at).line_mut(at) = Line::ZERO;
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
    use npukit_numeric::Element;
    use npukit_target::UninitMemory;

    use super::*;
    use crate::machine::arith::field::FieldImages;

    #[test]
    fn elements_are_what_was_written_where_it_was_written() {
        let mut bytes = Memory::new(UninitMemory::Poison);
        bytes.write(0, &[0xFE, 0xFF]);
        let mut memory = ShadowMemory::new(bytes, FieldImages { seed: 1 });
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

    /// Runs are read like their single elements, for all positions and contents.
    #[test]
    fn runs_are_read_as_their_elements_are() {
        let mut bytes = Memory::new(UninitMemory::Poison);
        bytes.write(0, &[7; 100]);
        let mut memory = ShadowMemory::new(bytes, FieldImages { seed: 1 });
        memory.write_run(Extent { first: 20, end: 70 }, DataType::INT16, &[Element::from_bits(99); 25]);
        memory.clear(72, 200);
        for (first, end) in [(0, 128), (0, 2), (18, 76), (63, 67), (61, 131), (128, 520), (4, 4)] {
            for data_type in [DataType::INT8, DataType::INT16, DataType::INT32] {
                let single = |address| memory.read(address, data_type).expect("a number");
                let size = data_type.size_bytes() as usize;
                let expected: Vec<Element> = (first..end).step_by(size).map(single).collect();
                let mut elements = Vec::new();
                memory.read_run(Extent { first, end }, data_type, &mut elements).expect("numbers");
                assert_eq!(elements, expected, "{first}..{end} of {data_type}");
            }
        }
    }

    /// Whole pages, whole lines and single bytes are cleared alike, and can be written again.
    #[test]
    fn what_is_cleared_is_zero_and_nothing_else_is() {
        let (element, end) = (Element::from_bits(77), 4 * PAGE);
        for (first, bytes) in [(0, end), (1, 3 * PAGE), (PAGE - LINE, PAGE + 2 * LINE + 3), (70, 0), (70, 1)]
        {
            let mut memory = ShadowMemory::new(Memory::new(UninitMemory::Poison), FieldImages { seed: 1 });
            (0..end).for_each(|address| memory.write(address, DataType::INT8, element));
            memory.clear(first, bytes);
            for address in 0..end {
                let is_cleared = (first..first + bytes).contains(&address);
                let expected = if is_cleared { Element::ZERO } else { element };
                assert_eq!(
                    memory.read(address, DataType::INT8),
                    Ok(expected),
                    "{address} of {first}, {bytes}"
                );
            }
            memory.write(first, DataType::INT8, element);
            assert_eq!(memory.read(first, DataType::INT8), Ok(element));
        }
    }

    /// Clearing all of memory must not allocate each byte.
    #[test]
    fn all_of_memory_is_cleared() {
        let mut memory = ShadowMemory::new(Memory::new(UninitMemory::Poison), FieldImages { seed: 1 });
        memory.clear(0, 1 << 32);
        let mut pages = memory.tables.iter().flatten().flat_map(|table| table.iter());
        assert!(pages.clone().count() == 1 << 20 && pages.all(|page| *page == Page::Zero));
    }
}
