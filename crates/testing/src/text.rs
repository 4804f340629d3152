//! Conversion of words to text and back.

use npukit_asm::{assemble, disassemble_in};
use npukit_isa::{Field, FieldKind, InstructionSpec, IsaSpec};
use npukit_target::{Compiled, Instance, InstanceSpec, NoFiles, ProgramPart, ProgramWords, TargetError};

use crate::compiled::Subject;
use crate::{Random, Suite, Text};

/// Number of words with random operands per instruction.
const WORDS: usize = 50;
/// Maximum number of draws to find operands that are valid together.
const DRAWS: usize = 1000;
/// Number of programs of random bytes.
const PROGRAMS: usize = 300;

impl Suite {
    /// Tests that the instruction table of every preset is consistent, and that words of the tested
    /// presets' instructions survive their text form.
    pub fn tables(&self) {
        for preset in self.target.presets() {
            let instance = self.target.instance(InstanceSpec::Preset(&preset.name));
            let instance = instance.unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            assert_eq!(isa(&*instance).check(), [], "{}", preset.name);
        }
        for (instance, _) in self.instances() {
            let isa = isa(&*instance);
            let mut random = Random::new(1);
            for row in &isa.instructions {
                let words = (0..DRAWS).filter_map(|_| {
                    let values: Vec<u64> = row.fields.iter().map(|field| any(field, &mut random)).collect();
                    row.encode(&values).ok()
                });
                let words: Vec<_> = words.take(WORDS).collect();
                assert!(
                    !words.is_empty(),
                    "{}: no valid combination of operands found for {}",
                    isa.name,
                    row.name
                );
                words.iter().for_each(|&word| survives(&isa, row, &isa.bytes(word, row.size_bytes)));
            }
        }
    }

    /// Tests that random bytes, and words of instructions with random bits, have a listing that
    /// assembles to them.
    pub fn words(&self) {
        for (instance, _) in self.instances() {
            let isa = isa(&*instance);
            let mut random = Random::new(2);
            for program in 0..PROGRAMS {
                let count = random.below(8);
                let bytes = if program % 2 == 0 {
                    random.bytes(count * 5)
                } else {
                    (0..count).flat_map(|_| nearly(&isa, &mut random)).collect()
                };
                self.listed(&*instance, &bytes);
            }
        }
    }

    /// Tests that the text of compiled graphs assembles, and that its words survive their listing.
    pub fn programs(&self) {
        let mut seen = 0;
        self.each_compiled(|instance, subject, compiled| {
            let instructions = compiled.report().instructions;
            seen += instructions;
            let texts = self.texts(instance, subject, compiled);
            assert!(!texts.is_empty() || instructions == 0, "{}: no text", subject.name);
            for (name, text) in texts {
                let assembled = instance.assemble(&name, &text, &NoFiles);
                let assembled = assembled.unwrap_or_else(|error| panic!("{}: {error:?}", subject.name));
                assert_eq!(assembled.instructions > 0, instructions > 0, "{}: instructions", subject.name);
                assert!(self.listed(instance, &assembled.bytes), "{}: no listing", subject.name);
            }
            self.words_of(subject, compiled);
        });
        assert!(seen > 0, "no graph has an instruction");
    }

    /// Checks that the words of a compiled graph are exactly its instructions, and survive their
    /// listing without a problem.
    fn words_of(&self, subject: &Subject, compiled: &dyn Compiled) {
        let ProgramWords { instance, parts } =
            compiled.words().unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        let mut instructions = 0;
        for ProgramPart { bytes, layers, .. } in &parts {
            let listing = instance.disassemble(bytes, instance.info().listings[0]);
            let listing = listing.unwrap_or_else(|error| panic!("{}: {error}", subject.name));
            assert!(listing.problems.is_empty(), "{}: {:?}", subject.name, listing.problems);
            let lines = listing.lines.iter().filter(|line| line.word.is_some());
            assert_eq!(lines.count(), listing.instructions, "{}: lines", subject.name);
            assert!(layers.is_sorted_by_key(|(first, _)| *first), "{}: {layers:?}", subject.name);
            assert!(layers.iter().all(|(first, _)| *first <= listing.instructions), "{}", subject.name);
            assert!(self.listed(&*instance, bytes), "{}: no listing", subject.name);
            instructions += listing.instructions;
        }
        assert_eq!(instructions, compiled.report().instructions, "{}: words", subject.name);
    }

