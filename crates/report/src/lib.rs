//! Reports on a program's execution, as pages and figures.
//!
//! A [`Report`] has the data of one run, of two runs to compare, or of an exploration.
//! [`Report::page`] returns one file for a browser, which works without a network; [`figure`] draws
//! figures for papers, in SVG.
//!
//! The crate is independent of accelerators: it is given reports, and takes a [`Timeline`] from a
//! recorder with [`Gathering`].

mod causes;
mod data;
pub mod figure;
mod page;
mod timeline;

pub use causes::LayerCauses;
pub use data::{Distribution, Edge, Format, GraphNode, Network, Report, Run, SCHEMA};
pub use page::document_of;
pub use timeline::{Counter, Gathering, Lane, Slice, Timeline};
