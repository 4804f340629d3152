//! Reads a [`Program`] from bytes.

use std::sync::Arc;

use super::{ArtifactError, ENTRY_BYTES, EXTENSIONS, HEAD_BYTES, MAGIC, SEED, VERSION, WINDOW_BYTES, tag};
use crate::config::Reading;
use crate::isa::codec::{Codec, decode_program};
use crate::isa::fault::Direction;
use crate::machine::weights::WeightImage;
use crate::program::{Extra, HostOp, Program, Window};

/// Reads a container.
///
/// # Errors
/// [`ArtifactError::Malformed`] and [`ArtifactError::Short`] for another format or version, and for
/// sections that overlap, are duplicate or exceed the file; [`ArtifactError::Code`],
/// [`ArtifactError::Weights`] and [`ArtifactError::Program`] for invalid contents.
pub fn read(bytes: &[u8]) -> Result<Program, ArtifactError> {
    let head = part(bytes, 0, HEAD_BYTES as u64, "the container's head")?;
    if !head.starts_with(&MAGIC) {
        return Err(malformed(0, "a program container begins with `PCP1`"));
    }
    let (version, flags, count) = (u32_at(head, 4), u32_at(head, 8), u32_at(head, 12));
    if version != VERSION {
        return Err(malformed(4, format!("version {version}: this reads version {VERSION}")));
    }
    if flags & !(EXTENSIONS | SEED) != 0 {
        let legal = format!(
            "sums of {EXTENSIONS} (extensions) and {SEED} (following the page of the instruction set)"
        );
        return Err(malformed(8, format!("flags {flags:#x}: legal are {legal}")));
    }
    let sections = table(bytes, count)?;
    let section = |tag: [u8; 4]| {
        let found = sections.iter().find(|section| section.tag == tag);
        found.copied().unwrap_or(Section { tag, offset: bytes.len(), content: &[] })
    };
    let extensions = flags & EXTENSIONS != 0;
    let extra = |section: &Section<'_>| Extra { tag: section.tag, bytes: section.content.to_vec() };
    let program = Program {
        extensions,
        reading: if flags & SEED != 0 { Reading::Seed } else { Reading::Documents },
        code: code(section(tag::CODE), extensions)?,
        bindings: words(section(tag::BINDINGS))?,
        images: images(bytes, section(tag::IMAGES))?,
        windows: windows(section(tag::WINDOWS), section(tag::STRINGS))?,
        host_ops: host_ops(section(tag::HOST))?,
        extras: sections.iter().filter(|section| !tag::ALL.contains(&section.tag)).map(extra).collect(),
    };
    program.check()?;
    Ok(program)
}

/// Section of the file.
#[derive(Clone, Copy)]
struct Section<'a> {
    tag: [u8; 4],
    offset: usize,
    content: &'a [u8],
}

fn malformed(offset: usize, what: impl Into<String>) -> ArtifactError {
    ArtifactError::Malformed { offset, what: what.into() }
}

fn part<'a>(
    bytes: &'a [u8],
    offset: usize,
    need: u64,
    what: &'static str,
) -> Result<&'a [u8], ArtifactError> {
    // Default: no bytes are left after the end, which is reported below.
    let left = bytes.get(offset..).unwrap_or_default();
    let size = usize::try_from(need).ok();
    size.and_then(|size| left.get(..size)).ok_or(ArtifactError::Short {
        offset,
        what,
        have: left.len(),
        need,
    })
}

/// Returns the 32 bits at `at`; 0 after the end, which the caller has excluded.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at + 4)) << 32 | u64::from(u32_at(bytes, at))
}

fn table(bytes: &[u8], count: u32) -> Result<Vec<Section<'_>>, ArtifactError> {
    let need = u64::from(count) * ENTRY_BYTES as u64;
    let table = part(bytes, HEAD_BYTES, need, "the table of sections")?;
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (index, entry) in table.chunks_exact(ENTRY_BYTES).enumerate() {
        let at = HEAD_BYTES + index * ENTRY_BYTES;
        let tag = *entry.first_chunk().expect("an entry is longer than its tag");
        let (offset, length) = (u32_at(entry, 4) as usize, u32_at(entry, 8));
        if sections.iter().any(|section| section.tag == tag) {
            return Err(malformed(at, format!("there are two sections {}", name(tag))));
        }
        if offset < HEAD_BYTES + table.len() {
            return Err(malformed(at + 4, format!("section {} begins in the table of sections", name(tag))));
        }
        sections.push(Section { tag, offset, content: part(bytes, offset, length.into(), "a section")? });
    }
    let mut order = sections.clone();
    order.sort_by_key(|section| section.offset);
    for (first, second) in order.iter().zip(order.iter().skip(1)) {
        if first.offset + first.content.len() > second.offset {
            let (first, second_name) = (name(first.tag), name(second.tag));
            return Err(malformed(
                second.offset,
                format!("section {second_name} begins inside section {first}"),
            ));
        }
    }
    Ok(sections)
}

fn name(tag: [u8; 4]) -> String {
    tag.escape_ascii().to_string()
}

