//! `npukit._npukit`, the native part of the Python package: the facade's verbs on Python's values. What they give
//! is JSON and arrays; `python/lib` makes classes of them.

mod arrays;
mod context;
mod diff;
mod errors;
mod explore;
mod machine;
mod model;
mod program;
mod source;
mod verbs;
mod work;

use pyo3::pymodule;

/// The native part of npukit.
#[pymodule]
mod _npukit {
    #[pymodule_export]
    use super::diff::diff;
    #[pymodule_export]
    use super::explore::Exploration;
    #[pymodule_export]
    use super::machine::Machine;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::program::{Program, read};
    #[pymodule_export]
    use super::verbs::{assemble, disassemble, isa, parameters, resolve, targets, version, zoo, zoo_list};
}
