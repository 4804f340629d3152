//! [`IsaSpec::check`]: consistency checks of an instruction table.

use std::collections::HashSet;

use npukit_base::{WORD_BYTES, Word};
use thiserror::Error;

use crate::spec::{Field, FieldKind, InstructionSpec, IsaSpec, When};
use crate::syntax::Template;

/// Error in an instruction table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Two instructions have the same name in one context.
    #[error("two instructions are named {instruction}")]
    SameName {
        /// Name that both instructions have.
        instruction: String,
    },
    /// A word may be either of two instructions.
    #[error("no bit distinguishes {first} from {second}")]
    Ambiguous {
        /// Name of the first instruction.
        first: String,
        /// Name of the second instruction.
        second: String,
    },
    /// The word of an instruction is empty or larger than the maximum.
    #[error("{instruction} has {size_bytes} bytes: legal are 1 to {WORD_BYTES}")]
    Size {
        /// Instruction with the invalid size.
        instruction: String,
        /// Size of its word, in bytes.
        size_bytes: usize,
    },
    /// A pattern or field ends after the last bit of the word.
    #[error("`{part}` of {instruction} ends beyond the word")]
    Outside {
        /// Instruction that has the part.
        instruction: String,
        /// Name of the pattern or field.
        part: String,
    },
    /// A pattern or field shares bits with an earlier one.
    #[error("`{part}` of {instruction} shares bits with an earlier part")]
    Overlap {
        /// Instruction that has the part.
        instruction: String,
        /// Name of the pattern or field.
        part: String,
    },
    /// A pattern or field has too few bits for its values.
    #[error("`{part}` of {instruction} has too few bits for its values")]
    TooNarrow {
        /// Instruction that has the part.
        instruction: String,
        /// Name of the pattern or field.
        part: String,
    },
    /// Two fields of an instruction have the same name.
    #[error("two fields of {instruction} are named `{field}`")]
    SameField {
        /// Name of the instruction with the fields.
        instruction: String,
        /// Name that both fields have.
        field: String,
    },
    /// A form, a limit or the label refers to a field that does not exist.
    #[error("a form, a limit or the label of {instruction} names `{field}`, which is not a field")]
    NoField {
        /// Name of the instruction with the reference.
        instruction: String,
        /// Name that is not a field.
        field: String,
    },
    /// A form does not begin with a word.
    #[error("a form of {instruction} has no mnemonic")]
    NoMnemonic {
        /// Name of the instruction with the form.
        instruction: String,
    },
    /// No form can express a value of a field.
    #[error("no form of {instruction} contains `{field}`")]
    Unsaid {
        /// Name of the instruction with the field.
        instruction: String,
        /// Name of the field.
        field: String,
    },
}

impl IsaSpec {
    /// Returns all errors of the table; empty if it is consistent.
    pub fn check(&self) -> Vec<SpecError> {
        let mut errors: Vec<SpecError> = self.instructions.iter().flat_map(InstructionSpec::check).collect();
        for (index, first) in self.instructions.iter().enumerate() {
            for second in self.instructions.iter().skip(index + 1).filter(|second| meet(first, second)) {
                errors.extend(self.tell_apart(first, second));
            }
        }
        errors
    }

    /// Compares byte by byte in file order, so that words of different sizes are aligned at their
    /// first byte.
    fn tell_apart(&self, first: &InstructionSpec, second: &InstructionSpec) -> Option<SpecError> {
        if first.name == second.name {
            return Some(SpecError::SameName { instruction: first.name.clone() });
        }
        let pattern = |row: &InstructionSpec| {
            let (mask, value) = row.pattern();
            self.bytes(mask, row.size_bytes).into_iter().zip(self.bytes(value, row.size_bytes))
        };
        let differ = pattern(first)
            .zip(pattern(second))
            .any(|((mask1, value1), (mask2, value2))| (value1 ^ value2) & mask1 & mask2 != 0);
        (!differ).then(|| SpecError::Ambiguous { first: first.name.clone(), second: second.name.clone() })
    }
}

/// Whether both rows apply in some common context.
fn meet(first: &InstructionSpec, second: &InstructionSpec) -> bool {
    first.context.is_none() || second.context.is_none() || first.context == second.context
}

