//! `npukit._npukit`, the native part of the Python package: the facade's verbs on Python values.
//! They return JSON and arrays; `python/lib` wraps them in classes.

mod arrays;
mod context;
mod diff;
mod errors;
mod explore;
mod language;
mod machine;
mod model;
mod program;
mod source;
mod verbs;
mod work;

use pyo3::pymodule;

/// Native part of npukit.
#[pymodule]
mod _npukit {
    #[pymodule_export]
    use super::diff::diff;
    #[pymodule_export]
    use super::explore::Exploration;
    #[pymodule_export]
    use super::language::{Answer, LanguageModel};
    #[pymodule_export]
    use super::machine::Machine;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::program::{Program, read};
    #[pymodule_export]
    use super::verbs::{assemble, disassemble, isa, parameters, resolve, targets, version, zoo, zoo_list};
}
