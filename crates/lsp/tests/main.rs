//! The server over a connection in memory, for texts of all targets.
#![allow(clippy::unwrap_used, reason = "tests")]

mod main {
    mod diagnostics;
    mod editing;
    mod editor;
    mod edits;
    mod many;
    mod names;
    mod reading;
    mod world;
}
