//! [`AssemblyLanguage`]: editor support for assembly.

use npukit_asm::analysis::{
    Analysis, AnalyzedWord, Beginning, Block, Language, LanguageError, MarkKind, Proposals, Recorder,
    Signatures,
};
use npukit_asm::{Comments, Expansion, Files, expand_recorded};
use npukit_isa::IsaSpec;

use super::calls::{Open, keywords, mnemonics};
use super::{own_directives, row_of, value_of};
use crate::config::fabric::Fabric;
use crate::isa::Isa;
use crate::isa::asm::{self, COMMENTS, Heard, heard};

/// Assembly language of a fabric.
pub struct AssemblyLanguage {
    fabric: Fabric,
    spec: IsaSpec,
}

const WORDS: [(&str, &str); 2] =
    [("cell", "cell of the following instructions"), ("word", "a word that is not an instruction")];
const KEYS: [(&str, &str); 2] = [("row", "row of the fabric"), ("col", "column of the fabric")];
const BITS: [(&str, &str); 1] = [("bits", "all 32")];

impl AssemblyLanguage {
    /// Creates the language of programs for `fabric`; `name` is the instance's.
    pub fn new(fabric: Fabric, name: &str) -> Self {
        let spec = Isa::of_fabric(fabric.options, name);
        Self { fabric, spec }
    }

    fn record(&self, recorder: &mut Recorder, expansion: &Expansion, heard: &Heard) {
        let isa = Isa::in_files(self.fabric.options);
        let Heard { name, name_span, span, component, instruction, at, word, arguments } = heard;
        let Some(row) = row_of(&self.spec, isa, *component, name) else {
            recorder.mark(expansion.place(*name_span), MarkKind::Keyword);
            return;
        };
        let word = at.as_ref().zip(word.as_ref()).map(|(at, word)| {
            let (values, row) = match instruction {
                Some(instruction) => {
                    let fields = instruction.fields();
                    (fields.map(|(field, bits)| field.value(bits.into())).collect(), Some(row))
                }
                None => (Vec::new(), None),
            };
            // Files may use another encoding, so the word is encoded as in the file.
            let word = instruction.as_ref().map_or(*word, |instruction| isa.encode(instruction));
            let bytes = word.to_be_bytes().to_vec();
            let address = format!("{},{} {:04x}", at.place.row, at.place.col, at.pc);
            recorder.word(AnalyzedWord { place: expansion.place(*span), row, values, bytes, address })
        });
        recorder.mark(expansion.place(*name_span), MarkKind::Mnemonic { row, word });
        for (key, key_span, text, number, value_span) in arguments {
            let Some(field) = self.spec.instructions.get(row).and_then(|row| row.field(key)) else {
                continue;
            };
            let (value, is_name) = value_of(&self.spec, row, field, text, *number);
            recorder.mark(expansion.place(*key_span), MarkKind::Key { row, field });
            recorder.mark(expansion.place(*value_span), MarkKind::Value { row, field, value, is_name });
        }
    }

    /// Records the cells, each with its instructions.
    fn cells(recorder: &mut Recorder, expansion: &Expansion, all: &[Heard]) {
        let mut open: Option<Block> = None;
        for heard in all {
            let place = expansion.place(heard.span);
            if place.source() != 0 {
                continue;
            }
            if heard.name == "cell" {
                open.take().into_iter().for_each(|block| recorder.block(block));
                let side = |key: &str| {
                    let found = heard.arguments.iter().find(|argument| argument.0 == key);
                    // Default: the header lacks the argument, which is reported elsewhere.
                    found.map(|argument| argument.2.clone()).unwrap_or_default()
                };
                let name = Some(format!("cell {},{}", side("row"), side("col")));
                open = Some(Block { span: place.span, name, name_span: place.span, what: "cell" });
            } else if let Some(block) = &mut open
                && place.call().is_none()
            {
                block.span = block.span.to(place.span);
            }
        }
        open.into_iter().for_each(|block| recorder.block(block));
    }
}

impl Language for AssemblyLanguage {
    fn spec(&self) -> &IsaSpec {
        &self.spec
    }

    fn comments(&self) -> Comments {
        COMMENTS
    }

    fn analyze(&self, name: &str, text: &str, files: &Files<'_>) -> Analysis {
        let row_of = |word: &str| self.spec.instructions.iter().position(|row| row.name == word);
        let (expansion, mut recorder) = expand_recorded(name, text, COMMENTS, files, &row_of);
        let (all, errors) = heard(&self.fabric, &expansion.text);
        all.iter().for_each(|heard| self.record(&mut recorder, &expansion, heard));
        Self::cells(&mut recorder, &expansion, &all);
        expansion.analysis(recorder, errors)
    }

    fn propose(&self, text: &str, at: usize, known: &Analysis) -> Proposals {
        if let Some(line) = Beginning::of(text, at, COMMENTS).filter(Beginning::is_directive) {
            return own_directives(line.directives(known), |name| !matches!(name, "word" | "context"));
        }
        let Some(open) = Open::at(text, at).filter(|open| !open.is_quoted) else {
            return Proposals::default();
        };
        let all = match &open.call {
            Some(call) if call.name == "cell" => call.keys(&KEYS),
            Some(call) if call.name == "word" => call.keys(&BITS),
            Some(call) => call.proposals(&self.spec, known),
            None => [mnemonics(&self.spec), keywords(&WORDS), known.proposed_macros()].concat(),
        };
        open.proposals(at, all)
    }

    fn signatures(&self, text: &str, at: usize, _known: &Analysis) -> Option<Signatures> {
        Open::at(text, at)?.call?.signatures(&self.spec)
    }

    fn list(&self, name: &str, text: &str, files: &Files<'_>) -> Result<String, LanguageError> {
        Ok(asm::list(&self.fabric, name, text, files)?)
    }

    fn format(&self, _name: &str, text: &str) -> Result<String, LanguageError> {
        Ok(asm::format(text))
    }
}
