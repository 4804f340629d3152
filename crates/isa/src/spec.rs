//! [`IsaSpec`]: instructions, their fields, the bits of these, and their assembly syntax.

use npukit_base::{BitRange, Word};

/// An instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsaSpec {
    /// Name, including the instance if the set depends on it.
    pub name: String,
    /// Introduction that applies to all instructions.
    pub doc: String,
    /// Order of a word's bytes in files.
    pub byte_order: ByteOrder,
    /// Instructions, in the order of the reference page.
    pub instructions: Vec<InstructionSpec>,
}

/// Order of the bytes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant byte comes first.
    Little,
    /// The most significant byte comes first.
    Big,
}

/// Row of the table. [`InstructionSpec::new`] returns an empty row; the `with_` functions fill it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionSpec {
    /// Name in the hardware document.
    pub name: String,
    /// Meaning, in one line.
    pub meaning: String,
    /// Further explanation; may be empty.
    pub doc: String,
    /// Context in which the row applies (a component or a mode); `None` for all contexts. The same
    /// bits may mean different things in different contexts.
    pub context: Option<String>,
    /// Size of the word, at most 32 bytes.
    pub size_bytes: usize,
    /// Fixed bits that distinguish this instruction from others.
    pub patterns: Vec<Pattern>,
    /// Operands. Bits of the word in neither a pattern nor a field are reserved and must be 0.
    pub fields: Vec<Field>,
    /// Limits on combinations of field values.
    pub limits: Vec<Limit>,
    /// Assembly forms. The disassembler prints the first form that can express a word.
    pub forms: Vec<Form>,
    /// Name of a last operand that sets reserved bits: `rsv` for `, rsv=0x4`. `None`: a word with
    /// such bits is printed as `.word`.
    pub reserved_operand: Option<String>,
    /// Field whose value a label before the instruction has; `None` if labels have no value.
    pub label_field: Option<String>,
}

/// Bits with a fixed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Name of the bits, such as `opcode`.
    pub name: String,
    /// Position of the bits in the word.
    pub bits: BitRange,
    /// Value that the bits must have.
    pub value: u64,
}

/// Operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, also used in [`Form::syntax`].
    pub name: String,
    /// Meaning, in one line.
    pub meaning: String,
    /// Position of the field in the word.
    pub bits: BitRange,
    /// Kind and range of the values.
    pub kind: FieldKind,
    /// Value if the text omits the field; `None` for the default of the kind
    /// ([`FieldKind::default_value`]).
    pub default: Option<u64>,
    /// Meanings of named values, as pairs of code and meaning; empty if the names are enough.
    pub meanings: Vec<(u64, String)>,
}

impl Field {
    /// Creates a field without a default of its own.
    pub fn new(name: &str, bits: BitRange, kind: FieldKind, meaning: &str) -> Self {
        let (name, meaning) = (name.to_owned(), meaning.to_owned());
        Self { name, meaning, bits, kind, default: None, meanings: Vec::new() }
    }
}

/// Upper bound `max` on the product of several fields, or on one field, perhaps only for certain
/// values of other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Names of the fields.
    pub fields: Vec<String>,
    /// Largest legal product.
    pub max: u64,
    /// Conditions that must all be true for the limit to apply.
    pub when: Vec<When>,
}

/// Number base in which a number is printed. Input accepts every base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    /// Decimal: `64`
    Decimal,
    /// Hexadecimal: `0x40`
    Hexadecimal,
}

/// Kind and range of a field's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number from `min` to `max`, stored as `value - bias`. A size that is stored as one less
    /// has `bias` 1.
    Number {
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
        /// Number subtracted before the value is stored; at most `min`.
        bias: u64,
        /// Number base in which it is printed.
        radix: Radix,
    },
    /// A number from `min` to `max`, stored in two's complement. The value in an instruction is the
    /// `u64` with the same bits.
    Signed {
        /// Smallest legal value.
        min: i64,
        /// Largest legal value.
        max: i64,
    },
    /// A power of two from `2^min` to `2^max`, stored as its exponent.
    Power {
        /// Exponent of the smallest legal value.
        min: u32,
        /// Exponent of the largest legal value, at most 63.
        max: u32,
    },
    /// A value with a name.
    Choice {
        /// Pairs of code and name.
        names: Vec<(u64, String)>,
        /// Whether codes without a name are legal; they are written as numbers.
        open: bool,
    },
    /// A bit, written as this text when set: `.acc`.
    Flag {
        /// Text of the set bit.
        text: String,
    },
    /// Named bits, written as the names of the set ones: `findemax|w_scale`, or `0` if no bit is
    /// set.
    Set {
        /// Pairs of bit number, starting at the field's lowest bit, and name.
        names: Vec<(u32, String)>,
    },
}

