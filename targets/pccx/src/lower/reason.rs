//! Reasons why the machine does not compute a node: [`HostReason`], for a step that the host
//! computes and for a refused node.

use thiserror::Error;

use crate::lower::limits::{LARGEST, MAX_FEATURES, MAX_PIECES, MAX_WEIGHTS};

/// Reason why the machine does not compute a node, as printed in reports and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostReason {
    #[error("not supported by the machine")]
    NoForm,
    #[error("it has no operands")]
    NoOperands,
    #[error("it depends only on constants")]
    Constant,
    #[error("one of its tensors is empty")]
    Empty,
    #[error("its values are not floats")]
    NotFloat,
    #[error("needs element-wise multiply (isa=ext)")]
    NoMultiply,
    #[error("RECIP gives 0 for 0")]
    ReciprocalOfZero,
    #[error("isa=base can compute it only with EXP and RECIP, which loses small values")]
    Tanh,
    #[error("gelu=exact: the machine computes only the tanh form")]
    ExactGelu,
    /// The machine finds a maximum only during a product.
    #[error("the softmax does not follow a product: the machine finds maxima only in results of products")]
    Softmax,
    #[error("sums of rows are adjacent values in the result")]
    RowSums,
    #[error("its operand is repeated")]
    OperandRepeated,
    #[error("an operand is repeated")]
    Repeated,
    #[error("an operand is larger than the result")]
    LargerOperand,
    #[error("its operands have other shapes than the result")]
    OtherShapes,
    /// A tensor that the compiler would have to create exceeds the size limit.
    #[error("a constant that it needs is too large")]
    Unmade,
    #[error("its operands are at the host")]
    OperandsAtHost,
    #[error("the host needs its result")]
    ResultsAtHost,
    #[error("it moves parts of L2 words")]
    PartsOfWords,
    #[error("it moves more than {MAX_PIECES} pieces")]
    Pieces,
    #[error("product of two activations outside attention")]
    TwoActivations,
    #[error("more than {MAX_WEIGHTS} weights in one matrix, including zeros between its groups")]
    LargeConvolution,
    #[error("the weights are not constant")]
    WeightsChange,
    #[error("its operands do not fit into L2 together")]
    TooLarge,
    #[error("the weights are several matrices")]
    SeveralMatrices,
    #[error("there is nothing to multiply")]
    NothingToMultiply,
    #[error("more than {LARGEST} inputs per row, the maximum of a constant entry")]
    LongRow,
    #[error("inputs or results of a row are not whole words of L2")]
    ProductRows,
    #[error("a weight is not finite")]
    NotFinite,
    #[error("the bias is not constant")]
    BiasChanges,
    #[error("the bias is not a float tensor")]
    BiasNotFloat,
    #[error("its rows are not whole words of L2")]
    NormRows,
    /// Only MUL can multiply by gains. Gains are folded into weights only if nothing but products
    /// reads the norm.
    #[error(
        "needs element-wise multiply (isa=ext): gains fold into weights only if all readers are products with constants"
    )]
    GainsStay,
    #[error("norms=host leaves norms to the host")]
    NormsAtHost,
    #[error("rotations=host leaves rotations to the host")]
    RotationsAtHost,
    #[error("its operand has neither three nor four axes")]
    RotaryAxes,
    #[error("its heads are not whole words of L2")]
    RotaryHeads,
    #[error("its heads have more than {MAX_FEATURES} features")]
    RotaryFeatures,
    #[error("its tables are not float tensors")]
    RotaryTables,
    /// A node that the compiler adds.
    #[error("tables of a rotation, by feature")]
    AddedTables,
    #[error("kv=host leaves attention to the host")]
    KvAtHost,
    #[error(transparent)]
    Attention(#[from] AttentionReason),
}

/// Reason why the machine does not compute an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AttentionReason {
    #[error("scores or probabilities of the attention have other users")]
    UsedElsewhere,
    #[error("the attention's softmax is over other axes than the last")]
    SoftmaxAxes,
    #[error("an unsupported operation is between the attention's softmax and the product with the values")]
    AfterSoftmax,
    #[error("an unsupported operation is between the product with the keys and the attention's softmax")]
    BeforeSoftmax,
    #[error("the attention has no rows or no tokens")]
    Empty,
    #[error("the guard of attention rows that see no token is not recognized")]
    UnknownGuard,
    #[error("the attention's mask is not constant, or its replacement value does not hide scores")]
    Mask,
    #[error(
        "scores of the attention have a cap, and isa=base can compute tanh only with EXP and RECIP, which loses small values"
    )]
    CapWithoutTanh,
    #[error("the cap of the attention's scores is negative, or too large for sums of e^cap")]
    Cap,
    #[error("scores of the attention have different factors")]
    Factors,
    #[error("keys of the attention are repeated, or values for heads that are not consecutive")]
    Repeated,
    #[error("a row of the attention sees no token")]
    BlindRow,
    #[error("heads of the attention are not whole words of L2: their features are not a multiple of 8")]
    Heads,
    #[error("the attention has more tokens or features than weights have rows, or an infinite factor")]
    TooLarge,
    #[error("the attention's keys are constants")]
    ConstantKeys,
}
