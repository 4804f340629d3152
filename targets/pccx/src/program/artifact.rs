//! The program container `.pcp`: [`read`] and [`write()`]. Source: specification 9.
//!
//! Little-endian: `PCP1`, version 1, flags (bit 0: extensions), number of sections. For each
//! section follow a tag, an offset in the file and a length; then the contents of the sections. The
//! reader checks each number against the size of the file, and each error gives the offset of its
//! byte.
//!
//! A program can also be stored as text: [`assembly`] and [`manifest`], with the weights in a
//! container; [`memh()`] gives its words only. The manifest contains hashes of the other files:
//! [`read_set`] reads a container that belongs to such a set.

mod error;
mod memh;
mod reading;
mod set;
mod text;
mod writing;

pub use error::ArtifactError;
pub use memh::{memh, read_memh};
pub use reading::read;
pub use set::read_set;
pub use text::{TextError, assembly, manifest, read_text};
pub use writing::write;

const MAGIC: [u8; 4] = *b"PCP1";
const VERSION: u32 = 1;
/// Flag of a program that uses CVO's extensions.
const EXTENSIONS: u32 = 1;
/// Flag of a program that follows the page of the instruction set.
const SEED: u32 = 2;
/// Bytes of the head: magic, version, flags, number of sections.
const HEAD_BYTES: usize = 16;
/// Bytes of a section entry: tag, offset, length.
const ENTRY_BYTES: usize = 12;
/// Bytes of a window: id, direction, 64-bit size, offset of the name.
const WINDOW_BYTES: usize = 20;

/// Tags of the sections that this version defines.
mod tag {
    /// Instructions, words of 64 bits.
    pub const CODE: [u8; 4] = *b"CODE";
    /// Index of the weights of each GEMV and GEMM, 32 bits.
    pub const BINDINGS: [u8; 4] = *b"WBND";
    /// Number of weight images (32 bits), offset in the section of each (64 bits), the images.
    pub const IMAGES: [u8; 4] = *b"WIMG";
    /// Host windows.
    pub const WINDOWS: [u8; 4] = *b"HWIN";
    /// Host operations: position, kind, number of operands, operands, 32 bits each.
    pub const HOST: [u8; 4] = *b"HOST";
    /// Zero-terminated names.
    pub const STRINGS: [u8; 4] = *b"STRS";

    /// All tags in the order in which the sections are written.
    pub const ALL: [[u8; 4]; 6] = [CODE, BINDINGS, IMAGES, WINDOWS, HOST, STRINGS];
}
