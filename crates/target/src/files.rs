//! Input and output bytes: reading files, the parts of artifacts and their seals, and the cache
//! between runs.

pub mod cache;
pub mod hash;
pub mod parts;
pub mod read;
pub mod seal;
pub mod source_map;
