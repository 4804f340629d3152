//! Options `--mem`, `--dump` and `--motion` on the command line: [`MemFile`], [`DumpRequest`] and
//! [`MotionRequest`].

use npukit_asm::MemoryRange;

/// File that fills a memory before a run: `NAME[@ADDRESS]=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemFile {
    /// Name of the memory.
    pub memory: String,
    /// First address to fill.
    pub address: u64,
    /// Path of the file: `.npy`, `.npz`, `.csv` or `.hex`.
    pub path: String,
}

impl MemFile {
    /// Parses the option; returns `None` for another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (place, path) = text.split_once('=')?;
        let (memory, address) = match place.rsplit_once('@') {
            Some((memory, address)) => (memory, number(address)?),
            None => (place, 0),
        };
        let (memory, path) = (memory.trim().to_owned(), path.to_owned());
        (!memory.is_empty() && !path.is_empty()).then_some(Self { memory, address, path })
    }
}

/// Memory range to show or write after a run: `NAME[A:B][=FILE]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpRequest {
    /// Text as given, without the file.
    pub text: String,
    /// Range of addresses.
    pub range: MemoryRange,
    /// Path of the file to write, if any: `.npy`, `.npz`, `.csv` or `.hex`.
    pub path: Option<String>,
}

impl DumpRequest {
    /// Parses the option; returns `None` for another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (range, path) = match text.split_once('=') {
            Some((range, path)) => (range, Some(path.to_owned())),
            None => (text, None),
        };
        let is_named = path.as_ref().is_none_or(|path| !path.is_empty());
        Some(Self { text: range.to_owned(), range: MemoryRange::parse(range)?, path }).filter(|_| is_named)
    }
}

/// Step to draw in motion: `[STEP=]FILE.svg`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MotionRequest {
    /// Number of the step; `None` for the first step that has a drawing.
    pub step: Option<usize>,
    /// Path of the file to write.
    pub path: String,
}

impl MotionRequest {
    /// Parses the option; returns `None` for another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (step, path) = match text.split_once('=') {
            Some((step, path)) => (Some(usize::try_from(number(step)?).ok()?), path),
            None => (None, text),
        };
        path.to_lowercase().ends_with(".svg").then(|| Self { step, path: path.to_owned() })
    }
}

/// Parses `12`, `0xc` or `0b1100`.
fn number(text: &str) -> Option<u64> {
    npukit_isa::token::number(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_filled_from_an_address_on() {
        let parsed = |text| MemFile::parse(text).map(|mem| (mem.memory, mem.address, mem.path));
        assert_eq!(parsed("dram0=x.npy"), Some(("dram0".into(), 0, "x.npy".into())));
        assert_eq!(parsed("bank 3@0x10=a=b.hex"), Some(("bank 3".into(), 16, "a=b.hex".into())));
        for text in ["dram0", "=x.npy", "dram0=", "dram0@=x", "dram0@x=y", "@1=y"] {
            assert_eq!(MemFile::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_dump_may_have_a_file() {
        let parsed = |text| DumpRequest::parse(text).map(|dump| (dump.range.end, dump.path));
        assert_eq!(parsed("acc[0:4]=y.npy"), Some((Some(4), Some("y.npy".into()))));
        assert_eq!(parsed("acc"), Some((None, None)));
        assert_eq!((parsed("acc[1"), parsed("acc=")), (None, None));
    }

    #[test]
    fn a_motion_may_have_a_step() {
        let parsed = |text| MotionRequest::parse(text).map(|motion| (motion.step, motion.path));
        assert_eq!(parsed("a.svg"), Some((None, "a.svg".into())));
        assert_eq!(parsed("0x10=a.svg"), Some((Some(16), "a.svg".into())));
        assert_eq!((parsed("a.png"), parsed("x=a.svg"), parsed("")), (None, None, None));
    }
}