impl InstructionSpec {
    fn check(&self) -> Vec<SpecError> {
        let mut errors = Vec::new();
        if !(1..=WORD_BYTES).contains(&self.size_bytes) {
            let (instruction, size_bytes) = (self.name.clone(), self.size_bytes);
            errors.push(SpecError::Size { instruction, size_bytes });
        }
        self.check_bits(&mut errors);
        self.check_forms(&mut errors);
        errors
    }

    fn check_bits(&self, errors: &mut Vec<SpecError>) {
        let patterns =
            self.patterns.iter().map(|part| (&part.name, part.bits, part.value <= part.bits.max()));
        let fields = self.fields.iter().map(|field| (&field.name, field.bits, fits(field)));
        let mut taken = Word::ZERO;
        for (name, bits, fits) in patterns.chain(fields) {
            let (instruction, part) = (self.name.clone(), name.clone());
            if bits.end() > self.size_bits() {
                errors.push(SpecError::Outside { instruction: instruction.clone(), part: part.clone() });
            }
            if !(taken & Word::mask(bits)).is_zero() {
                errors.push(SpecError::Overlap { instruction: instruction.clone(), part: part.clone() });
            }
            if !fits {
                errors.push(SpecError::TooNarrow { instruction, part });
            }
            taken = taken | Word::mask(bits);
        }
    }

    fn check_forms(&self, errors: &mut Vec<SpecError>) {
        let instruction = || self.name.clone();
        let mut names = HashSet::new();
        for field in self.fields.iter().filter(|field| !names.insert(&field.name)) {
            errors.push(SpecError::SameField { instruction: instruction(), field: field.name.clone() });
        }
        let limited = self.limits.iter().flat_map(|limit| limit.fields.iter().map(String::as_str));
        let conditions = self.limits.iter().flat_map(|limit| limit.when.iter().flat_map(When::fields));
        let unknown = limited.chain(conditions).filter(|name| self.field(name).is_none());
        errors.extend(
            unknown.map(|field| SpecError::NoField { instruction: instruction(), field: field.to_owned() }),
        );
        let mut said = HashSet::new();
        for form in &self.forms {
            let template = Template::new(self, &form.syntax);
            if template.mnemonic().is_none() {
                errors.push(SpecError::NoMnemonic { instruction: instruction() });
            }
            let conditions =
                form.when.iter().flat_map(When::fields).filter(|name| self.field(name).is_none());
            let unknown = template.unknown().into_iter().chain(conditions.map(str::to_owned));
            errors.extend(unknown.map(|field| SpecError::NoField { instruction: instruction(), field }));
            said.extend(template.fields());
            said.extend(form.when.iter().filter_map(When::gives).filter_map(|name| self.field(name)));
        }
        if let Some(field) = self.label_field.as_ref().filter(|name| self.field(name).is_none()) {
            errors.push(SpecError::NoField { instruction: instruction(), field: field.clone() });
        }
        let unsaid = self.fields.iter().enumerate().filter(|(index, _)| !said.contains(index));
        errors.extend(
            unsaid.map(|(_, field)| SpecError::Unsaid {
                instruction: instruction(),
                field: field.name.clone(),
            }),
        );
    }
}

fn fits(field: &Field) -> bool {
    match &field.kind {
        FieldKind::Number { min, max, bias, .. } => {
            bias <= min && min <= max && max - bias <= field.bits.max()
        }
        FieldKind::Signed { min, max } => {
            let shift = field.bits.width.clamp(1, i64::BITS) - 1;
            min <= max && *min >> shift >= -1 && *max >> shift <= 0
        }
        FieldKind::Power { min, max } => {
            min <= max && *max < u64::BITS && u64::from(*max) <= field.bits.max()
        }
        FieldKind::Choice { names, .. } => names.iter().all(|(code, _)| *code <= field.bits.max()),
        FieldKind::Flag { .. } => field.bits.width == 1,
        FieldKind::Set { names } => names.iter().all(|(bit, _)| *bit < field.bits.width),
    }
}

impl When {
    /// Returns the fields in the condition.
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::Is(field, _) | Self::OneOf(field, _) => vec![field],
            Self::Same(field, other) => vec![field, other],
        }
    }

    /// Returns the field whose value the condition determines if the text omits it.
    pub fn gives(&self) -> Option<&str> {
        match self {
            Self::Is(field, _) | Self::Same(field, _) => Some(field),
            Self::OneOf(..) => None,
        }
    }
}
