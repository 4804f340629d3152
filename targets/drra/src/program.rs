//! Programs in files, and compiled models with what a driver does for a sample.
//!
//! | module | is |
//! |---|---|
//! | `artifact`, `binary` | programs and compiled models in files |
//! | `plan` | a model as steps, and what each does |
//! | `gather` | which elements of a tensor make the words of a vector |
//! | `kernels`, `call` | what kernels compute, and what a call of one loads and gives |
//! | `executable` | a plan with its kernels as programs |
//! | `driver` | what a driver does with them for a sample |

pub(crate) mod artifact;
pub(crate) mod binary;
pub(crate) mod call;
pub(crate) mod driver;
pub(crate) mod executable;
pub(crate) mod gather;
pub(crate) mod kernels;
pub(crate) mod plan;
