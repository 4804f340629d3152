//! Tests of the verbs in one process, with files in memory.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "main/architectures.rs"]
mod architectures;
#[path = "main/assembly.rs"]
mod assembly;
#[path = "main/bounds.rs"]
mod bounds;
#[path = "main/certificates.rs"]
mod certificates;
#[path = "main/costs.rs"]
mod costs;
#[path = "main/damage.rs"]
mod damage;
#[path = "main/diff.rs"]
mod diff;
#[path = "main/edges.rs"]
mod edges;
#[path = "main/explore.rs"]
mod explore;
#[path = "main/generate.rs"]
mod generate;
#[path = "main/layer_compare.rs"]
mod layer_compare;
#[path = "main/lint.rs"]
mod lint;
#[path = "main/memory.rs"]
mod memory;
#[path = "main/numbers.rs"]
mod numbers;
#[path = "main/options.rs"]
mod options;
#[path = "main/passed.rs"]
mod passed;
#[path = "main/quantized.rs"]
mod quantized;
#[path = "main/segments.rs"]
mod segments;
#[path = "main/spans.rs"]
mod spans;
#[path = "main/steps.rs"]
mod steps;
#[path = "main/test_vectors.rs"]
mod test_vectors;
#[path = "main/trace.rs"]
mod trace;
#[path = "main/types.rs"]
mod types;
#[path = "main/values.rs"]
mod values;
#[path = "main/verbs.rs"]
mod verbs;
#[path = "main/verify.rs"]
mod verify;
#[path = "main/verify_random.rs"]
mod verify_random;
#[path = "main/verify_segments.rs"]
mod verify_segments;
