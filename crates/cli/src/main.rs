//! The `npu` command.
fn main() {}
