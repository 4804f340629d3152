//! Words of this machine's documents and reports, for `npu glossary`.

use npukit_target::Term;

/// By the alphabet.
#[rustfmt::skip] // A table.
pub const TERMS: &[Term] = &[
    Term::new("bank", &[],
        "One of 16 parts of 2^28 bytes of the common memory, which instructions name by number; also either half of a double buffer."),
    Term::new("engine", &["front end"],
        "One of four parts that take instructions in order, each for itself: front end, load, multiply and store."),
    Term::new("ifm", &["input feature map buffer"],
        "Double buffer for a tile of input pixels."),
    Term::new("ITYPE", &["BTYPE", "KTYPE", "OTYPE"],
        "The data types of an instance: of input pixels (I), biases (B), kernels (K) and sums (O)."),
    Term::new("ker", &["kernel buffer"],
        "Double buffer for slices of weights, each with the weights of one tap for all its channels."),
    Term::new("ofm", &["output feature map buffer"],
        "The single buffer for the sums of a tile, in OTYPE; the multipliers rest while it is stored."),
    Term::new("patch", &["patches"],
        "The elements of a window that the host lays side by side as channels of one pixel, so that a first layer of few channels fills the multipliers."),
    Term::new("plane", &[],
        "64 channels of every pixel of a feature map, as they lie in memory."),
    Term::new("profile", &[],
        "Costs of instructions of an instance: reference, ideal (no latencies) or detailed (as the published profiler counts)."),
    Term::new("slot", &[],
        "Room for 64 elements, one pixel of a plane, in memory."),
    Term::new("tap", &[],
        "One position of a kernel: a 1 x 1 convolution of a shifted tile. A convolution is a sum of taps, which rounds and saturates after each."),
];