    /// Text of a compiled graph: file names and contents.
    pub(crate) fn texts(
        &self,
        instance: &dyn Instance,
        subject: &Subject,
        compiled: &dyn Compiled,
    ) -> Vec<(String, String)> {
        match self.text {
            Text::Stage(stage) => {
                let text = instance.emit(&subject.graph, &subject.options, stage);
                let text = text.unwrap_or_else(|error| panic!("{}: {error}", subject.name));
                vec![("program.s".to_owned(), text)]
            }
            Text::Files(ending) => {
                let files = compiled.files().unwrap_or_else(|error| panic!("{}: {error}", subject.name));
                let texts = files.into_iter().filter(|file| file.name.ends_with(ending));
                texts.map(|file| (file.name, String::from_utf8_lossy(&file.bytes).into_owned())).collect()
            }
        }
    }

    /// Checks that the first form of listing assembles to the words, and that the other forms
    /// exist. Returns whether there is a listing.
    ///
    /// A listing must report problems of the words that it leaves out.
    fn listed(&self, instance: &dyn Instance, words: &[u8]) -> bool {
        let forms = instance.info().listings;
        let Ok(listing) = instance.disassemble(words, forms[0]) else { return false };
        for form in &forms[1..] {
            let other = instance.disassemble(words, form);
            assert!(other.is_ok(), "{}: no listing {form} of {words:02x?}", instance.info().name);
        }
        let bytes = match instance.assemble("listing.s", &listing.text, &NoFiles) {
            Ok(assembled) => assembled.bytes,
            Err(error) => {
                assert!(!listing.problems.is_empty(), "{error:?} in the listing of {words:02x?}");
                return true;
            }
        };
        if matches!(self.text, Text::Files(_)) {
            let again = instance.disassemble(&bytes, forms[0]).map(|again| again.text);
            assert_eq!(again.ok(), Some(listing.text), "{}: listed again", instance.info().name);
            return true;
        }
        assert_eq!(
            bytes,
            words[..bytes.len().min(words.len())],
            "{}: {}",
            instance.info().name,
            listing.text
        );
        let partial = isa(instance).shortest_bytes();
        let left = words.len() - bytes.len();
        assert!(left < partial || !listing.problems.is_empty(), "{left} of {words:02x?} are left out");
        true
    }
}

fn isa(instance: &dyn Instance) -> IsaSpec {
    instance.isa().unwrap_or_else(|error: TargetError| panic!("{}: {error}", instance.info().name))
}

/// Checks that a word's listing assembles to it.
fn survives(isa: &IsaSpec, row: &InstructionSpec, bytes: &[u8]) {
    let listing = disassemble_in(isa, bytes, row.context.as_deref()).to_string();
    let again = assemble(isa, "listing.s", &listing);
    let again = again.unwrap_or_else(|error| panic!("{} {}: {error:?}", isa.name, row.name));
    assert_eq!(again.bytes, bytes, "{} {}: {listing}", isa.name, row.name);
}

/// Returns a random value of a field, usually a legal one.
fn any(field: &Field, random: &mut Random) -> u64 {
    match &field.kind {
        FieldKind::Number { min, max, .. } => between(*min, *max, random),
        FieldKind::Signed { min, max } => {
            let value = between(0, max.abs_diff(*min), random);
            min.wrapping_add_unsigned(value).cast_unsigned()
        }
        FieldKind::Power { min, max } => 1 << between(u64::from(*min), u64::from(*max), random),
        FieldKind::Choice { names, .. } => names[random.below(names.len())].0,
        FieldKind::Flag { .. } | FieldKind::Set { .. } => random.bits() & field.bits.max(),
    }
}

/// Returns a number from `min` to `max`; every fourth time, one of the two.
fn between(min: u64, max: u64, random: &mut Random) -> u64 {
    match random.below(8) {
        0 => min,
        1 => max,
        _ => min + random.bits() % (max - min).saturating_add(1).max(1),
    }
}

/// Returns the bytes of a word with the pattern of an instruction and otherwise random bits.
fn nearly(isa: &IsaSpec, random: &mut Random) -> Vec<u8> {
    let row = &isa.instructions[random.below(isa.instructions.len())];
    let (mask, pattern) = row.pattern();
    let any = isa.word(&random.bytes(row.size_bytes));
    isa.bytes((any & !mask) | pattern, row.size_bytes)
}
