//! Programs in files, and compiled models with the driver's work for a sample.
//!
//! | module | content |
//! |---|---|
//! | `artifact`, `binary` | programs and compiled models in files |
//! | `plan` | a model as steps |
//! | `gather` | which elements of a tensor form the words of a vector |
//! | `kernels`, `call` | kernel functions, and the inputs and outputs of a kernel call |
//! | `executable` | a plan with its kernels as programs |
//! | `driver`, `fabrics` | runs an executable for a sample, its kernel calls on simulated fabrics |

pub(crate) mod artifact;
pub(crate) mod binary;
pub(crate) mod call;
pub(crate) mod driver;
pub(crate) mod executable;
mod fabrics;
pub(crate) mod gather;
pub(crate) mod kernels;
pub(crate) mod plan;
