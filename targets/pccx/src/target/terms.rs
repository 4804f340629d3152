//! Terms of this machine's documents and reports, for `npu explain`.

use npukit_target::Term;

/// All terms in alphabetical order.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub const TERMS: &[Term] = &[
    Term::new("activations", &[],
        "Option of the compiler, and its choice: bits of the activations in a product. 16 bits need two passes of 8."),
    Term::new("coherent port", &[],
        "Connection through which MEMCPY moves words between host memory and L2."),
    Term::new("constant bank", &["fmap bank", "weight bank"],
        "64 entries of three numbers, written by MEMSET, which other instructions refer to by index: shapes of activations and transfers, and of weights."),
    Term::new("CVO", &["special function unit", "special functions"],
        "Instruction and unit of functions over a vector: exponential, root, Gelu, sine, cosine, sum, scaling, reciprocal; one element per cycle."),
    Term::new("dispatcher", &[],
        "Unit that reads instructions in order and sends each to its engine, or waits for the host."),
    Term::new("e_max", &["findemax", "sub_emax"],
        "The largest result of the last product with flag findemax; flag sub_emax subtracts it from each element, so that a softmax cannot overflow."),
    Term::new("engine model", &[],
        "The cost model of this machine: cycles of each engine and port, and what they wait for. No circuit or board was measured."),
    Term::new("GEMM", &["matrix core"],
        "Product of a matrix of 4-bit weights and several vectors of activations, on 32 x 32 elements; for prompts."),
    Term::new("GEMV", &["vector core"],
        "Product of a matrix of 4-bit weights and one vector of activations, on four lanes of 32 products per cycle; for single tokens."),
    Term::new("host window", &["window"],
        "Part of host memory, up to 2 MiB, that MEMCPY reads or writes by number."),
    Term::new("INT4 image", &[],
        "A matrix as rows of 4-bit integers with a scale for each row, the format of weights in the engines."),
    Term::new("isa", &[],
        "Option of the compiler, and its choice: `base` uses only the published instructions, `ext` also MUL, RELU and TANH."),
    Term::new("kv", &[],
        "Option of the compiler, and its choice: whether attention is computed by the machine (`npu`) or by the host in float (`host`)."),
    Term::new("L2", &[],
        "The machine's memory: 114,688 words of 128 bits on the reference instance, eight BF16 values each. All addresses are in words."),
    Term::new("norms", &[],
        "Option of the compiler, and its choice: whether normalizations are computed by the machine (`npu`) or by the host (`host`)."),
    Term::new("rotations", &[],
        "Option of the compiler, and its choice: where the rotations of positions in attention are computed: by the machine (`npu`), by the machine with tables from the host (`tables`), or by the host (`host`)."),
    Term::new("segment", &[],
        "Instructions between two steps of the host."),
    Term::new("strict", &[],
        "Property of an instance: words without meaning and set reserved bits are faults. Without it they are handled as in the circuits."),
];
