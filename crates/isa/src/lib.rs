//! What an instruction set is: fields, formats, contexts, encode, decode, checks.
