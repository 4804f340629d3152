//! [`IsaSpec`]: instructions, their fields, their place in the word and their text.

use npukit_base::{BitRange, Word};

/// An instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsaSpec {
    /// Name, with the instance when the set depends on one.
    pub name: String,
    /// What a reader should know of all instructions.
    pub doc: String,
    /// Order of a word's bytes in files.
    pub byte_order: ByteOrder,
    /// The table, in the order of the reference.
    pub instructions: Vec<InstructionSpec>,
}

/// Which byte of a word comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant.
    Little,
    /// The most significant.
    Big,
}

/// A row of the table. A new one means nothing yet: fill it with the `with_` functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionSpec {
    /// The hardware document's name.
    pub name: String,
    /// One line.
    pub meaning: String,
    /// What the line leaves out; may be empty.
    pub doc: String,
    /// Where alone this row holds (a component, a mode); `None` is everywhere. The same bits may
    /// mean different things in different contexts.
    pub context: Option<String>,
    /// Size of the word, at most 32 bytes.
    pub size_bytes: usize,
    /// Bits that tell this instruction from others.
    pub patterns: Vec<Pattern>,
    /// Operands. Bits of the word in neither a pattern nor a field are reserved and 0.
    pub fields: Vec<Field>,
    /// What fields may not be together.
    pub limits: Vec<Limit>,
    /// Ways to write it; the first that can say a word is the one printed.
    pub forms: Vec<Form>,
    /// Operand after all others by which text may set reserved bits: `rsv` for `, rsv=0x4`. Without
    /// one a word with such bits is written as `.word`.
    pub reserved_operand: Option<String>,
    /// The field whose value a label before the instruction stands for; without one labels have no value.
    pub label_field: Option<String>,
}

/// Bits with a fixed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// What the bits are called: `opcode`.
    pub name: String,
    /// Where.
    pub bits: BitRange,
    /// Their value.
    pub value: u64,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, also in [`Form::syntax`].
    pub name: String,
    /// One line.
    pub meaning: String,
    /// Where.
    pub bits: BitRange,
    /// What values mean.
    pub kind: FieldKind,
    /// The value where text leaves the field out, when that is not the kind's ([`FieldKind::default_value`]).
    pub default: Option<u64>,
}

/// A bound on several fields of an instruction together, or on one where others have certain values: their product
/// is at most `max`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Names of the fields.
    pub fields: Vec<String>,
    /// The largest legal product.
    pub max: u64,
    /// Where it holds: all of them.
    pub when: Vec<When>,
}

/// How a number is printed; every way is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    /// `64`
    Decimal,
    /// `0x40`
    Hexadecimal,
}

/// What a field's values mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number from `min` to `max`, stored as `value - bias`: a size stored as one less has
    /// `bias` 1.
    Number {
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
        /// What is taken off before it is stored; at most `min`.
        bias: u64,
        /// How it is printed.
        radix: Radix,
    },
    /// A number from `min` to `max`, stored in two's complement. As a value of an instruction it is
    /// the `u64` of the same bits.
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
        /// Code and name.
        names: Vec<(u64, String)>,
        /// Whether codes without a name are legal, written as numbers.
        open: bool,
    },
    /// A bit, written as this text when set: `.acc`.
    Flag {
        /// The text.
        text: String,
    },
    /// Bits with names, written as those of the set ones: `findemax|w_scale`; `0` when none is.
    Set {
        /// Bit, counted from the field's lowest, and name.
        names: Vec<(u32, String)>,
    },
}

/// A way to write an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Template: text stands for itself, `{field}` for a field, `(?...?)` may be left out when every
    /// field in it has its smallest value. `(*a={a}; b={b}?*)` are operands, read in any order with commas
    /// between them; those with a `?` after may be left out likewise. The first word is the mnemonic.
    pub syntax: String,
    /// What must hold of the fields.
    pub when: Vec<When>,
}

/// A condition of a [`Form`] or a [`Limit`]. In forms, `Is` and `Same` also give the value of a field the template leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// `field` has this value.
    Is(String, u64),
    /// `field` has one of these values.
    OneOf(String, Vec<u64>),
    /// The first field has the value of the second.
    Same(String, String),
}

impl FieldKind {
    /// A number from 0 to `max`.
    pub const fn up_to(max: u64, radix: Radix) -> Self {
        Self::Number { min: 0, max, bias: 0, radix }
    }

    /// A size of 1 to `max`, stored as one less.
    pub const fn size(max: u64) -> Self {
        Self::Number { min: 1, max, bias: 1, radix: Radix::Decimal }
    }

    /// The names for the codes 0, 1, 2, ...
    pub fn choice(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Choice { names: (0..).zip(names.into_iter().map(Into::into)).collect(), open: false }
    }

    /// A bit written as `text`.
    pub fn flag(text: &str) -> Self {
        Self::Flag { text: text.to_owned() }
    }

