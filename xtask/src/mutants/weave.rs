//! Weaves all mutants of a file into its text, each with a switch, so that one build contains all
//! of them.
//!
//! `a + b` becomes `(if on(7) { (a) - (b) } else { a + b })`. The type checker sees every mutant,
//! and at run time at most one is on. `cargo mutants --list` determines the places.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::list::{Genre, Mutant};

/// A file with its mutants, and their positions.
pub struct Woven {
    pub text: String,
    /// Byte ranges of `text` that each mutant added, with its number. Inner ones come before outer
    /// ones.
    pub added: Vec<(Range<usize>, usize)>,
    /// Numbers of mutants whose place was not found.
    pub lost: Vec<usize>,
}

/// Weaves the numbered `mutants` into the file `source`.
///
/// # Errors
///
/// The parser's error for text that is not Rust.
pub fn weave(source: &str, mutants: &[(usize, &Mutant)]) -> syn::Result<Woven> {
    let file = syn::parse_file(source)?;
    let mut places = Places::default();
    places.visit_file(&file);
    let lines: Vec<usize> =
        std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut edits: BTreeMap<Key, Edit> = BTreeMap::new();
    let mut lost = Vec::new();
    for &(number, mutant) in mutants {
        let at = mutant.bytes(source, &lines);
        match places.edit(&at, mutant).filter(|_| !places.is_constant(&at)) {
            Some(kind) => {
                let range = kind.range();
                let rank = match kind {
                    Kind::Arm { .. } => 0,
                    Kind::Expression(_) => 2,
                    _ => 1,
                };
                let key = (range.start, !range.is_empty() as usize, usize::MAX - range.end, rank);
                let edit = edits.entry(key).or_insert_with(|| Edit { kind, mutants: Vec::new() });
                edit.mutants.push((number, mutant.genre, mutant.replacement.clone(), at));
            }
            None => lost.push(number),
        }
    }
    let edits: Vec<Edit> = edits.into_values().collect();
    let mut writer = Writer { source, text: String::new(), added: Vec::new() };
    writer.write(0..source.len(), &edits);
    Ok(Woven { text: writer.text, added: writer.added, lost })
}

/// Nesting order of edits: by start, insertions first, longer ones first, arms before guards, whole
/// expressions last.
type Key = (usize, usize, usize, usize);

struct Edit {
    kind: Kind,
    mutants: Vec<(usize, Genre, String, Range<usize>)>,
}

#[derive(Clone)]
enum Kind {
    /// The point after a function's opening brace.
    Body(usize),
    Binary {
        left: Range<usize>,
        right: Range<usize>,
        assigns: bool,
    },
    Unary {
        whole: Range<usize>,
        operand: Range<usize>,
    },
    /// The point after an arm's pattern, or its guard.
    Arm {
        guard: Range<usize>,
    },
    Struct(Range<usize>),
    Expression(Range<usize>),
}

impl Kind {
    fn range(&self) -> Range<usize> {
        match self {
            Self::Body(at) => *at..*at,
            Self::Binary { left, right, .. } => left.start..right.end,
            Self::Unary { whole, .. } => whole.clone(),
            Self::Arm { guard } => guard.clone(),
            Self::Struct(range) | Self::Expression(range) => range.clone(),
        }
    }
}

/// Syntax elements of a file by byte position.
#[derive(Default)]
struct Places {
    bodies: Vec<Range<usize>>,
    binary: BTreeMap<usize, Kind>,
    unary: BTreeMap<usize, Kind>,
    arms: BTreeMap<usize, Kind>,
    guards: BTreeMap<usize, Kind>,
    structs: BTreeMap<usize, Kind>,
    /// Start and end of each expression.
    expressions: BTreeSet<(usize, usize)>,
    /// Ranges that the compiler evaluates, in which a switch does not work.
    constants: Vec<Range<usize>>,
}

