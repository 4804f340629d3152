//! The program container `.pcp`: [`read`] and [`write()`]. Source: specification 9.
//!
//! Little-endian: `PCP1`, version 1, flags (bit 0: extensions), number of sections; for each section a tag,
//! an offset in the file and a length; then the sections. A reader believes no number before it has
//! counted the bytes, and every error has the byte at which it is.
//!
//! As text a program is [`assembly`] and [`manifest`], with the weights in a container; [`memh()`] are its words alone.
//! The manifest has the hashes of the others: [`read_set`] reads a container that is one of such a set.

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
/// Flag of a program that goes by the page of the instruction set.
const SEED: u32 = 2;
/// Magic, version, flags, number of sections.
const HEAD_BYTES: usize = 16;
/// Tag, offset, length.
const ENTRY_BYTES: usize = 12;
/// Id, direction, size of 64 bits, offset of the name.
const WINDOW_BYTES: usize = 20;

/// The sections that this version defines.
mod tag {
    /// The instructions, words of 64 bits.
    pub const CODE: [u8; 4] = *b"CODE";
    /// The index of the weights of each GEMV and GEMM, 32 bits.
    pub const BINDINGS: [u8; 4] = *b"WBND";
    /// How many images there are (32 bits), where in the section each begins (64 bits), the images.
    pub const IMAGES: [u8; 4] = *b"WIMG";
    /// The host windows.
    pub const WINDOWS: [u8; 4] = *b"HWIN";
    /// Host operations: position, kind, number of operands, operands, 32 bits each.
    pub const HOST: [u8; 4] = *b"HOST";
    /// Names, each with a zero after it.
    pub const STRINGS: [u8; 4] = *b"STRS";

    /// All of them, in the order they are written.
    pub const ALL: [[u8; 4]; 6] = [CODE, BINDINGS, IMAGES, WINDOWS, HOST, STRINGS];
}
