//! Programs against the graphs they were made of: [`prove`], [`judge`].
//!
//! A program and a graph compute in the field of 2^61 - 1 on elements that look random ([`npukit_graph::field`],
//! [`npukit_target::FieldProgram`]). Where an output is the same polynomial of the inputs they agree; where it is not
//! they differ, but with a probability of at most the polynomials' degree over 2^61 for each run.
//!
//! [`Bounding`] is what a program may do on ranges of inputs: its largest errors, and where it may saturate.
//!
//! What the graph is taken for differs from the model by the passes that change constants. [`agreement`] compares the two
//! in floats. A [`Certificate`] says what was proved, and is checked by proving it again.

mod agreement;
mod bounds;
mod certificate;
mod proof;
mod values;

pub use agreement::{Agreement, agreement, numbers, samples};
pub use bounds::{Bounding, Corner, OutputBound};
pub use certificate::{
    Certificate, CertificateError, Claim, CoveredOutput, Files, InstanceMark, SCHEMA, Subject, UncoveredNode,
    canonical,
};
pub use npukit_graph::field::Gap;
pub use proof::{Counterexample, OutputProof, Proof, ProofError, judge, prove};
pub use values::ValuePlace;
