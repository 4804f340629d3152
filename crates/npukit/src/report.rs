//! Data of reports, without the code that computes it. Some reports are part of an
//! [`Error`](crate::Error).

pub(crate) mod bounds;
pub(crate) mod check;
pub(crate) mod comparison;
pub(crate) mod coverage;
pub(crate) mod diagnostic;
pub(crate) mod quantize;
pub(crate) mod rescale;
pub(crate) mod verdict;
pub(crate) mod verify;

pub use crate::compare::layer_compare::{Figures, FirstDivergence, LayerError, Report as LayerCompareReport};
pub use crate::compare::traced::TensorKind;
pub use crate::compare::traced::machine::Instructions;
pub use crate::numbers::accuracy::{Confusion, FloatAccuracy, Report as AccuracyReport, Worst};
pub use crate::numbers::non_finite::NonFinite;
pub use crate::numbers::underflow::{Report as UnderflowReport, Used};
pub use crate::numbers::weights::Weight;
pub use crate::run::latency::Speed;
pub use crate::run::samples::{DumpedTensor, OutputReport};
pub use crate::run::summary::{Histogram, Summary};
pub use crate::run::waves::Waves;
pub use comparison::Comparison;
pub use coverage::Coverage;
#[doc(inline)]
pub use npukit_target::{
    Bound, CosimCycles, CosimDifference, CosimPart, ErrorLocation, Finding, FlagTime, HostAccess, HostAnswer,
    HostBits, HostCompletion, HostPlace, HostRegister, HostStepReport, HostWord, InstructionTime, KindTime,
    LanguageBound, LanguageLayers, LanguagePart, LanguagePoint, LanguageStep, LanguageTime, LayerTime, Lint,
    MemoryReport, PhaseTime, Preset, Problem, ProgramReport, Roofline, Saturation, Saturations, Severity,
    TimeReport, TraceReport, Traffic, UnitTime, Wait,
};
pub use quantize::{Candidate as QuantizationCandidate, QuantizedTensor, Report as QuantizationReport};
pub use rescale::{LayerExponent, Measured, Remaining, Report as RescaleReport};
pub use verdict::{MemoryFill, Risk, SaturationRisk, Verdict};
