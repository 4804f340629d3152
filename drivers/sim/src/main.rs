//! `npukit-board-sim SOCKET BOARD`: a simulated board for tests of the drivers, on a Unix socket.
//!
//! BOARD is `tcu:INSTANCE`, `opu:INSTANCE`, `drra:INSTANCE` or `pccx:INSTANCE`. A TCU instance may
//! be a `.tarch` file; the suffix `@BITS` sets the width of its streams. Each connection gets a
//! board after power-on, whose memories hold garbage. The protocol is described in [`server`]. The
//! line `ready` is printed when the socket accepts connections.

mod dma;
mod drra;
mod faults;
mod opu;
mod pccx;
mod ram;
mod server;
mod tcu;

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use server::{Board, serve};

/// Makes a board in its state after power-on.
type MakeBoard = Box<dyn Fn() -> Result<Box<dyn Board>, String>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [path, name] = arguments else {
        return Err(
            "usage: npukit-board-sim SOCKET BOARD, for example `npukit-board-sim board.socket tcu:pynqz1`"
                .into(),
        );
    };
    let board = board(name)?;
    // Reports an invalid instance now, not to the first connection.
    board()?;
    let listener = UnixListener::bind(path).map_err(|error| format!("{path}: {error}"))?;
    let said = writeln!(std::io::stdout(), "ready").and_then(|()| std::io::stdout().flush());
    said.map_err(|error| error.to_string())?;
    loop {
        let (mut connection, _) = listener.accept().map_err(|error| format!("{path}: {error}"))?;
        // A closed connection is the normal end, not an error.
        let _ = serve(&mut connection, &mut *board()?);
    }
}

fn board(name: &str) -> Result<MakeBoard, String> {
    let (target, instance) =
        name.split_once(':').ok_or_else(|| format!("`{name}` is not TARGET:INSTANCE"))?;
    match target {
        "tcu" => tcu::maker(instance),
        "opu" => opu::maker(instance),
        "drra" => drra::maker(instance),
        "pccx" => pccx::maker(instance),
        _ => Err(format!("unknown target `{target}`; legal: tcu, opu, drra or pccx")),
    }
}
