//! [`Grammar`]: the forms of an instruction set, prepared for reading and printing.

use std::collections::HashMap;

use npukit_base::help_for;
use npukit_isa::syntax::{Operand, Piece, Template, visit};
use npukit_isa::{Field, FieldKind, InstructionSpec, IsaSpec, Radix, When};

/// All forms of an instruction set, in the order of its table.
pub(crate) struct Grammar<'a> {
    pub spec: &'a IsaSpec,
    pub forms: Vec<CompiledForm<'a>>,
    /// Indices of the forms, by their lowercase first word.
    by_mnemonic: HashMap<String, Vec<usize>>,
}

/// Form with a parsed template.
pub(crate) struct CompiledForm<'a> {
    /// Index of the instruction.
    pub index: usize,
    pub instruction: &'a InstructionSpec,
    /// Index of the form within the instruction.
    pub place: usize,
    pub template: Template,
    pub when: &'a [When],
}

impl<'a> Grammar<'a> {
    pub fn new(spec: &'a IsaSpec) -> Self {
        let mut forms = Vec::new();
        for (index, instruction) in spec.instructions.iter().enumerate() {
            for (place, form) in instruction.forms.iter().enumerate() {
                let template = Template::new(instruction, &form.syntax);
                forms.push(CompiledForm { index, instruction, place, template, when: &form.when });
            }
        }
        let mut by_mnemonic: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, form) in forms.iter().enumerate() {
            let word = form.template.mnemonic().map(str::to_ascii_lowercase);
            word.into_iter().for_each(|word| by_mnemonic.entry(word).or_default().push(place));
        }
        Self { spec, forms, by_mnemonic }
    }

    /// Returns the forms that begin with `mnemonic` and apply in `context`.
    pub fn forms_of(&self, mnemonic: &str, context: Option<&str>) -> Vec<&CompiledForm<'a>> {
        let found = self.by_mnemonic.get(&mnemonic.to_ascii_lowercase()).into_iter().flatten();
        let forms = found.filter_map(|place| self.forms.get(*place));
        forms.filter(|form| form.instruction.holds_in(context)).collect()
    }

    /// Returns the row of the first form that begins with `mnemonic`.
    pub fn row_of(&self, mnemonic: &str) -> Option<usize> {
        let places = self.by_mnemonic.get(&mnemonic.to_ascii_lowercase())?;
        places.first().and_then(|place| self.forms.get(*place)).map(|form| form.index)
    }

    /// Returns the hint for a word that is not a mnemonic in `context`.
    pub fn help_for(&self, mnemonic: &str, context: Option<&str>) -> String {
        let mut known: Vec<&str> = Vec::new();
        for form in self.forms.iter().filter(|form| form.instruction.holds_in(context)) {
            known.extend(form.template.mnemonic().filter(|word| !known.contains(word)));
        }
        help_for(mnemonic, &known)
    }

    /// Returns the text of instruction `index` with these values, by the first form that can
    /// express them.
    pub fn print(&self, index: usize, values: &[u64]) -> Option<String> {
        self.forms.iter().filter(|form| form.index == index).find_map(|form| form.print(values))
    }
}

impl CompiledForm<'_> {
    fn print(&self, values: &[u64]) -> Option<String> {
        let value = |name: &str| self.instruction.field(name).and_then(|index| values.get(index)).copied();
        let holds = self.when.iter().all(|when| match when {
            When::Is(field, wanted) => value(field) == Some(*wanted),
            When::OneOf(field, wanted) => value(field).is_some_and(|value| wanted.contains(&value)),
            When::Same(field, other) => value(field) == value(other),
        });
        (holds && self.says_all(values)).then(|| {
            let mut text = String::new();
            self.print_pieces(&self.template.pieces, values, &mut text);
            text
        })
    }

    /// Whether fields that the template omits have the values with which they would be read.
    fn says_all(&self, values: &[u64]) -> bool {
        let said = self.template.fields();
        let implied = |field: &Field| self.when.iter().any(|when| when.gives() == Some(&field.name));
        self.instruction.fields.iter().zip(values).enumerate().all(|(index, (field, value))| {
            said.contains(&index) || implied(field) || *value == field.default_value()
        })
    }

    fn print_pieces(&self, pieces: &[Piece], values: &[u64], text: &mut String) {
        for piece in pieces {
            match piece {
                Piece::Text { text: literal, .. } => text.push_str(literal),
                Piece::Field(index) => {
                    let field = self.instruction.fields.get(*index).zip(values.get(*index));
                    text.push_str(&field.map(|(field, value)| printed(field, *value)).unwrap_or_default());
                }
                Piece::Optional(inner) if self.is_default(inner, values) => {}
                Piece::Optional(inner) => self.print_pieces(inner, values, text),
                Piece::Operands(operands) => self.print_operands(operands, values, text),
                Piece::Unknown(_) => {}
            }
        }
    }

    fn print_operands(&self, operands: &[Operand], values: &[u64], text: &mut String) {
        let said = operands.iter().filter(|one| !(one.optional && self.is_default(&one.pieces, values)));
        for (index, operand) in said.enumerate() {
            if index > 0 {
                text.push_str(", ");
            }
            self.print_pieces(&operand.pieces, values, text);
        }
    }

    fn is_default(&self, pieces: &[Piece], values: &[u64]) -> bool {
        let mut default = true;
        visit(pieces, &mut |piece| {
            if let Piece::Field(index) = piece {
                let field = self.instruction.fields.get(*index).zip(values.get(*index));
                default &= field.is_none_or(|(field, value)| *value == field.default_value());
            }
        });
        default
    }
}

fn printed(field: &Field, value: u64) -> String {
    match &field.kind {
        FieldKind::Number { radix: Radix::Hexadecimal, .. } => format!("{value:#x}"),
        FieldKind::Signed { .. } => value.cast_signed().to_string(),
        FieldKind::Number { .. } | FieldKind::Power { .. } => value.to_string(),
        FieldKind::Choice { .. } => field.name_of(value).map_or_else(|| value.to_string(), str::to_owned),
        FieldKind::Set { names } => {
            let set = names.iter().filter(|(bit, _)| value >> bit & 1 == 1).map(|(_, name)| name.as_str());
            let set = set.collect::<Vec<_>>().join("|");
            if set.is_empty() { "0".to_owned() } else { set }
        }
        FieldKind::Flag { text } if value != 0 => text.clone(),
        FieldKind::Flag { .. } => String::new(),
    }
}
