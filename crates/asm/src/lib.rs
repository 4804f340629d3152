//! Text to words and back, for any instruction set.
