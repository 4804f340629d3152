//! Terms of this accelerator's documents and reports, for `npu explain`.

use npukit_target::Term;

/// All terms, in alphabetical order.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub const TERMS: &[Term] = &[
    Term::new("bank", &[],
        "One of 16 parts of 2^28 bytes of the common memory, which instructions select by number; also either half of a double buffer."),
    Term::new("DRAM port", &["DRAM port, loads", "DRAM port, stores"],
        "Connection to the board's memory. `loads` and `stores` are its cycles of reading and of writing."),
    Term::new("engine", &["front end", "load", "multiply", "store"],
        "One of four units that execute instructions in order, independently of each other: front end, load, multiply and store."),
    Term::new("ifm", &["input feature map buffer"],
        "Double buffer for a tile of input pixels."),
    Term::new("ITYPE", &["BTYPE", "KTYPE", "OTYPE"],
        "The data types of an instance: of input pixels (I), biases (B), kernels (K) and sums (O)."),
    Term::new("ker", &["kernel buffer"],
        "Double buffer for slices of weights, each with the weights of one tap for all its channels."),
    Term::new("ofm", &["output feature map buffer"],
        "The single buffer for the sums of a tile, in OTYPE; the multipliers wait while it is stored."),
    Term::new("patch", &["patches"],
        "The elements of a window, which the host arranges as channels of one pixel, so that a first layer with few channels uses all multipliers."),
    Term::new("plane", &[],
        "64 channels of every pixel of a feature map, as stored in memory."),
    Term::new("profile", &["reference", "ideal", "detailed"],
        "Cost model of an instance, which `npu time` names after its cycles: reference, ideal (no latencies) or detailed (costs of the published profiler)."),
    Term::new("slot", &[],
        "Memory for 64 elements: one pixel of a plane."),
    Term::new("tap", &[],
        "One position of a kernel: a 1 x 1 convolution of a shifted tile. A convolution is a sum of taps, rounded and saturated after each."),
];
