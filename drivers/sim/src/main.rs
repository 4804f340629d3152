//! `npukit-board-sim SOCKET BOARD`: a board for tests of the drivers, behind a Unix socket.
//!
//! BOARD is `tcu:INSTANCE`, `opu:INSTANCE`, `drra:INSTANCE` or `pccx:INSTANCE`; of the TCU the instance may be a `.tarch` file, and `@BITS` behind it is the width of its streams. Each connection is a board after power-on, whose memories hold
//! garbage; the protocol is in [`server`]. One line, `ready`, is printed when the socket takes connections.

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

/// Makes a board as it is after power-on.
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
            "usage: npukit-board-sim SOCKET BOARD, as in `npukit-board-sim board.socket tcu:pynqz1`".into()
        );
    };
    let board = board(name)?;
    // What is wrong with the instance is said now, not to the first who connects.
    board()?;
    let listener = UnixListener::bind(path).map_err(|error| format!("{path}: {error}"))?;
    let said = writeln!(std::io::stdout(), "ready").and_then(|()| std::io::stdout().flush());
    said.map_err(|error| error.to_string())?;
    loop {
        let (mut connection, _) = listener.accept().map_err(|error| format!("{path}: {error}"))?;
        // The driver went away, which is how a connection ends.
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
        _ => Err(format!("there is no board for `{target}`: tcu, opu, drra or pccx")),
    }
}
