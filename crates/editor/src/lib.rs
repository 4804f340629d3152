//! What serves editors: [`lsp`] is a language server for program text, [`dap`] the debugger behind the Debug Adapter Protocol.

#![forbid(unsafe_code)]

pub mod dap;
pub mod lsp;
