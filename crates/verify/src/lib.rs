//! Checks that programs compute the graphs they were compiled from: [`prove`], [`judge`].
//!
//! A program and a graph compute in the field of 2^61 - 1 on pseudorandom elements
//! ([`npukit_graph::field`], [`npukit_target::FieldProgram`]). If an output is the same polynomial
//! of the inputs, the results are equal. If it is not, they differ, except with a probability of at
//! most the polynomials' degree over 2^61 for each run.
//!
//! [`Bounding`] holds what a program may compute on ranges of inputs: its largest errors, and the
//! results that may saturate.
//!
//! Passes that change constants make the compared graph differ from the model. [`agreement`]
//! compares the two in floats. A [`Certificate`] records what was proved, and is checked by
//! repeating the proof.

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
