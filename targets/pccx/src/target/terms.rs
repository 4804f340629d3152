//! Terms of this machine's documents and reports, for `npu explain`.

use npukit_target::Term;

/// All terms in alphabetical order.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub const TERMS: &[Term] = &[
    Term::new("constant bank", &["fmap bank", "weight bank"],
        "64 entries of three numbers, written by MEMSET, which other instructions refer to by index: shapes of activations and transfers, and of weights."),
    Term::new("CVO", &["special function unit"],
        "Instruction and unit of functions over a vector: exponential, root, Gelu, sine, cosine, sum, scaling, reciprocal; one element per cycle."),
    Term::new("e_max", &["findemax", "sub_emax"],
        "The largest result of the last product with flag findemax; flag sub_emax subtracts it from each element, so that a softmax cannot overflow."),
    Term::new("GEMM", &["matrix core"],
        "Product of a matrix of 4-bit weights and several vectors of activations, on 32 x 32 elements; for prompts."),
    Term::new("GEMV", &["vector core"],
        "Product of a matrix of 4-bit weights and one vector of activations, on four lanes of 32 products per cycle; for single tokens."),
    Term::new("host window", &["window"],
        "Part of host memory, up to 2 MiB, that MEMCPY reads or writes by number."),
    Term::new("INT4 image", &[],
        "A matrix as rows of 4-bit integers with a scale for each row, the format of weights in the engines."),
    Term::new("L2", &[],
        "The machine's memory: 114,688 words of 128 bits on the reference instance, eight BF16 values each. All addresses are in words."),
    Term::new("segment", &[],
        "Instructions between two steps of the host."),
    Term::new("strict", &[],
        "Property of an instance: words without meaning and set reserved bits are faults. Without it they are handled as in the circuits."),
];