    /// Bits with names.
    pub fn set<'a>(names: impl IntoIterator<Item = (u32, &'a str)>) -> Self {
        Self::Set { names: names.into_iter().map(|(bit, name)| (bit, name.to_owned())).collect() }
    }

    /// The value a form may leave unsaid: the smallest, 0 where there are negative ones.
    pub fn default_value(&self) -> u64 {
        match self {
            Self::Number { min, .. } => *min,
            Self::Power { min, .. } => power(u64::from(*min)),
            Self::Signed { .. } | Self::Choice { .. } | Self::Flag { .. } | Self::Set { .. } => 0,
        }
    }
}

impl InstructionSpec {
    /// A row without bits and operands.
    pub fn new(name: &str, size_bytes: usize, meaning: &str) -> Self {
        Self { name: name.to_owned(), meaning: meaning.to_owned(), size_bytes, ..Self::default() }
    }

    /// Adds a sentence to what the line leaves out.
    pub fn add_doc(&mut self, sentence: &str) {
        if !self.doc.is_empty() {
            self.doc.push(' ');
        }
        self.doc.push_str(sentence);
    }

    /// Adds what the one line leaves out.
    #[must_use]
    pub fn with_doc(mut self, doc: &str) -> Self {
        doc.clone_into(&mut self.doc);
        self
    }

    /// Confines the row to a context.
    #[must_use]
    pub fn with_context(mut self, context: &str) -> Self {
        self.context = Some(context.to_owned());
        self
    }

    /// Adds bits of a fixed value; none where an instance gives them no bits.
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
        let (name, meaning) = (name.to_owned(), meaning.to_owned());
        self.fields.push(Field { name, meaning, bits, kind, default: None });
        self
    }

    /// Gives a field that is there another value where text leaves it out.
    #[must_use]
    pub fn with_default(mut self, field: &str, value: u64) -> Self {
        let index = self.field(field).expect("a default is of a field that stands before it");
        self.fields[index].default = Some(value);
        self
    }

    /// Bounds the product of fields.
    #[must_use]
    pub fn with_limit(self, fields: &[&str], max: u64) -> Self {
        self.with_limit_when(fields, max, Vec::new())
    }

    /// Bounds the product of fields where others have certain values.
    #[must_use]
    pub fn with_limit_when(mut self, fields: &[&str], max: u64, when: Vec<When>) -> Self {
        self.limits.push(Limit { fields: fields.iter().map(|&name| name.to_owned()).collect(), max, when });
        self
    }

    /// Adds a way to write it.
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

    /// Adds several ways to write it.
    #[must_use]
    pub fn with_forms(mut self, forms: impl IntoIterator<Item = Form>) -> Self {
        self.forms.extend(forms);
        self
    }

    /// Lets text set reserved bits by this operand.
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

    /// Index of a field.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Size of the word in bits.
    pub const fn size_bits(&self) -> u32 {
        self.size_bytes as u32 * 8
    }

    /// The patterns as (bits that count, their values).
    pub fn pattern(&self) -> (Word, Word) {
        self.patterns.iter().fold((Word::ZERO, Word::ZERO), |(mask, value), pattern| {
            (mask | Word::mask(pattern.bits), value.with(pattern.bits, pattern.value))
        })
    }

    /// The bits that must be 0.
    pub fn reserved(&self) -> Word {
        let fields = self.fields.iter().fold(Word::ZERO, |bits, field| bits | Word::mask(field.bits));
        Word::ones(self.size_bits()) & !(fields | self.pattern().0)
    }

    /// Whether the row holds in `context`.
    pub fn holds_in(&self, context: Option<&str>) -> bool {
        self.context.is_none() || self.context.as_deref() == context
    }
}

impl IsaSpec {
    /// The instruction of that name, whatever its case.
    pub fn instruction(&self, name: &str) -> Option<&InstructionSpec> {
        self.instructions.iter().find(|instruction| instruction.name.eq_ignore_ascii_case(name))
    }

    /// The word of `bytes` in this set's byte order.
    pub fn word(&self, bytes: &[u8]) -> Word {
        match self.byte_order {
            ByteOrder::Little => Word::from_le_bytes(bytes),
            ByteOrder::Big => Word::from_le_bytes(&bytes.iter().rev().copied().collect::<Vec<u8>>()),
        }
    }

    /// The `size` bytes of `word` as they stand in files.
    pub fn bytes(&self, word: Word, size: usize) -> Vec<u8> {
        let mut bytes = word.to_le_bytes().to_vec();
        bytes.truncate(size);
        if self.byte_order == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }
}

/// `2^exponent`, or the largest number when that does not fit.
pub(crate) fn power(exponent: u64) -> u64 {
    u32::try_from(exponent).ok().and_then(|exponent| 1u64.checked_shl(exponent)).unwrap_or(u64::MAX)
}
