//! Library part of `npu-interactive`: [`tui`], the debugger on a terminal.

#![forbid(unsafe_code)]

pub mod tui;
