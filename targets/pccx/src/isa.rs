//! Instruction set as people read and write it: [`isa()`]. Its rows are in [`crate::isa::op`].

pub(crate) mod codec;
pub(crate) mod fault;
pub(crate) mod listing;
pub(crate) mod micro_ops;
pub(crate) mod op;
pub(crate) mod usage;

use npukit_isa::{ByteOrder, InstructionSpec, IsaSpec};

use crate::config::{Config, Reading};
use crate::isa::op::Op;

/// Returns the instruction set of `config`. Source: specification 2.1 to 2.4.
pub fn isa(config: &Config) -> IsaSpec {
    let name = match config.extensions {
        true => "pccx v002 with extensions, 64-bit instructions",
        false => "pccx v002, 64-bit instructions",
    };
    let mut instructions = Op::rows(config.extensions);
    instructions.iter_mut().for_each(|row| note(row, config));
    IsaSpec { name: name.to_owned(), doc: DOC.to_owned(), byte_order: ByteOrder::Little, instructions }
}

/// Remark on an instruction, and the instances to which it applies.
struct Note {
    instruction: &'static str,
    of: fn(&Config) -> bool,
    says: &'static str,
}

fn by_documents(config: &Config) -> bool {
    config.reading == Reading::Documents
}

fn by_page(config: &Config) -> bool {
    config.reading == Reading::Seed
}

const fn always(_: &Config) -> bool {
    true
}

const fn strict(config: &Config) -> bool {
    config.strict
}

const fn lenient(config: &Config) -> bool {
    !config.strict
}

const fn masked(config: &Config) -> bool {
    config.lane_mask
}

const fn with_mul(config: &Config) -> bool {
    config.extensions
}

const fn without_mul(config: &Config) -> bool {
    !config.extensions
}

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const NOTES: &[Note] = &[
    Note { instruction: "GEMV", of: by_documents, says: SUMS },
    Note { instruction: "GEMM", of: by_documents, says: SUMS },
    Note { instruction: "GEMV", of: by_page, says: BLOCKS },
    Note { instruction: "GEMM", of: by_page, says: BLOCKS },
    Note { instruction: "GEMV", of: masked, says: "parallel_lane is a mask of lanes here." },
    Note { instruction: "MEMCPY", of: strict, says: "A transfer from host to host can be encoded, but the machine refuses it." },
    Note { instruction: "MEMCPY", of: lenient, says: "Any direction except host to L2 is executed as L2 to host, as in the circuits." },
    Note { instruction: "MEMCPY", of: by_documents, says: "Weights stream past L2; with `+seed` it also loads them (`--option weights=memcpy`)." },
    Note { instruction: "MEMCPY", of: by_page, says: "It also loads weights (`--option weights=memcpy`): slot b of a product's fmap entry, if 2 or more, is the pair of L2 words in which they begin." },
    Note { instruction: "MEMCPY", of: always, says: "The host holds the cache of keys and values: it receives them, and sends them back as 4-bit weights." },
    Note { instruction: "MEMSET", of: by_documents, says: "It writes shapes; slot a of a weight entry is ignored, with `+seed` it is a factor of all rows (`--option scales=memset`)." },
    Note { instruction: "MEMSET", of: by_page, says: "Slot a of a weight entry, if not 0, is a BF16 factor of all rows, by which w_scale multiplies (`--option scales=memset`)." },
    Note { instruction: "CVO", of: by_documents, says: "The reciprocal of 0 is 0, with `+seed` infinite." },
    Note { instruction: "CVO", of: by_page, says: "The reciprocal of 0 is infinite." },
    Note { instruction: "CVO", of: without_mul, says: "No function multiplies two vectors: compiled norms take sums of squares from the host, and the host computes rotations unless `--option rotations=npu`; `pccx:extended` has MUL (`--option isa=ext`)." },
    Note { instruction: "CVO", of: with_mul, says: "With MUL the machine computes norms (`--option isa=ext`); rotations take sines and cosines from the host unless `--option rotations=npu`." },
];

const SUMS: &str = "w_scale multiplies sums, with `+seed` each block of 32 before it is added; T is ignored without `+seed`.";
const BLOCKS: &str =
    "w_scale multiplies each block of 32 before it is added, by the row's scale, or by T if that is not 0.";

/// Adds the remarks that apply to this instance to a row.
fn note(row: &mut InstructionSpec, config: &Config) {
    let name = row.name.clone();
    let meant = NOTES.iter().filter(|note| note.instruction == name && (note.of)(config));
    meant.for_each(|note| row.add_doc(note.says));
}

const DOC: &str = "Addresses count L2 words of 128 bits, eight BF16 values each. An entry is in one of the two \
                   constant banks of 64 entries each. Operands with a name may be in any order.";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn doc(instance: &str, instruction: &str) -> String {
        let spec = isa(&Config::named(instance).unwrap());
        spec.instructions.into_iter().find(|row| row.name == instruction).unwrap().doc
    }

    #[test]
    fn rows_say_what_needs_which_option() {
        for (instruction, reference, seed) in [
            ("GEMV", "T is ignored without `+seed`", "or by T if that is not 0"),
            ("GEMM", "multiplies sums", "by the row's scale, or by T"),
            ("MEMCPY", "Weights stream past L2", "It also loads weights"),
            ("MEMSET", "slot a of a weight entry is ignored", "is a BF16 factor of all rows"),
            ("CVO", "The reciprocal of 0 is 0", "The reciprocal of 0 is infinite"),
        ] {
            let [ours, page] = ["reference", "reference+seed"].map(|instance| doc(instance, instruction));
            assert!(ours.contains(reference) && !page.contains(reference), "{instruction}: {ours}");
            assert!(page.contains(seed) && !ours.contains(seed), "{instruction}: {page}");
        }
        assert!(
            doc("reference", "MEMCPY")
                .contains("A transfer from host to host can be encoded, but the machine refuses it")
        );
        assert!(doc("upstream", "MEMCPY").contains("as L2 to host"));
        assert!(doc("reference", "CVO").contains("take sums of squares from the host"));
        assert!(doc("extended", "CVO").contains("the machine computes norms"));
    }
}
