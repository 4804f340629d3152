//! The program `npu`, without the parts in `npu-interactive`.

use std::process::ExitCode;

fn main() -> ExitCode {
    npukit_cli::main(None)
}
