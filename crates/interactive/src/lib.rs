//! What `npu-interactive` has beside the command: [`tui`], the debugger on a terminal.

#![forbid(unsafe_code)]

pub mod tui;
