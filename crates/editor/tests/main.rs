//! Tests of the language server over a connection in memory, for texts of all targets, and of the
//! debugger's protocol over a pipe.
#![allow(clippy::unwrap_used, reason = "tests")]

mod main {
    mod dap;
    mod diagnostics;
    mod editing;
    mod editor;
    mod edits;
    mod many;
    mod names;
    mod reading;
    mod world;
}
