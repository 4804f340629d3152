//! The compiler: programs run on the machine and are compared layer by layer with a literal
//! evaluation of the quantized layers, and finally with float.

#[path = "lower/cases.rs"]
mod cases;
#[path = "lower/judge.rs"]
mod judge;
#[path = "lower/maps.rs"]
mod maps;
#[path = "lower/networks.rs"]
mod networks;
#[path = "lower/random.rs"]
mod random;
#[path = "lower/refused.rs"]
mod refused;
#[path = "lower/runner.rs"]
mod runner;
#[path = "lower/small.rs"]
mod small;

use runner::{check, graph, image, quantized};
