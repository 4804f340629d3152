//! Servers for editors: [`lsp`] is a language server for assembly programs, [`dap`] serves the
//! debugger with the Debug Adapter Protocol.

#![forbid(unsafe_code)]

pub mod dap;
pub mod lsp;
