//! Bytes that come and go: files that are read, artifacts and what holds their parts together, what is kept between runs.

pub mod cache;
pub mod hash;
pub mod parts;
pub mod read;
pub mod seal;
pub mod source_map;
