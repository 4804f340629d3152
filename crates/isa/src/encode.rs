//! Encodes field values to words.

use npukit_base::Word;
use thiserror::Error;

use crate::coding::sign_extended;
use crate::spec::{Field, FieldKind, InstructionSpec, Limit, When, power};

/// Reason why a field cannot hold a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FieldError {
    /// A number is out of range.
    #[error("`{field}` of {instruction} is {value}: legal are {min} to {max}")]
    Range {
        /// Name of the instruction.
        instruction: String,
        /// Name of the field.
        field: String,
        /// Value of the field.
        value: u64,
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
    },
    /// A code has no name, and the field accepts only names.
    #[error("`{field}` of {instruction} is {value}, which has no name: legal are {legal}")]
    NoName {
        /// Name of the instruction.
        instruction: String,
        /// Name of the field.
        field: String,
        /// Value of the field.
        value: u64,
        /// Legal names with their codes.
        legal: String,
    },
    /// A signed number is out of range, or a number is not a legal power of two.
    #[error("`{field}` of {instruction} is {value}: legal are {legal}")]
    Illegal {
        /// Name of the instruction.
        instruction: String,
        /// Name of the field.
        field: String,
        /// Value of the field.
        value: i128,
        /// Legal values.
        legal: String,
    },
    /// Fields exceed a limit on their product, perhaps only for certain values of other fields.
    #[error("{} of {instruction} is {value}: {} at most {max}{when}", .fields.join(" * "), product(.fields))]
    Product {
        /// Name of the instruction.
        instruction: String,
        /// Names of the fields.
        fields: Vec<String>,
        /// Product of the values.
        value: u64,
        /// Largest legal product.
        max: u64,
        /// Condition of the limit, in words; empty if it always applies.
        when: String,
    },
    /// The instruction exists only in other instances.
    #[error("this instance has no {instruction}")]
    Absent {
        /// Name of the instruction.
        instruction: String,
    },
    /// The number of values differs from the number of fields.
    #[error("{instruction} has {wanted} fields, not {given}")]
    Count {
        /// Name of the instruction.
        instruction: String,
        /// Number of values given.
        given: usize,
        /// Number of fields.
        wanted: usize,
    },
}

fn product(fields: &[String]) -> &'static str {
    if fields.len() > 1 { "the product is" } else { "it is" }
}

impl Field {
    /// Returns the value that the field has if the text omits it.
    pub fn default_value(&self) -> u64 {
        self.default.unwrap_or_else(|| self.kind.default_value())
    }

    /// Returns the name of a value, if it has one.
    pub fn name_of(&self, value: u64) -> Option<&str> {
        let FieldKind::Choice { names, .. } = &self.kind else { return None };
        names.iter().find(|(code, _)| *code == value).map(|(_, name)| name.as_str())
    }

    /// Returns the meaning of a value, if it is explained.
    pub fn meaning_of(&self, value: u64) -> Option<&str> {
        self.meanings.iter().find(|(code, _)| *code == value).map(|(_, meaning)| meaning.as_str())
    }

    /// Returns the meaning of the value called `name`, otherwise the meaning of the field.
    pub fn meaning_of_name(&self, name: &str) -> &str {
        // Default: a name that needs no explanation.
        self.code_of(name).and_then(|code| self.meaning_of(code)).unwrap_or(&self.meaning)
    }

