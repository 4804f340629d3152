//! The compiler: programs are run on the machine and compared, layer by layer, with a literal evaluation of
//! the quantised layers, and in the end with float.

#[path = "lower/cases.rs"]
mod cases;
#[path = "lower/judge.rs"]
mod judge;
#[path = "lower/networks.rs"]
mod networks;
#[path = "lower/random.rs"]
mod random;
#[path = "lower/runner.rs"]
mod runner;

use runner::{check, graph, image, quantised};
