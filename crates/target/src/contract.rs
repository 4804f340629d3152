//! The contract of an accelerator: what it must and can provide.
//!
//! An accelerator must have a [`Target`](target::Target) and an [`Instance`](instance::Instance).
//! If it compiles or reads programs, it also needs a [`Compiled`](program::Compiled). Of the latter
//! two only `info` is required: a struct of everything that is known without work. All other
//! methods have defaults.
//!
//! | part | content | without it |
//! |---|---|---|
//! | `target` | common to all instances; reads instances and artifacts | - |
//! | `instance::info` | name, parameters, sizes, number formats and text forms of an instance | - |
//! | `instance` | compiler, assembler, linter (see `Instance::language`) | no such verb |
//! | `program` | files, words, runs, time | no `npu compile`, `run`, `time` |
//! | `values` | values in formats of the target and its memories | no such inputs or images |
//! | `machine` | a program on its machine, step by step | no `npu debug`, no assembly programs |
//! | `proof`, `bounds` | a program over a prime field, and on ranges | no `npu verify` |
//! | `vectors` | golden vectors | no `npu conform` |
//! | `port`, `convert`, `output` | inputs and outputs of a run | |
//!
//! These methods are capabilities that few targets have. By default each reports that it is not
//! supported. Only the verbs in this table call it:
//!
//! | method | returns | verb |
//! |---|---|---|
//! | `Instance::circuit` | the instance as a circuit | `npu rtl` |
//! | `Instance::language_models` | language models, their time | `npu generate`, `npu time` |
//! | `Instance::host` | the host's registers and commands, apart from instructions | `npu host` |
//! | `Compiled::cosim`, `Machine::cosim` | a program on its circuit | `npu cosim` |
//! | `Machine::motion` | the values inside a unit in each cycle | `npu run --motion`, `npu debug` |

pub mod bounds;
pub mod convert;
pub mod cosim;
pub mod diagram;
pub mod instance;
pub mod machine;
pub mod motion;
pub mod output;
pub mod port;
pub mod program;
pub mod proof;
pub mod target;
pub mod values;
pub mod vectors;
