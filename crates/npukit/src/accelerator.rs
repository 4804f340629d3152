//! Parts of an accelerator: [`Target`], the traits [`Instance`] and [`Compiled`], and their data
//! types.
//!
//! Every part is optional: what a target does not implement returns [`TargetError::Unsupported`].
//! This target has an assembler and nothing more:
//!
//! ```
//! use npukit::accelerator::{
//!     Assembled, InstanceSpec, Instance, InstanceInfo, NoFiles, Preset, Reader, Target, TargetError,
//! };
//!
//! /// A machine whose instructions are the numbers below 256.
//! static TOY: Target = Target::new("toy", "a machine whose instructions are numbers", presets, instance);
//!
//! fn presets() -> Vec<Preset> {
//!     vec![Preset { name: "plain".to_owned(), summary: "the only one".to_owned(), systems: Vec::new() }]
//! }
//!
//! fn instance(_: InstanceSpec<'_>) -> Result<Box<dyn Instance>, TargetError> {
//!     let info = InstanceInfo::new("toy:plain".to_owned(), serde_json::json!({}));
//!     Ok(Box::new(Plain { info }))
//! }
//!
//! struct Plain {
//!     info: InstanceInfo,
//! }
//!
//! impl Instance for Plain {
//!     fn info(&self) -> &InstanceInfo {
//!         &self.info
//!     }
//!     fn assemble(&self, name: &str, text: &str, _: &dyn Reader) -> Result<Assembled, TargetError> {
//!         let byte = |word: &str| {
//!             word.parse().map_err(|error| TargetError::failed(format!("{name}: `{word}`: {error}")))
//!         };
//!         let bytes = text.split_whitespace().map(byte).collect::<Result<Vec<u8>, _>>()?;
//!         Ok(Assembled { instructions: bytes.len(), bytes, ..Assembled::default() })
//!     }
//! }
//!
//! let instance = TOY.instance(InstanceSpec::Default)?;
//! assert_eq!(instance.assemble("a.s", "1 2 3", &NoFiles)?.bytes, [1, 2, 3]);
//! let error = instance.assemble("a.s", "1 x", &NoFiles).unwrap_err();
//! assert_eq!(error.to_string(), "a.s: `x`: invalid digit found in string");
//! assert!(matches!(instance.asm_program("a.s", b"1", &NoFiles), Err(TargetError::Unsupported { .. })));
//! # Ok::<(), TargetError>(())
//! ```
//!
//! In the repository, `cargo xtask new-target NAME` writes a crate with all parts of a small
//! accelerator. It passes the test suite that every target must pass. The command also adds the
//! target to the list of [`targets`](crate::targets).

#[doc(inline)]
pub use npukit_graph as graph;
#[doc(inline)]
pub use npukit_graph::decoder::DecoderModel;
#[doc(inline)]
pub use npukit_graph::quantize::{Quantization, Scheme};
#[doc(inline)]
pub use npukit_numeric::NumberFormat;
#[doc(inline)]
pub use npukit_target::*;
