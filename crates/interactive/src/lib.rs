//! Library part of `npu-interactive`: [`tui`], the debugger on a terminal, and [`serve`], an HTTP
//! server of a language model.

#![forbid(unsafe_code)]

pub mod serve;
pub mod tui;
