//! [`PccxInstance`]: assembler and disassembler of one instance.

use npukit_asm::Words;
use npukit_isa::IsaSpec;
use npukit_target::{Assembled, Disassembled, Instance, TargetError};

use crate::artifact::read_memh;
use crate::check::warnings;
use crate::codec::{Codec, INSTRUCTION_BYTES};
use crate::config::Config;
use crate::isa::isa;
use crate::listing;

/// An instance with its name.
pub(super) struct PccxInstance {
    /// Name of the preset or of the configuration file, up to its first dot.
    pub name: String,
    /// Its parameters.
    pub config: Config,
}

/// Our own syntax, which assembles again.
const OWN: &str = "npukit";
/// With index and word.
const LISTING: &str = "listing";
/// Micro-operations of the upstream decoder.
const UOPS: &str = "uops";
/// Words for simulators of circuits.
const MEMH: &str = "memh";

impl Instance for PccxInstance {
    fn name(&self) -> String {
        format!("pccx:{}", self.name)
    }

    fn config(&self) -> serde_json::Value {
        serde_json::to_value(&self.config).unwrap_or_default()
    }

    fn isa(&self) -> Result<IsaSpec, TargetError> {
        Ok(isa(&self.config))
    }

    fn assemble(&self, name: &str, text: &str) -> Result<Assembled, TargetError> {
        let bytes = if name.ends_with(".memh") {
            read_memh(name, text).map_err(TargetError::text)?
        } else {
            npukit_asm::assemble(&isa(&self.config), name, text).map_err(TargetError::text)?.bytes
        };
        let warnings = warnings(&self.config, &Codec::new(&self.config), &bytes);
        Ok(Assembled { instructions: bytes.len() / INSTRUCTION_BYTES, bytes, warnings })
    }

    fn listings(&self) -> &'static [&'static str] {
        &[OWN, LISTING, UOPS, MEMH]
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        let own = npukit_asm::disassemble_as(&isa(&self.config), bytes, None, Words::Value);
        let text = match form {
            OWN => own.to_string(),
            LISTING => listing::listing(&own, bytes),
            UOPS => listing::micro_operations(bytes),
            MEMH => listing::memh(bytes),
            _ => {
                return Err(option("format", form, &format!("the forms are {}", self.listings().join(", "))));
            }
        };
        let problems = own.problems.iter().map(ToString::to_string).collect();
        Ok(Disassembled { text, instructions: own.lines.len(), problems })
    }
}

fn option(key: &str, value: &str, reason: &str) -> TargetError {
    TargetError::Option { key: key.to_owned(), value: value.to_owned(), reason: reason.to_owned() }
}