fn code(section: Section<'_>, extensions: bool) -> Result<Vec<crate::isa::op::Op>, ArtifactError> {
    let codec = Codec { extensions, strict: true };
    let offset = section.offset;
    decode_program(&codec, section.content).map_err(|errors| ArtifactError::Code { offset, errors })
}

/// Returns the 32-bit numbers of a section.
fn words(section: Section<'_>) -> Result<Vec<u32>, ArtifactError> {
    let (words, rest) = section.content.as_chunks::<4>();
    if !rest.is_empty() {
        let offset = section.offset + section.content.len() - rest.len();
        return Err(malformed(offset, format!("the last number has {} of 4 bytes", rest.len())));
    }
    Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

fn images(bytes: &[u8], section: Section<'_>) -> Result<Vec<Arc<WeightImage>>, ArtifactError> {
    let Section { offset, content, .. } = section;
    if content.is_empty() {
        return Ok(Vec::new());
    }
    let within = |error: ArtifactError| match error {
        ArtifactError::Short { offset: at, what, have, need } => {
            ArtifactError::Short { offset: offset + at, what, have, need }
        }
        other => other,
    };
    let count = u32_at(part(content, 0, 4, "the number of weight images").map_err(within)?, 0);
    let places = part(content, 4, 8 * u64::from(count), "the places of weight images").map_err(within)?;
    let end = offset + content.len();
    // An image extends from its offset in the file to the section's end, so offsets in errors are
    // relative to the file.
    let file = &bytes[..end];
    let mut total = 0;
    let one = |(image, place): (usize, &[u8])| {
        let at = usize::try_from(u64_at(place, 0)).ok().and_then(|at| at.checked_add(offset));
        let at = at.filter(|&at| at <= end && at >= offset + 4 + places.len());
        let at = at.ok_or_else(|| {
            malformed(offset + 4 + 8 * image, format!("weight image {image} is not in its section"))
        })?;
        let (found, until) =
            WeightImage::read(file, at).map_err(|error| ArtifactError::Weights { image, error })?;
        // Overlapping images could otherwise make a small file fill memory.
        total += until - at;
        if total > content.len() {
            return Err(malformed(at, format!("weight image {image} begins inside another")));
        }
        Ok(Arc::new(found))
    };
    places.chunks_exact(8).enumerate().map(one).collect()
}

fn windows(section: Section<'_>, strings: Section<'_>) -> Result<Vec<Window>, ArtifactError> {
    let entries = section.content.chunks_exact(WINDOW_BYTES);
    if !entries.remainder().is_empty() {
        let (left, offset) = (entries.remainder().len(), section.offset + section.content.len());
        return Err(malformed(offset - left, format!("the last window has {left} of {WINDOW_BYTES} bytes")));
    }
    let mut total = 0;
    let one = |(index, entry): (usize, &[u8])| {
        let at = section.offset + index * WINDOW_BYTES;
        let direction = match u32_at(entry, 4) {
            0 => Direction::HostToL2,
            1 => Direction::L2ToHost,
            other => {
                let legal = "legal are 0 (from the host to L2) and 1 (from L2 to the host)";
                return Err(malformed(at + 4, format!("direction {other}: {legal}")));
            }
        };
        let name = string(strings, u32_at(entry, 16), at + 16)?;
        // Windows may share short names, so only the excess length is limited.
        total += name.len().saturating_sub(WINDOW_BYTES);
        if total > strings.content.len() {
            return Err(malformed(at + 16, "names of windows are longer than all there are"));
        }
        Ok(Window { number: u32_at(entry, 0), direction, size_bytes: u64_at(entry, 8), name })
    };
    entries.enumerate().map(one).collect()
}

/// Returns the name at byte `start` of the names; `at` is the offset of the reference, for errors.
fn string(strings: Section<'_>, start: u32, at: usize) -> Result<String, ArtifactError> {
    // Default: no bytes are left after the section, and no name ends there.
    let rest = strings.content.get(start as usize..).unwrap_or_default();
    let Some(end) = rest.iter().position(|&byte| byte == 0) else {
        return Err(malformed(at, format!("no name begins at byte {start} of section STRS and ends in it")));
    };
    let text = std::str::from_utf8(&rest[..end]);
    text.map(str::to_owned).map_err(|error| {
        let offset = strings.offset + start as usize + error.valid_up_to();
        malformed(offset, "a name is not UTF-8 text")
    })
}

fn host_ops(section: Section<'_>) -> Result<Vec<HostOp>, ArtifactError> {
    let words = words(section)?;
    let mut rest = &words[..];
    let mut ops = Vec::new();
    while let Some((&[position, kind, count], operands)) = rest.split_first_chunk() {
        let at = section.offset + 4 * (words.len() - rest.len());
        let Some((operands, after)) = operands.split_at_checked(count as usize) else {
            let (have, need) = (4 * operands.len(), 4 * u64::from(count));
            return Err(ArtifactError::Short {
                offset: at + 12,
                what: "the operands of a host operation",
                have,
                need,
            });
        };
        ops.push(HostOp { position, kind, operands: operands.to_vec() });
        rest = after;
    }
    if !rest.is_empty() {
        let offset = section.offset + 4 * (words.len() - rest.len());
        return Err(malformed(
            offset,
            "a host operation is incomplete: it has a position, a kind and a number of operands",
        ));
    }
    Ok(ops)
}