/// Assembly form of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Template: `{field}` is a field, and other text is literal. `(?...?)` may be omitted if every
    /// field in it has its smallest value. `(*a={a}; b={b}?*)` are operands in any order, separated
    /// by commas; an operand followed by `?` may be omitted in the same case. The first word is the
    /// mnemonic.
    pub syntax: String,
    /// Conditions on the fields that must all be true.
    pub when: Vec<When>,
}

/// Condition of a [`Form`] or a [`Limit`]. In forms, `Is` and `Same` also determine the value of a
/// field that the template does not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// The field has this value.
    Is(String, u64),
    /// The field has one of these values.
    OneOf(String, Vec<u64>),
    /// The first field has the value of the second.
    Same(String, String),
}

impl FieldKind {
    /// Returns a number from 0 to `max`.
    pub const fn up_to(max: u64, radix: Radix) -> Self {
        Self::Number { min: 0, max, bias: 0, radix }
    }

    /// Returns a size of 1 to `max`, stored as one less.
    pub const fn size(max: u64) -> Self {
        Self::Number { min: 1, max, bias: 1, radix: Radix::Decimal }
    }

    /// Returns names for the codes 0, 1, 2, ...
    pub fn choice(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Choice { names: (0..).zip(names.into_iter().map(Into::into)).collect(), open: false }
    }

    /// Returns a bit written as `text`.
    pub fn flag(text: &str) -> Self {
        Self::Flag { text: text.to_owned() }
    }

    /// Returns named bits.
    pub fn set<'a>(names: impl IntoIterator<Item = (u32, &'a str)>) -> Self {
        Self::Set { names: names.into_iter().map(|(bit, name)| (bit, name.to_owned())).collect() }
    }

    /// Returns the value that a form may omit: the smallest, or 0 if there are negative values.
    pub fn default_value(&self) -> u64 {
        match self {
            Self::Number { min, .. } => *min,
            Self::Power { min, .. } => power(u64::from(*min)),
            Self::Signed { .. } | Self::Choice { .. } | Self::Flag { .. } | Self::Set { .. } => 0,
        }
    }
}

impl InstructionSpec {
    /// Returns a row without patterns, fields and forms.
    pub fn new(name: &str, size_bytes: usize, meaning: &str) -> Self {
        Self { name: name.to_owned(), meaning: meaning.to_owned(), size_bytes, ..Self::default() }
    }

    /// Appends a sentence to the explanation.
    pub fn add_doc(&mut self, sentence: &str) {
        if !self.doc.is_empty() {
            self.doc.push(' ');
        }
        self.doc.push_str(sentence);
    }

    /// Appends text to the explanation.
    #[must_use]
    pub fn with_doc(mut self, doc: &str) -> Self {
        doc.clone_into(&mut self.doc);
        self
    }

    /// Restricts the row to a context.
    #[must_use]
    pub fn with_context(mut self, context: &str) -> Self {
        self.context = Some(context.to_owned());
        self
    }

    /// Adds bits with a fixed value; ignored if an instance gives them no bits.
    #[must_use]
    pub fn with_pattern(mut self, name: &str, bits: BitRange, value: u64) -> Self {
        if bits.width > 0 {
            self.patterns.push(Pattern { name: name.to_owned(), bits, value });
        }
        self
    }

    /// Adds an operand.
    #[must_use]
    pub fn with_field(mut self, name: &str, bits: BitRange, kind: FieldKind, meaning: &str) -> Self {
        self.fields.push(Field::new(name, bits, kind, meaning));
        self
    }

