//! Spans, typed indices and bit cursors.