    /// Returns the value of a name, ignoring case.
    pub fn code_of(&self, name: &str) -> Option<u64> {
        let FieldKind::Choice { names, .. } = &self.kind else { return None };
        names.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(code, _)| *code)
    }

    /// Returns the names of values, in table order.
    pub fn names(&self) -> Vec<&str> {
        match &self.kind {
            FieldKind::Choice { names, .. } => names.iter().map(|(_, name)| name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the largest legal value, as written in text.
    pub fn max(&self) -> u64 {
        match &self.kind {
            FieldKind::Number { max, .. } => *max,
            FieldKind::Signed { max, .. } => max.cast_unsigned(),
            FieldKind::Power { max, .. } => power(u64::from(*max)),
            FieldKind::Choice { .. } | FieldKind::Flag { .. } | FieldKind::Set { .. } => self.bits.max(),
        }
    }

    /// Returns the difference between a value in text and its stored bits.
    pub fn bias(&self) -> u64 {
        match &self.kind {
            FieldKind::Number { bias, .. } => *bias,
            _ => 0,
        }
    }

    /// Returns the bits that encode `value`.
    pub fn stored(&self, value: u64) -> u64 {
        match &self.kind {
            FieldKind::Signed { .. } => value & self.bits.max(),
            FieldKind::Power { .. } => u64::from(value.trailing_zeros()),
            _ => value.wrapping_sub(self.bias()),
        }
    }

    /// Returns the value that the bits `stored` encode.
    pub fn value(&self, stored: u64) -> u64 {
        match &self.kind {
            FieldKind::Signed { .. } => sign_extended(stored, self.bits),
            FieldKind::Power { .. } => power(stored),
            _ => stored.saturating_add(self.bias()),
        }
    }

    /// Describes the legal values.
    pub fn legal(&self) -> String {
        match &self.kind {
            FieldKind::Number { min, max, .. } => format!("{min} to {max}"),
            FieldKind::Signed { min, max } => format!("{min} to {max}"),
            FieldKind::Power { min, max } => {
                let powers: Vec<String> = (*min..=*max).map(|e| power(e.into()).to_string()).collect();
                powers.join(", ")
            }
            FieldKind::Choice { names, open } => {
                let mut legal: Vec<String> =
                    names.iter().map(|(code, name)| format!("{name} ({code})")).collect();
                if *open {
                    legal.push(format!("a number up to {}", self.bits.max()));
                }
                legal.join(", ")
            }
            FieldKind::Flag { text } => format!("`{text}` or nothing"),
            FieldKind::Set { names } => {
                let names = names.iter().map(|(bit, name)| format!("{name} ({:#x})", bit_value(*bit)));
                names.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Whether the field can hold `value`.
    pub fn allows(&self, value: u64) -> bool {
        match &self.kind {
            FieldKind::Signed { min, max } => (*min..=*max).contains(&value.cast_signed()),
            FieldKind::Power { .. } if !value.is_power_of_two() => false,
            _ => {
                let in_range = (self.kind.default_value()..=self.max()).contains(&value);
                in_range && (!self.needs_name() || self.is_named(value))
            }
        }
    }

    /// Returns the legal number closest to `value`, or `None` for a field of names.
    pub fn nearest(&self, value: i128) -> Option<i128> {
        match &self.kind {
            FieldKind::Number { min, max, .. } => Some(value.clamp((*min).into(), (*max).max(*min).into())),
            FieldKind::Signed { min, max } => Some(value.clamp((*min).into(), (*max).max(*min).into())),
            FieldKind::Power { min, max } => {
                let powers = (*min..=*max).map(|exponent| i128::from(power(exponent.into())));
                powers.min_by_key(|power| power.abs_diff(value))
            }
            FieldKind::Choice { .. } | FieldKind::Flag { .. } | FieldKind::Set { .. } => None,
        }
    }

    /// Checks a value like [`Field::allows`], and gives the reason if it is illegal.
    ///
    /// # Errors
    /// [`FieldError`] with the legal values if the field cannot hold `value`.
    pub fn check(&self, instruction: &str, value: u64) -> Result<(), FieldError> {
        if self.allows(value) { Ok(()) } else { Err(self.error(instruction, value)) }
    }

    /// Returns the error for an illegal `value`.
    pub fn error(&self, instruction: &str, value: u64) -> FieldError {
        let (instruction, field, legal) = (instruction.to_owned(), self.name.clone(), self.legal());
        match self.kind {
            _ if self.needs_name() => FieldError::NoName { instruction, field, value, legal },
            FieldKind::Signed { .. } => {
                let value = value.cast_signed().into();
                FieldError::Illegal { instruction, field, value, legal }
            }
            FieldKind::Power { .. } => FieldError::Illegal { instruction, field, value: value.into(), legal },
            _ => {
                let (min, max) = (self.kind.default_value(), self.max());
                FieldError::Range { instruction, field, value, min, max }
            }
        }
    }

    const fn needs_name(&self) -> bool {
        matches!(self.kind, FieldKind::Choice { open: false, .. } | FieldKind::Set { .. })
    }

    fn is_named(&self, value: u64) -> bool {
        match &self.kind {
            FieldKind::Choice { .. } => self.name_of(value).is_some(),
            FieldKind::Set { names } => {
                value & !names.iter().fold(0, |bits, (bit, _)| bits | bit_value(*bit)) == 0
            }
            _ => false,
        }
    }
}

/// Returns the value with only `bit` set; 0 if `bit` is 64 or more.
fn bit_value(bit: u32) -> u64 {
    1_u64.checked_shl(bit).unwrap_or(0)
}

impl InstructionSpec {
    /// Encodes `values`, one per field, as written in text. Sizes are given in vectors, even if
    /// stored as one less.
    ///
    /// # Errors
    /// [`FieldError::Count`] if the number of values differs from the number of fields; otherwise
    /// one error per value that its field cannot hold.
    pub fn encode(&self, values: &[u64]) -> Result<Word, Vec<FieldError>> {
        if values.len() != self.fields.len() {
            let (instruction, given, wanted) = (self.name.clone(), values.len(), self.fields.len());
            return Err(vec![FieldError::Count { instruction, given, wanted }]);
        }
        let mut word = self.pattern().1;
        let mut errors = Vec::new();
        for (field, &value) in self.fields.iter().zip(values) {
            match field.check(&self.name, value) {
                Ok(()) => word.set(field.bits, field.stored(value)),
                Err(error) => errors.push(error),
            }
        }
        errors.extend(self.beyond_limits(values));
        if errors.is_empty() { Ok(word) } else { Err(errors) }
    }

    /// Returns the limits that `values`, one per field, exceed.
    pub fn beyond_limits(&self, values: &[u64]) -> Vec<FieldError> {
        let value = |name: &String| self.field(name).and_then(|index| values.get(index)).copied();
        let broken = |limit: &Limit| {
            let product = limit.fields.iter().filter_map(value).fold(1, u64::saturating_mul);
            (product > limit.max).then(|| FieldError::Product {
                instruction: self.name.clone(),
                fields: limit.fields.clone(),
                value: product,
                max: limit.max,
                when: limit.when.iter().map(|when| self.in_words(when)).collect(),
            })
        };
        let holds = |when: &When| match when {
            When::Is(field, wanted) => value(field) == Some(*wanted),
            When::OneOf(field, wanted) => value(field).is_some_and(|value| wanted.contains(&value)),
            When::Same(one, other) => value(one) == value(other),
        };
        self.limits.iter().filter(|limit| limit.when.iter().all(holds)).filter_map(broken).collect()
    }

    /// Describes a condition as a suffix of the limit's text.
    fn in_words(&self, when: &When) -> String {
        let name = |field: &str, value: u64| {
            let name = self.field(field).and_then(|index| self.fields[index].name_of(value));
            name.map_or_else(|| value.to_string(), str::to_owned)
        };
        match when {
            When::Is(field, value) => format!(", where `{field}` is {}", name(field, *value)),
            When::OneOf(field, values) => {
                let names: Vec<String> = values.iter().map(|&value| name(field, value)).collect();
                format!(", where `{field}` is {}", names.join(" or "))
            }
            When::Same(one, other) => format!(", where `{one}` is `{other}`"),
        }
    }
}
