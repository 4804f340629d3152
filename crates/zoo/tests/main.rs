//! The networks of the zoo against published counts, the graph they import to, and a number format.

#[path = "main/counts.rs"]
mod counts;
#[path = "main/ranges.rs"]
mod ranges;
