//! What an accelerator provides.
//!
//! An accelerator must have a [`Target`](target::Target), an [`Instance`](instance::Instance) and, if it compiles or reads
//! programs, a [`Compiled`](program::Compiled). Of the latter two only `info` must be written: a struct of all that is known
//! without work. Every other method has a default.
//!
//! | part | is | without it |
//! |---|---|---|
//! | `target` | what is the same of all instances, and how instances and artifacts are read: constants and functions | - |
//! | `instance::info` | name, parameters, sizes, numbers and forms of an instance | - |
//! | `instance` | compiler, assembler, disassembler, linter; texts are of the instruction set of `Instance::language` | no such verb |
//! | `program` | a compiled program: its info, files, words, runs, time | no `npu compile`, `run`, `time` |
//! | `values` | values in the forms of the target's own tools and memories | no such files as inputs, no images of memory |
//! | `machine` | a program on its machine, step by step with open memories | no `npu debug`, no run of a program by hand |
//! | `proof`, `bounds` | a program over a prime field, and with ranges for numbers | no `npu verify` |
//! | `vectors` | golden vectors | no `npu conform` |
//! | `port`, `convert`, `output` | what goes into a run and comes of it | |
//!
//! Five methods are capabilities that hardly a target has. Each answers that it is not there by default, and the verb that
//! asks for it is its only caller:
//!
//! | method | is | verb |
//! |---|---|---|
//! | `Instance::circuit` | the instance as a circuit | `npu rtl` |
//! | `Instance::generator` | a language model, token by token | `npu generate` |
//! | `Instance::host` | what software on the host writes and reads beside instructions | `npu host` |
//! | `Compiled::cosim`, `Machine::cosim` | a program on the circuit of its machine, and the same with memories filled by hand | `npu cosim` |

pub mod bounds;
pub mod convert;
pub mod cosim;
pub mod diagram;
pub mod instance;
pub mod machine;
pub mod output;
pub mod port;
pub mod program;
pub mod proof;
pub mod target;
pub mod values;
pub mod vectors;