impl Places {
    fn edit(&self, at: &Range<usize>, mutant: &Mutant) -> Option<Kind> {
        match mutant.genre {
            Genre::FnValue => {
                let inside = |body: &&Range<usize>| body.start < at.start && at.end < body.end;
                let body = self.bodies.iter().filter(inside).min_by_key(|body| body.len())?;
                Some(Kind::Body(body.start + 1))
            }
            Genre::BinaryOperator => self.binary.get(&at.start).cloned(),
            Genre::UnaryOperator => self.unary.get(&at.start).cloned(),
            Genre::MatchArm => self.arms.get(&at.start).cloned(),
            Genre::MatchArmGuard => self.guards.get(&at.start).cloned(),
            Genre::StructField => self.structs.get(&at.start).cloned(),
            Genre::Expression => {
                let is_one = self.expressions.contains(&(at.start, at.end));
                is_one.then(|| Kind::Expression(at.clone()))
            }
        }
    }
}

impl Places {
    fn is_constant(&self, at: &Range<usize>) -> bool {
        self.constants.iter().any(|constant| constant.start <= at.start && at.end <= constant.end)
    }
}

impl<'ast> Visit<'ast> for Places {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constants.push(item.expr.span().byte_range());
        visit::visit_item_const(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constants.push(item.expr.span().byte_range());
        visit::visit_impl_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constants.push(item.expr.span().byte_range());
        visit::visit_item_static(self, item);
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.constants.push(repeat.len.span().byte_range());
        visit::visit_expr_repeat(self, repeat);
    }

    fn visit_type_array(&mut self, array: &'ast syn::TypeArray) {
        self.constants.push(array.len.span().byte_range());
        visit::visit_type_array(self, array);
    }

    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.constants.push(block.span().byte_range());
        visit::visit_expr_const(self, block);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.bodies.push(block.span().byte_range());
        visit::visit_block(self, block);
    }

    fn visit_expr(&mut self, expression: &'ast syn::Expr) {
        let range = expression.span().byte_range();
        self.expressions.insert((range.start, range.end));
        visit::visit_expr(self, expression);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        use syn::BinOp as B;
        let assigns = matches!(
            binary.op,
            B::AddAssign(_)
                | B::SubAssign(_)
                | B::MulAssign(_)
                | B::DivAssign(_)
                | B::RemAssign(_)
                | B::BitXorAssign(_)
                | B::BitAndAssign(_)
                | B::BitOrAssign(_)
                | B::ShlAssign(_)
                | B::ShrAssign(_)
        );
        let (left, right) = (binary.left.span().byte_range(), binary.right.span().byte_range());
        self.binary.insert(binary.op.span().byte_range().start, Kind::Binary { left, right, assigns });
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let (whole, operand) = (unary.span().byte_range(), unary.expr.span().byte_range());
        self.unary.insert(whole.start, Kind::Unary { whole, operand });
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let end = arm.pat.span().byte_range().end;
        let guard = arm.guard.as_ref().map_or(end..end, |(_, guard)| guard.span().byte_range());
        if arm.guard.is_some() {
            self.guards.insert(guard.start, Kind::Arm { guard: guard.clone() });
        }
        self.arms.insert(arm.span().byte_range().start, Kind::Arm { guard });
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, structure: &'ast syn::ExprStruct) {
        for field in &structure.fields {
            let place = Kind::Struct(structure.span().byte_range());
            self.structs.insert(field.span().byte_range().start, place);
        }
        visit::visit_expr_struct(self, structure);
    }
}

struct Writer<'a> {
    source: &'a str,
    text: String,
    added: Vec<(Range<usize>, usize)>,
}