    /// Explains the named values of an existing field, by code.
    #[must_use]
    pub fn with_meanings(mut self, field: &str, meanings: &[(u64, &str)]) -> Self {
        let index = self.field(field).expect("the field of meanings must be added before them");
        self.fields[index].meanings = meanings.iter().map(|&(code, text)| (code, text.to_owned())).collect();
        self
    }

    /// Sets the value that an existing field has if the text omits it.
    #[must_use]
    pub fn with_default(mut self, field: &str, value: u64) -> Self {
        let index = self.field(field).expect("the field of a default must be added before it");
        self.fields[index].default = Some(value);
        self
    }

    /// Limits the product of fields.
    #[must_use]
    pub fn with_limit(self, fields: &[&str], max: u64) -> Self {
        self.with_limit_when(fields, max, Vec::new())
    }

    /// Limits the product of fields, only if all conditions are true.
    #[must_use]
    pub fn with_limit_when(mut self, fields: &[&str], max: u64, when: Vec<When>) -> Self {
        self.limits.push(Limit { fields: fields.iter().map(|&name| name.to_owned()).collect(), max, when });
        self
    }

    /// Adds an assembly form.
    #[must_use]
    pub fn with_form(mut self, syntax: &str, when: Vec<When>) -> Self {
        self.forms.push(Form { syntax: syntax.to_owned(), when });
        self
    }

    /// Adds several limits.
    #[must_use]
    pub fn with_limits(mut self, limits: impl IntoIterator<Item = Limit>) -> Self {
        self.limits.extend(limits);
        self
    }

    /// Adds several assembly forms.
    #[must_use]
    pub fn with_forms(mut self, forms: impl IntoIterator<Item = Form>) -> Self {
        self.forms.extend(forms);
        self
    }

    /// Adds an operand that sets reserved bits.
    #[must_use]
    pub fn with_reserved_operand(mut self, name: &str) -> Self {
        self.reserved_operand = Some(name.to_owned());
        self
    }

    /// Gives labels before the instruction the value of a field.
    #[must_use]
    pub fn with_label_field(mut self, field: &str) -> Self {
        self.label_field = Some(field.to_owned());
        self
    }

    /// Returns the index of a field.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns the size of the word in bits.
    pub const fn size_bits(&self) -> u32 {
        self.size_bytes as u32 * 8
    }

    /// Returns the patterns as a mask and the value of the masked bits.
    pub fn pattern(&self) -> (Word, Word) {
        self.patterns.iter().fold((Word::ZERO, Word::ZERO), |(mask, value), pattern| {
            (mask | Word::mask(pattern.bits), value.with(pattern.bits, pattern.value))
        })
    }

    /// Returns the mask of the bits that must be 0.
    pub fn reserved(&self) -> Word {
        let fields = self.fields.iter().fold(Word::ZERO, |bits, field| bits | Word::mask(field.bits));
        Word::ones(self.size_bits()) & !(fields | self.pattern().0)
    }

    /// Whether the row applies in `context`.
    pub fn holds_in(&self, context: Option<&str>) -> bool {
        self.context.is_none() || self.context.as_deref() == context
    }
}

impl IsaSpec {
    /// Returns the instruction with this name, ignoring case.
    pub fn instruction(&self, name: &str) -> Option<&InstructionSpec> {
        self.instructions.iter().find(|instruction| instruction.name.eq_ignore_ascii_case(name))
    }

    /// Reads a word from `bytes` in this set's byte order.
    pub fn word(&self, bytes: &[u8]) -> Word {
        match self.byte_order {
            ByteOrder::Little => Word::from_le_bytes(bytes),
            ByteOrder::Big => Word::from_le_bytes(&bytes.iter().rev().copied().collect::<Vec<u8>>()),
        }
    }

    /// Returns the `size` bytes of `word` in file order.
    pub fn bytes(&self, word: Word, size: usize) -> Vec<u8> {
        let mut bytes = word.to_le_bytes().to_vec();
        bytes.truncate(size);
        if self.byte_order == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }
}

/// Returns `2^exponent`, or the largest number if it does not fit.
pub(crate) fn power(exponent: u64) -> u64 {
    u32::try_from(exponent).ok().and_then(|exponent| 1u64.checked_shl(exponent)).unwrap_or(u64::MAX)
}
