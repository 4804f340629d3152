//! Writes a [`Program`] as bytes.

use super::{ArtifactError, ENTRY_BYTES, EXTENSIONS, HEAD_BYTES, MAGIC, SEED, VERSION, tag};
use crate::config::{Reading, WORD_BYTES};
use crate::isa::codec::{Codec, EncodeErrors, encode_program};
use crate::isa::fault::Direction;
use crate::program::Program;

/// Returns the container of a consistent program; sections are aligned to 16 bytes, the size of a
/// beat.
///
/// # Errors
/// The errors of [`Program::check`]; [`ArtifactError::Encode`] with all instructions that cannot be
/// encoded; [`ArtifactError::TooLarge`] above 4 GiB.
pub fn write(program: &Program) -> Result<Vec<u8>, ArtifactError> {
    program.check()?;
    let sections = sections(program)?;
    let mut bytes = MAGIC.to_vec();
    let extensions = if program.extensions { EXTENSIONS } else { 0 };
    let flags = extensions | if program.reading == Reading::Seed { SEED } else { 0 };
    for field in [VERSION, flags, sections.len() as u32] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    let table = HEAD_BYTES + ENTRY_BYTES * sections.len();
    let sizes: u64 =
        sections.iter().map(|(_, content)| content.len().next_multiple_of(WORD_BYTES) as u64).sum();
    let total = table.next_multiple_of(WORD_BYTES) as u64 + sizes;
    if total > u64::from(u32::MAX) {
        return Err(ArtifactError::TooLarge { bytes: total });
    }
    let mut offset = table.next_multiple_of(WORD_BYTES);
    for (tag, content) in &sections {
        bytes.extend_from_slice(tag);
        bytes.extend_from_slice(&(offset as u32).to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        offset += content.len().next_multiple_of(WORD_BYTES);
    }
    for (_, content) in sections {
        bytes.resize(bytes.len().next_multiple_of(WORD_BYTES), 0);
        bytes.extend(content);
    }
    Ok(bytes)
}

/// Tag and content of a section.
type Section = ([u8; 4], Vec<u8>);

fn sections(program: &Program) -> Result<Vec<Section>, ArtifactError> {
    let (windows, strings) = windows(program);
    let mut sections = vec![
        (tag::CODE, code(program)?),
        (tag::BINDINGS, program.bindings.iter().flat_map(|image| image.to_le_bytes()).collect()),
        (tag::IMAGES, images(program)),
        (tag::WINDOWS, windows),
        (tag::HOST, host_ops(program)),
        (tag::STRINGS, strings),
    ];
    sections.extend(program.extras.iter().map(|extra| (extra.tag, extra.bytes.clone())));
    Ok(sections)
}

/// Returns the words of the instructions.
pub(super) fn code(program: &Program) -> Result<Vec<u8>, EncodeErrors> {
    encode_program(&Codec { extensions: program.extensions, strict: true }, &program.code)
}

fn images(program: &Program) -> Vec<u8> {
    let mut bytes = (program.images.len() as u32).to_le_bytes().to_vec();
    let mut offset = (4 + 8 * program.images.len()).next_multiple_of(WORD_BYTES);
    for image in &program.images {
        bytes.extend_from_slice(&(offset as u64).to_le_bytes());
        offset += image.size_bytes().next_multiple_of(WORD_BYTES);
    }
    for image in &program.images {
        bytes.resize(bytes.len().next_multiple_of(WORD_BYTES), 0);
        image.write(&mut bytes);
    }
    bytes
}

/// Returns the table of windows, and their names.
fn windows(program: &Program) -> (Vec<u8>, Vec<u8>) {
    let (mut bytes, mut strings) = (Vec::new(), Vec::new());
    for window in &program.windows {
        let direction: u32 = if window.direction == Direction::HostToL2 { 0 } else { 1 };
        bytes.extend_from_slice(&window.number.to_le_bytes());
        bytes.extend_from_slice(&direction.to_le_bytes());
        bytes.extend_from_slice(&window.size_bytes.to_le_bytes());
        bytes.extend_from_slice(&(strings.len() as u32).to_le_bytes());
        // A zero ends a name in the file, so a name is cut at its first zero.
        strings.extend(window.name.bytes().take_while(|&byte| byte != 0));
        strings.push(0);
    }
    (bytes, strings)
}

fn host_ops(program: &Program) -> Vec<u8> {
    let record = |op: &crate::program::HostOp| {
        let head = [op.position, op.kind, op.operands.len() as u32];
        head.into_iter().chain(op.operands.iter().copied()).flat_map(u32::to_le_bytes).collect::<Vec<_>>()
    };
    program.host_ops.iter().flat_map(record).collect()
}
