//! [`Open`]: open brackets at a byte of a text of calls `name(key=value, ...)`, and completions
//! there.

use npukit_asm::analysis::{
    Analysis, Parameter, Proposal, ProposalKind, Proposals, Signature, Signatures, before_word,
};
use npukit_base::Span;
use npukit_isa::{InstructionSpec, IsaSpec};

use crate::isa::token::{Token, TokenKind, tokens};

/// Open brackets and quotes at a byte.
#[derive(Clone, Debug, Default)]
pub struct Open<'a> {
    /// Names before unclosed braces.
    pub braces: Vec<&'a str>,
    /// Call with unclosed parentheses.
    pub call: Option<OpenCall<'a>>,
    /// Whether the byte is between quotation marks.
    pub is_quoted: bool,
    /// Start of the word that ends at the byte.
    pub word: usize,
}

/// Call with unclosed parentheses.
#[derive(Clone, Debug, Default)]
pub struct OpenCall<'a> {
    /// Name of the call.
    pub name: &'a str,
    /// Keys written so far.
    pub keys: Vec<&'a str>,
    /// Key of the value that comes next.
    pub key: Option<&'a str>,
}

impl<'a> Open<'a> {
    /// Returns the open brackets at byte `at`, or `None` in a comment.
    pub fn at(text: &'a str, at: usize) -> Option<Self> {
        let word = before_word(text, at);
        let before = text.get(..word)?;
        let line = before.rsplit('\n').next().unwrap_or_default();
        if line.contains('#') {
            return None;
        }
        let mut open = Self { is_quoted: line.matches('"').count() % 2 == 1, word, ..Self::default() };
        // The name before parentheses or braces may be followed by a name in angle brackets.
        let (mut name, mut angle, mut last) = ("", 0_usize, "");
        for Token { kind, text, .. } in tokens(before).0 {
            match (kind, text) {
                (TokenKind::Comment, _) => continue,
                (_, "<") => angle += 1,
                (_, ">") => angle = angle.saturating_sub(1),
                (_, "(") => open.call = Some(OpenCall { name, ..OpenCall::default() }),
                (_, ")") => open.call = None,
                (_, "{") => {
                    open.braces.push(name);
                    open.call = None;
                }
                (_, "}") => drop(open.braces.pop()),
                (_, "=") => {
                    if let Some(call) = &mut open.call {
                        call.key = Some(last);
                        call.keys.push(last);
                    }
                }
                (_, ",") => {
                    if let Some(call) = &mut open.call {
                        call.key = None;
                    }
                }
                (TokenKind::Identifier, word) if open.call.is_none() && angle == 0 => name = word,
                _ => {}
            }
            last = text;
        }
        Some(open)
    }

    /// Returns completions, which replace the word.
    pub fn proposals(&self, at: usize, all: Vec<Proposal>) -> Proposals {
        Proposals { span: Span::new(self.word, at), all }
    }
}

impl OpenCall<'_> {
    /// Returns completions of keys or values of an instruction, for any component.
    pub fn proposals(&self, spec: &IsaSpec, known: &Analysis) -> Vec<Proposal> {
        let rows = || spec.instructions.iter().filter(|row| row.name == self.name);
        let mut all: Vec<Proposal> = Vec::new();
        let mut add = |text: &str, kind, detail: String| {
            if !all.iter().any(|known| known.text == text) {
                all.push(Proposal { text: text.to_owned(), kind, detail });
            }
        };
        for field in rows().flat_map(|row| &row.fields) {
            let detail = || format!("{}: {}", field.meaning, field.legal());
            match self.key {
                None if !self.keys.contains(&field.name.as_str()) => {
                    add(&format!("{}=", field.name), ProposalKind::Field, detail());
                }
                Some(key) if key == field.name => {
                    for name in field.names() {
                        add(
                            name,
                            ProposalKind::Value,
                            format!("{}: {}", field.name, field.meaning_of_name(name)),
                        );
                    }
                }
                _ => {}
            }
        }
        if self.key.is_some() {
            all.extend(known.proposed_symbols());
        }
        all
    }

    /// Returns completions of keys of a call that is not an instruction.
    pub fn keys(&self, keys: &[(&str, &str)]) -> Vec<Proposal> {
        if self.key.is_some() {
            return Vec::new();
        }
        let is_new = |(key, _): &&(&str, &str)| !self.keys.contains(key);
        let proposal = |(key, detail): &(&str, &str)| Proposal {
            text: format!("{key}="),
            kind: ProposalKind::Field,
            detail: (*detail).to_owned(),
        };
        keys.iter().filter(is_new).map(proposal).collect()
    }

    /// Returns the signatures of the instruction.
    pub fn signatures(&self, spec: &IsaSpec) -> Option<Signatures> {
        let rows = spec.instructions.iter().filter(|row| row.name == self.name);
        let all: Vec<Signature> = rows.map(|row| self.signature(row)).collect();
        let says = |signature: &Signature| {
            self.keys.iter().filter(|key| signature.label.contains(&format!("{key}="))).count()
        };
        // Default: the first signature that has all keys written so far.
        let active = (0..all.len()).rev().max_by_key(|index| all.get(*index).map(says)).unwrap_or(0);
        (!all.is_empty()).then_some(Signatures { all, active })
    }

    fn signature(&self, row: &InstructionSpec) -> Signature {
        let mut signature = Signature { label: format!("{}(", row.name), ..Signature::default() };
        for (index, field) in row.fields.iter().enumerate() {
            if index > 0 {
                signature.label += ", ";
            }
            let start = signature.label.len();
            signature.label += &format!("{}=", field.name);
            let span = Span::new(start, signature.label.len());
            let meaning = format!("{}: {}; {}", field.name, field.meaning, field.legal());
            signature.parameters.push(Parameter { span, meaning });
            if self.key == Some(field.name.as_str()) {
                signature.active = Some(index);
            }
        }
        signature.label += ")";
        let of = row.context.as_ref().map(|of| format!(" ({of})"));
        signature.meaning = format!("{}{}", row.meaning, of.unwrap_or_default()); // Default: the signature applies to every component.
        signature
    }
}

/// Returns completions of all mnemonics.
pub fn mnemonics(spec: &IsaSpec) -> Vec<Proposal> {
    let mut all: Vec<Proposal> = Vec::new();
    for row in &spec.instructions {
        if !all.iter().any(|known| known.text == row.name) {
            let (text, detail) = (row.name.clone(), row.meaning.clone());
            all.push(Proposal { text, kind: ProposalKind::Mnemonic, detail });
        }
    }
    all
}

/// Returns completions of keywords.
pub fn keywords(words: &[(&str, &str)]) -> Vec<Proposal> {
    let proposal = |(word, detail): &(&str, &str)| Proposal {
        text: (*word).to_owned(),
        kind: ProposalKind::Keyword,
        detail: (*detail).to_owned(),
    };
    words.iter().map(proposal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_known() {
        let text = "rop<a> (row=0, col=1) {\n  rep (iter=4, step";
        let open = Open::at(text, text.len()).unwrap_or_default();
        assert_eq!(open.braces, ["rop"]);
        let call = open.call.unwrap_or_default();
        assert_eq!((call.name, call.keys.as_slice(), call.key), ("rep", ["iter"].as_slice(), None));
        assert_eq!(&text[open.word..], "step");
        assert!(Open::at("rep( # x", 8).is_none());
    }
}
