//! [`note`]: notes on instructions that a fabric executes differently from their table row.

use npukit_isa::InstructionSpec;

use crate::config::revision::Revision;

/// Note on an instruction of some components, on fabrics of some revisions.
struct Note {
    instruction: &'static str,
    /// Common prefix of the components' names.
    at: &'static str,
    of: fn(Revision) -> bool,
    says: &'static str,
}

const fn always(_: Revision) -> bool {
    true
}

const fn released(revision: Revision) -> bool {
    revision.is_released()
}

const fn not_seed(revision: Revision) -> bool {
    !revision.is_seed()
}

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const NOTES: &[Note] = &[
    Note { instruction: "wait", at: "sequencer", of: not_seed,
        says: "`mode=events` is refused; with `+seed` it waits until the ports of the slots have ended." },
    Note { instruction: "act", at: "sequencer", of: not_seed,
        says: "In mode port_index, `param` is a mask of ports (with `+seed`: the number of a port). In mode map, it is a register from 1 to 12 (with `+seed`: any register)." },
    Note { instruction: "calc", at: "sequencer", of: always,
        says: "`lls` saturates: 1 << 15 is 32767. `lrs` keeps the sign: -5 >> 3 is -1." },
    Note { instruction: "calc", at: "sequencer", of: released,
        says: "`mul`, `div` and `mod` give 0 in the released fabric; with `+text` or `+seed` they are computed." },
    Note { instruction: "calc", at: "sequencer", of: not_seed,
        says: "`eq` to `le`, `and`, `or` and `not` write 1 or 0 to a scalar register, with `+seed` to a flag register." },
    Note { instruction: "brn", at: "sequencer", of: released,
        says: "The released fabric ignores it and continues with the next instruction. With `+seed` it tests a flag, with `+text` a register." },
    Note { instruction: "dpu", at: "dpu", of: not_seed,
        says: "Sources agree on `idle`, `add`, `mult` and `mac`; the other 25 named modes need `+ext` or `+seed`, and their meaning is npukit's own choice (targets/drra/README.md). Modes 6, 15 and 31 are refused; with `+seed` their result is 0." },
    Note { instruction: "dpu", at: "dpu", of: Revision::is_seed,
        says: "Sources agree on `idle`, `add`, `mult` and `mac`; the meaning of the other 25 named modes is npukit's own choice (targets/drra/README.md). The result of modes 6, 15 and 31 is 0." },
    Note { instruction: "route", at: "swb", of: not_seed,
        says: "The diagonals NW 0, NE 2, SW 6 and SE 8 are refused; with `+seed` they are wired." },
    Note { instruction: "dsu", at: "", of: not_seed,
        says: "`option` is ignored, as a port has one configuration (with `+seed`: four). `init_addr_sd=d` is refused; with `+ext` or `+seed` the address comes from a scalar register." },
    Note { instruction: "dsu", at: "rf", of: released,
        says: "The released fabric ignores `init_addr` of a rf, which starts at 0; with `+text` or `+seed` it is added." },
    Note { instruction: "dsu", at: "iosram", of: released,
        says: "The released fabric has one `init_addr` for all lanes of a port." },
    Note { instruction: "rep", at: "", of: not_seed,
        says: "`iter=0`, the default, is refused unless a `repx` adds to it; with `+seed` the instruction runs once." },
    Note { instruction: "rep", at: "dpu", of: released,
        says: "The released dpu keeps 7 bits of `iter`, 6 of `step` and 6 of `delay`, and ignores the others." },
    Note { instruction: "repx", at: "rf", of: released, says: NEXT_LEVEL },
    Note { instruction: "repx", at: "iosram", of: released, says: NEXT_LEVEL },
    Note { instruction: "repx", at: "dpu", of: released,
        says: "The released dpu places the fields at bit 7 of `iter` and bit 6 of `delay`; with `+text` or `+seed` they extend the fields of `rep`." },
    Note { instruction: "trans", at: "iosram", of: released,
        says: "Ports of the released memories have one lane: `trans` is ignored; with `+seed` it takes effect." },
];

const NEXT_LEVEL: &str = "In the released fabric it is one more level of repetition; with `+text` or `+seed` it extends the `rep` \
                          before it.";

/// Adds notes on the components of a revision to a row.
pub(super) fn note(row: &mut InstructionSpec, revision: Revision) {
    // Default: a row without a component belongs to none.
    let (name, component) = (row.name.clone(), row.context.clone().unwrap_or_default());
    let is_meant =
        |note: &&Note| note.instruction == name && component.starts_with(note.at) && (note.of)(revision);
    NOTES.iter().filter(is_meant).for_each(|note| row.add_doc(note.says));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use crate::config::fabric::Options;
    use crate::config::revision::Revision;
    use crate::isa::Isa;

    fn doc(revision: Revision, name: &str, component: &str) -> String {
        let spec = Isa::of_fabric(Options::of(revision), "drra");
        let mut rows = spec.instructions.into_iter();
        rows.find(|row| row.name == name && row.context.as_deref() == Some(component)).unwrap().doc
    }

    #[test]
    fn rows_say_what_the_fabric_ignores() {
        for (name, component, says) in [
            ("brn", "sequencer", "ignores it"),
            ("wait", "sequencer", "`mode=events` is refused"),
            ("act", "sequencer", "a mask of ports"),
            ("calc", "sequencer", "`mul`, `div` and `mod` give 0"),
            ("dpu", "dpu", "need `+ext` or `+seed`"),
            ("route", "swb", "are refused"),
            ("dsu", "rf", "ignores `init_addr`"),
            ("dsu", "iosram_top", "for all lanes"),
            ("rep", "rf", "`iter=0`"),
            ("rep", "dpu", "keeps 7 bits"),
            ("repx", "rf", "one more level"),
            ("repx", "iosram_btm", "one more level"),
            ("repx", "dpu", "at bit 7 of `iter`"),
            ("trans", "iosram_top", "is ignored"),
        ] {
            let [ours, seed] =
                [Revision::Released, Revision::Seed].map(|revision| doc(revision, name, component));
            assert!(ours.contains(says), "{name}: {ours}");
            assert!(!seed.contains(says), "{name}: {seed}");
        }
        for revision in [Revision::Released, Revision::Text, Revision::Seed, Revision::Later] {
            assert!(doc(revision, "calc", "sequencer").contains("-5 >> 3 is -1"));
        }
        assert!(doc(Revision::Seed, "dpu", "dpu").contains("npukit's own choice"));
    }
}
