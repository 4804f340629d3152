//! `npu` without the parts that `npu-interactive` has.

use std::process::ExitCode;

fn main() -> ExitCode {
    npukit_cli::main(None)
}
