//! [`instructions!`](crate::instructions): defines an instruction set, one row per instruction.

use thiserror::Error;

/// Reason why a word is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoInstruction {
    /// No row has this opcode.
    #[error("opcode {opcode:#x} has no meaning")]
    Opcode {
        /// Value of the opcode bits.
        opcode: u64,
    },
    /// An operand has a value without meaning.
    #[error(transparent)]
    Operand(Box<NoOperand>),
}

/// An operand with a value that has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{field}` of {instruction} is {value}, which has no meaning")]
pub struct NoOperand {
    /// Name of the instruction.
    pub instruction: &'static str,
    /// Name of the field.
    pub field: &'static str,
    /// Value of the field, as written in text.
    pub value: u64,
    /// Values of all fields of the instruction, in table order, as written in text.
    pub values: Vec<u64>,
}

impl NoInstruction {
    /// Returns the error for an operand without meaning.
    #[cold]
    pub fn operand(instruction: &'static str, field: &'static str, value: u64, values: Vec<u64>) -> Self {
        Self::Operand(Box::new(NoOperand { instruction, field, value, values }))
    }
}

/// Defines the rows of an instruction set. Each row gives the mnemonic, encoder, decoder, reserved
/// bits and the [`InstructionSpec`](crate::InstructionSpec) of an instruction. The assembler, the
/// disassembler and the reference page read this specification.
///
/// A row has this form:
///
/// ```text
/// CODE => "MNEMONIC" { INSTRUCTION } "MEANING" {
///     FIELD: BITS => CODING, "MEANING";
/// } .with_form(..) .with_..(..);
/// ```
///
/// `CODE, KIND in BITS` is for an instruction that needs further bits to be distinguished from
/// others, and `CODE, if CONDITION` for one that only some instances have. If the instance decides
/// on these bits, write `code(CODE)` instead of the literal and `variant(VARIANT) in BITS` instead
/// of the kind; the bits may be empty. The rows follow `for TYPE, words of BYTES, opcode in BITS;`,
/// or `for TYPE on NAME: CONTEXT, ..` if bits or codings depend on an instance. After the rows,
/// `outside { PATTERN => NAME, WORD; }` defines instructions without a row.
///
/// `INSTRUCTION` is both the pattern that decomposes an instruction and the expression that builds
/// it. Its variables are the fields, whose types are [`Operand`](crate::coding::Operand)s; `CODING`
/// is a [`Coding`](crate::coding::Coding).
///
/// ```
/// use npukit_isa::coding::{Flag, Number};
/// use npukit_isa::{BitRange, Word, instructions};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Op {
///     Stop,
///     Move { size: u8, add: bool },
/// }
///
/// const OPCODE: BitRange = BitRange::new(12, 4);
///
/// instructions! {
///     for Op, words of 2, opcode in OPCODE;
///
///     0 => "STOP" { Self::Stop } "Stops." {
///     } .with_form("stop", Vec::new());
///
///     1 => "MOVE" { Self::Move { size, add } } "Copies vectors." {
///         size: BitRange::new(0, 4) => Number::size(16), "vectors";
///         add: BitRange::new(4, 1) => Flag(".add"), "adds instead of overwriting";
///     } .with_form("move{add} {size}", Vec::new());
/// }
///
/// let word = Op::Move { size: 3, add: true }.to_word().unwrap();
/// assert_eq!(word, Word::from(0x1012_u64));
/// assert_eq!(Op::from_word(word), Ok(Op::Move { size: 3, add: true }));
/// assert_eq!(Op::reserved_bits(Word::from(0x1020_u64)), Word::from(0x20_u64));
/// assert!(Op::from_word(Word::from(0x2000_u64)).is_err());
/// let error = Op::Move { size: 17, add: false }.to_word().unwrap_err();
/// assert_eq!(error.to_string(), "`size` of MOVE is 17: legal are 1 to 16");
/// assert_eq!(Op::Stop.mnemonic(), Op::rows()[0].name);
/// ```
#[macro_export]
macro_rules! instructions {
    (
        for $Op:ident $( on $context:ident : $Context:ty )?, words of $size:expr, opcode in $opcode:expr;
        $(
            $( $code:literal )? $( code($any_code:expr) )?
            $(, $kind:literal in $kind_bits:expr)?
            $(, variant($variant:expr) in $variant_bits:expr)?
            $(, if $condition:expr)? =>
            $mnemonic:literal { $($op:tt)+ } $meaning:literal {
                $( $field:ident : $bits:expr => $coding:expr, $about:expr; )*
            } $( . $with:ident ( $($argument:tt)* ) )* ;
        )+
        $( outside { $( $outside:pat => $outside_name:expr, $outside_word:expr; )+ } )?
    ) => {
        impl $Op {
            /// Returns the mnemonic of the instruction.
            #[allow(unused_variables, reason = "each pattern names all operands")]
            pub const fn mnemonic(&self) -> &'static str {
                match *self {
                    $( $($op)+ => $mnemonic, )+
                    $($( $outside => $outside_name, )+)?
                }
            }

            /// Encodes the instruction.
            ///
            /// # Errors
            /// The first operand that its field cannot hold.
            #[allow(unused_variables, reason = "no row may depend on the instance")]
            #[inline(always)]
            pub fn to_word(&self $(, $context: $Context)?) -> Result<$crate::Word, Box<$crate::FieldError>> {
                #[allow(unused_imports, reason = "some sets have no fields")]
                use $crate::coding::{Coding, Operand};
                match *self {
                    $(
                        $($op)+ => {
                            $( if !$condition {
                                return Err($crate::FieldError::Absent { instruction: $mnemonic.to_owned() }.into());
                            } )?
                            #[allow(unused_mut, reason = "some rows have no fields")]
                            let mut word = $crate::Word::ZERO
                                .with($opcode, $( $code )? $( $any_code )?)
                                $( .with($kind_bits, $kind) )?
                                $( .with($variant_bits, $variant) )?;
                            $(
                                let value = Operand::into_value($field);
                                match Coding::store(&$coding, value, $bits) {
                                    Some(stored) => word.set($bits, stored),
                                    None => return Err($crate::Field::new(
                                        stringify!($field).trim_start_matches("r#"),
                                        $bits,
                                        Coding::kind(&$coding),
                                        $about,
                                    )
                                    .error($mnemonic, value)
                                    .into()),
                                }
                            )*
                            Ok(word)
                        }
                    )+
                    $($( $outside => Ok($outside_word), )+)?
                }
            }

            /// Decodes a word and ignores reserved bits. Illegal field values are decoded, too.
            ///
            /// # Errors
            /// An opcode or operand that has no meaning.
            #[inline(always)]
            pub fn from_word(word: $crate::Word $(, $context: $Context)?) -> Result<Self, $crate::NoInstruction> {
                Self::from_word_or(word $(, $context)?, |error| error)
            }

            /// Decodes a word like `from_word`, with the caller's own error type. Each row builds
            /// its instruction at its final place, because moving it once more would cost as much
            /// as decoding all fields.
            ///
            /// # Errors
            /// The result of `refuse` for an opcode or operand that has no meaning.
            #[allow(unused_variables, reason = "no row may depend on the instance")]
            #[inline(always)]
            pub fn from_word_or<E>(
                word: $crate::Word
                $(, $context: $Context)?,
                refuse: impl FnOnce($crate::NoInstruction) -> E,
            ) -> Result<Self, E> {
                use $crate::coding::{Coding, Operand};
                let (instruction, field, value) = 'no_operand: {
                    match word.get($opcode) {
                        $(
                            $( $code if true )? $( opcode if opcode == $any_code )?
                        $( && word.get($kind_bits) == $kind )?
                        $( && word.get($variant_bits) == $variant )?
                        $( && $condition )? => {
                                $(
                                    let value = Coding::value(&$coding, word.get($bits), $bits);
                                    let Some($field) = Operand::from_value(value) else {
                                        let field = stringify!($field).trim_start_matches("r#");
                                        break 'no_operand ($mnemonic, field, value);
                                    };
                                )*
                                return Ok($($op)+);
                            }
                        )+
                        opcode => return Err(refuse($crate::NoInstruction::Opcode { opcode })),
                    }
                };
                let values = Self::operands(word $(, $context)?);
                Err(refuse($crate::NoInstruction::operand(instruction, field, value, values)))
            }

            /// Returns the values of all fields of a word, in table order, as written in text;
            /// empty if the word has no meaning.
            #[allow(unused_variables, reason = "no row may depend on the instance")]
            #[cold]
            fn operands(word: $crate::Word $(, $context: $Context)?) -> Vec<u64> {
                use $crate::coding::Coding;
                match word.get($opcode) {
                    $(
                        $( $code if true )? $( opcode if opcode == $any_code )?
                        $( && word.get($kind_bits) == $kind )?
                        $( && word.get($variant_bits) == $variant )?
                        $( && $condition )? => {
                            vec![$( Coding::value(&$coding, word.get($bits), $bits) ),*]
                        }
                    )+
                    _ => Vec::new(),
                }
            }

            /// Returns the set bits of a word that belong neither to the opcode nor to a field.
            #[allow(unused_variables, reason = "no row may depend on the instance")]
            #[inline]
            pub fn reserved_bits(word: $crate::Word $(, $context: $Context)?) -> $crate::Word {
                let known = match word.get($opcode) {
                    $(
                        $( $code if true )? $( opcode if opcode == $any_code )?
                        $( && word.get($kind_bits) == $kind )?
                        $( && word.get($variant_bits) == $variant )?
                        $( && $condition )? => {
                            $crate::Word::ZERO
                                $( | $crate::Word::mask($kind_bits) )?
                                $( | $crate::Word::mask($variant_bits) )?
                                $( | $crate::Word::mask($bits) )*
                        }
                    )+
                    _ => $crate::Word::ZERO,
                };
                word & !(known | $crate::Word::mask($opcode))
            }

            /// Returns the rows of the table.
            #[allow(unused_variables, reason = "no row may depend on the instance")]
            pub fn rows($($context: $Context)?) -> Vec<$crate::InstructionSpec> {
                use $crate::coding::Coding;
                let mut rows = Vec::new();
                $(
                    if true $( && $condition )? {
                        rows.push(
                            $crate::InstructionSpec::new($mnemonic, $size, $meaning)
                                .with_pattern("opcode", $opcode, $( $code )? $( $any_code )?)
                                $( .with_pattern("kind", $kind_bits, $kind) )?
                                $( .with_pattern("variant", $variant_bits, $variant) )?
                                $( .with_field(
                                    stringify!($field).trim_start_matches("r#"),
                                    $bits,
                                    Coding::kind(&$coding),
                                    $about,
                                ) )*
                                $( . $with ( $($argument)* ) )*,
                        );
                    }
                )+
                rows
            }
        }
    };
}