impl Writer<'_> {
    /// Writes `range` of the source with `edits` inside it, which are sorted, outer ones first.
    fn write(&mut self, range: Range<usize>, edits: &[Edit]) {
        let mut at = range.start;
        let mut rest = edits;
        while let Some((edit, after)) = rest.split_first() {
            let own = edit.kind.range();
            let inner =
                after.iter().take_while(|next| next.kind.range().end <= own.end && !own.is_empty()).count();
            let (inner, after) = after.split_at(inner);
            self.text.push_str(&self.source[at..own.start]);
            self.write_edit(edit, inner);
            at = own.end;
            rest = after;
        }
        self.text.push_str(&self.source[at..range.end]);
    }

    fn write_edit(&mut self, edit: &Edit, inner: &[Edit]) {
        match &edit.kind {
            Kind::Body(_) => {
                for (number, _, replacement, _) in &edit.mutants {
                    self.add(
                        *number,
                        &format!(" if crate::mutants_switch::on({number}) {{ return {replacement}; }}"),
                    );
                }
            }
            Kind::Binary { left, right, assigns } => {
                let (open, close) = if *assigns { ("{", "}") } else { ("(", ")") };
                self.text.push_str(open);
                let (l, r) = (&self.source[left.clone()], &self.source[right.clone()]);
                let (l, r) = if *assigns {
                    (l.to_owned(), r.to_owned())
                } else {
                    (format!("({l})"), format!("({r})"))
                };
                for (number, _, replacement, _) in &edit.mutants {
                    self.branch(*number, &format!("{l} {replacement} {r}"));
                }
                self.otherwise(edit.kind.range(), inner);
                self.text.push_str(close);
            }
            Kind::Unary { operand, .. } => {
                self.text.push('(');
                for (number, ..) in &edit.mutants {
                    let operand = &self.source[operand.clone()];
                    self.branch(*number, operand);
                }
                self.otherwise(edit.kind.range(), inner);
                self.text.push(')');
            }
            Kind::Expression(whole) => {
                self.text.push('(');
                for (number, _, replacement, _) in &edit.mutants {
                    self.branch(*number, replacement);
                }
                self.otherwise(whole.clone(), inner);
                self.text.push(')');
            }
            Kind::Arm { guard } => self.write_guard(edit, guard, inner),
            Kind::Struct(whole) => {
                self.text.push('(');
                for (number, _, _, at) in &edit.mutants {
                    let without =
                        format!("{}{}", &self.source[whole.start..at.start], &self.source[at.end..whole.end]);
                    self.branch(*number, &without);
                }
                self.otherwise(whole.clone(), inner);
                self.text.push(')');
            }
        }
    }

    fn write_guard(&mut self, edit: &Edit, guard: &Range<usize>, inner: &[Edit]) {
        self.text.push_str(if guard.is_empty() { " if (" } else { "(" });
        let is_true =
            |genre: &Genre, replacement: &str| *genre == Genre::MatchArmGuard && replacement == "true";
        let (held, failed): (Vec<_>, Vec<_>) =
            edit.mutants.iter().partition(|(_, genre, replacement, _)| is_true(genre, replacement));
        for (number, ..) in held {
            self.add(*number, &format!("crate::mutants_switch::on({number}) || "));
        }
        for (number, ..) in failed {
            self.add(*number, &format!("!crate::mutants_switch::on({number}) && "));
        }
        self.text.push('(');
        if guard.is_empty() {
            self.text.push_str("true");
        }
        self.write(guard.clone(), inner);
        self.text.push_str("))");
    }

    fn branch(&mut self, number: usize, text: &str) {
        self.text.push_str("if ");
        self.add(number, &format!("crate::mutants_switch::on({number}) {{ {text} }}"));
        self.text.push_str(" else ");
    }

    fn otherwise(&mut self, range: Range<usize>, inner: &[Edit]) {
        self.text.push_str("{ ");
        self.write(range, inner);
        self.text.push_str(" }");
    }

    fn add(&mut self, number: usize, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.added.push((start..self.text.len(), number));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Weaves changes into a text, each with its genre, replaced text and replacement.
    fn woven(source: &str, changes: &[(Genre, &str, &str)]) -> (String, Vec<usize>) {
        let mutants: Vec<Mutant> = changes
            .iter()
            .map(|(genre, part, replacement)| {
                let at = source.find(part).unwrap();
                Mutant::at(*genre, at + 1..at + part.len() + 1, replacement)
            })
            .collect();
        let numbered: Vec<(usize, &Mutant)> = mutants.iter().enumerate().collect();
        let woven = weave(source, &numbered).unwrap();
        for (range, number) in &woven.added {
            assert!(woven.text[range.clone()].contains(&format!("on({number})")), "{}", woven.text);
        }
        (woven.text.replace("crate::mutants_switch::", ""), woven.lost)
    }

    fn text(source: &str, changes: &[(Genre, &str, &str)]) -> String {
        let (text, lost) = woven(source, changes);
        assert!(lost.is_empty(), "{lost:?}");
        text
    }

    #[test]
    fn operators_nest() {
        let changes = [(Genre::BinaryOperator, "+", "-"), (Genre::BinaryOperator, "*", "/")];
        assert_eq!(
            text("fn f() { a + b * c }", &changes),
            "fn f() { (if on(0) { (a) - (b * c) } else { a + (if on(1) { (b) / (c) } else { b * c }) }) }"
        );
        let assignment = [(Genre::BinaryOperator, "+=", "-=")];
        assert_eq!(
            text("fn f() { a += 1; }", &assignment),
            "fn f() { {if on(0) { a -= 1 } else { a += 1 }}; }"
        );
        let not = [(Genre::UnaryOperator, "!", "")];
        assert_eq!(text("fn f() { !a }", &not), "fn f() { (if on(0) { a } else { !a }) }");
    }

    #[test]
    fn functions_return_at_once() {
        let changes = [(Genre::FnValue, "a", "1"), (Genre::FnValue, "a", "2")];
        assert_eq!(
            text("fn f() -> u8 { a }", &changes),
            "fn f() -> u8 { if on(0) { return 1; } if on(1) { return 2; } a }"
        );
    }

    #[test]
    fn arms_and_guards_are_conditions() {
        let changes = [
            (Genre::MatchArm, "1 if a", ""),
            (Genre::MatchArmGuard, "a =>", "true"),
            (Genre::MatchArmGuard, "a =>", "false"),
            (Genre::MatchArm, "2 =>", ""),
        ];
        assert_eq!(
            text("fn f() { match x { 1 if a => 3, 2 => 4, _ => 5 } }", &changes),
            "fn f() { match x { 1 if (on(1) || !on(0) && !on(2) && (a)) => 3, 2 if (!on(3) && (true)) => 4, _ => 5 } }"
        );
    }

    #[test]
    fn fields_come_from_the_base() {
        let changes = [(Genre::StructField, "b: 1,", "")];
        assert_eq!(
            text("fn f() { S { b: 1, ..s } }", &changes),
            "fn f() { (if on(0) { S {  ..s } } else { S { b: 1, ..s } }) }"
        );
    }

    #[test]
    fn expressions_stand_for_others_beside_their_operators() {
        let changes = [(Genre::BinaryOperator, "+", "-"), (Genre::Expression, "a + b", "b")];
        assert_eq!(
            text("fn f() { a + b; g(1); }", &changes),
            "fn f() { (if on(0) { (a) - (b) } else { (if on(1) { b } else { a + b }) }); g(1); }"
        );
        let call = [(Genre::Expression, "g(1)", "()")];
        assert_eq!(text("fn f() { g(1); }", &call), "fn f() { (if on(0) { () } else { g(1) }); }");
        // `b + c` is not a subexpression of `a + b + c`.
        let part = [(Genre::Expression, "b + c", "0")];
        assert_eq!(woven("fn f() { a + b + c }", &part).1, vec![0]);
    }

    #[test]
    fn what_the_compiler_evaluates_has_no_switch() {
        let changes = [(Genre::BinaryOperator, "+", "-"), (Genre::BinaryOperator, "*", "/")];
        let source = "fn f() { const A: usize = 1 + 2; [0; 2 * A] }";
        assert_eq!(woven(source, &changes), (source.to_owned(), vec![0, 1]));
    }
}
