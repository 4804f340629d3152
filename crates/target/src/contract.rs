//! What an accelerator provides.
//!
//! | module | is | an accelerator must have it |
//! |---|---|---|
//! | `target` | what is the same of all instances, and how instances and artifacts are read | yes |
//! | `instance` | one with its parameters fixed: configuration, compiler, text; a program by hand, a generator of texts | its name and its configuration |
//! | `program` | a compiled program: files, runs, time | its report and its ports |
//! | `machine` | a program on its machine, step by step with open memories | no: `npu debug`, `npu run` of programs by hand |
//! | `proof`, `bounds` | a program over a prime field, and with ranges for numbers | no: `npu verify` |
//! | `cosim` | a program on the machine's circuit | no: `npu cosim` |
//! | `instance::host` | what software on the host writes and reads beside instructions | no: `npu host` |
//! | `vectors` | golden vectors | no: `npu conform` |
//! | `port`, `convert`, `output` | what goes into a run and comes of it | |

pub mod bounds;
pub mod convert;
pub mod cosim;
pub mod instance;
pub mod machine;
pub mod output;
pub mod port;
pub mod program;
pub mod proof;
pub mod target;
pub mod values;
pub mod vectors;
