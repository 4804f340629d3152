//! What a program does as pictures.
//!
//! A [`Report`] has what is known of one run, of two beside each other, or of an exploration: [`Report::page`] is one file
//! for a browser that opens without a network, and [`figure`] draws the same for papers, in SVG.
//!
//! The crate knows no accelerator: it is given reports, and takes a [`Timeline`] from a recorder by [`Gathering`].

mod data;
pub mod figure;
mod page;
mod timeline;

pub use data::{Distribution, Edge, Format, GraphNode, Network, Report, Run, SCHEMA};
pub use page::document_of;
pub use timeline::{Counter, Gathering, Lane, Slice, Timeline};
