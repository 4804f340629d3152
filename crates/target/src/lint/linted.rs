//! [`Linted`]: findings of a program in text, except allowed ones.

use std::collections::{BTreeMap, BTreeSet};

use npukit_asm::SourceLocation;
use npukit_base::suggestion;

use super::allow::{Allow, Lines, allows};
use super::{Finding, Lint, Severity};
use crate::contract::instance::asm_program::ProgramText;

mod table {
    crate::lints! {
        RAW_NUMBERS = "raw-numbers", asm [Warning]: "integers fill a memory of fractions";
            "Integers in `.data` and `.input` are the memory's own numbers: with 8 fraction bits, `.data dram0[0], 1` stores \
             1/256. Here all integers of the line represent numbers below 1, so real numbers were probably meant. A decimal \
             point makes all numbers of a line real: `1.0, 2`. If integers are meant, write `raw(1)`.";
        UNKNOWN_LINT = "unknown-lint", asm [Warning]: "a comment allows a finding that does not exist";
            "A comment such as `; npu: allow lost-addition` hides that finding for the instruction in its line, or in the \
             next line if the comment is alone on its line. Here the code after `allow` is not a lint of the target, or \
             the command is not `allow`, so the comment has no effect. `npu explain CODE` suggests a similar code; correct or \
             remove the comment.";
        UNUSED_ALLOW = "unused-allow", asm [Warning]: "a comment allows a finding that does not occur";
            "A comment such as `; npu: allow lost-addition` belongs to an instruction without that finding. Either the \
             program was changed, or the comment is in the wrong line; it would hide a later mistake. Remove it. A \
             comment in a macro applies to each use of the macro, and is not reported if one of them needs it.";
    }
}

use table::{RAW_NUMBERS, UNKNOWN_LINT, UNUSED_ALLOW};

/// Lints of texts of all targets: memory contents, and comments that allow findings.
pub static LINTS_OF_TEXTS: &[&Lint] = table::LINTS;

/// Maximum number of warnings about one program that are reported; further ones are only counted.
const MAX_WARNINGS: usize = 50;

/// Findings of a program in text.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Linted {
    /// Text of the program and positions of its instructions.
    pub text: ProgramText,
    /// Findings in instruction order, with their lines, except allowed ones.
    pub findings: Vec<Finding>,
    /// Position of each finding; `None` for findings without a position.
    pub places: Vec<Option<SourceLocation>>,
}

impl Linted {
    /// Applies the `npu: allow` comments of `text` to `findings`, and reports unused or unknown
    /// codes in them. `lints` are the target's.
    pub fn new(text: ProgramText, findings: Vec<Finding>, lints: &[&Lint]) -> Self {
        let (allows, lines) = (allows(&text.sources), Lines::of(&text.sources));
        let (findings, used) = Self::allowed(&text, &lines, findings, &allows);
        let mut all = Self::placed(text, &lines, findings);
        all.complain(&lines, &allows, &used, lints);
        all
    }

    /// Applies the `npu: allow` comments of `text` to findings of words. Words contain less
    /// information than their text, so unused comments are not reported.
    pub fn of_words(text: ProgramText, findings: Vec<Finding>) -> Self {
        let lines = Lines::of(&text.sources);
        let (findings, _) = Self::allowed(&text, &lines, findings, &allows(&text.sources));
        Self::placed(text, &lines, findings)
    }

    /// Returns the remaining findings, and which of `allows` removed any.
    fn allowed(
        text: &ProgramText,
        lines: &Lines,
        findings: Vec<Finding>,
        allows: &[Allow],
    ) -> (Vec<Finding>, BTreeSet<usize>) {
        let mut used = BTreeSet::new();
        if allows.is_empty() {
            return (findings, used);
        }
        let at = by_line(allows);
        let mut is_left = |finding: &Finding| {
            let of_code = |index: &usize| {
                allows.get(*index).is_some_and(|allow| allow.code.as_deref() == Ok(finding.code))
            };
            let by: Vec<usize> = match text.place(finding) {
                // Instructions of a schedule have no lines, so an allowed code applies to all of
                // them.
                None if text.places.is_empty() => (0..allows.len()).filter(of_code).collect(),
                None => at.get(&None).into_iter().flatten().copied().filter(of_code).collect(),
                Some(place) => {
                    let around = lines.around(place).filter_map(|line| at.get(&Some(line)));
                    around.flatten().copied().filter(of_code).collect()
                }
            };
            used.extend(&by);
            by.is_empty()
        };
        let left = findings.into_iter().filter(|finding| is_left(finding)).collect();
        (left, used)
    }

    fn placed(text: ProgramText, lines: &Lines, mut findings: Vec<Finding>) -> Self {
        let places: Vec<Option<SourceLocation>> =
            findings.iter().map(|finding| text.place(finding)).collect();
        for (finding, place) in findings.iter_mut().zip(&places) {
            finding.line = place.map(|place| lines.line(place.source(), place.span.start) + 1);
        }
        Self { text, findings, places }
    }

    /// Adds findings about the allowing comments themselves.
    fn complain(&mut self, lines: &Lines, allows: &[Allow], used: &BTreeSet<usize>, lints: &[&Lint]) {
        let complaints = self.complaints(allows, used, lints);
        if complaints.is_empty() {
            return;
        }
        let sources = &self.text.sources;
        let mut instructions = BTreeMap::new();
        for (index, place) in self.text.places.iter().enumerate() {
            lines.around(*place).for_each(|line| _ = instructions.entry(line).or_insert(index));
        }
        let placed = |(allow, finding): (&Allow, Finding)| {
            let place = sources.place(allow.source, allow.span, None)?;
            let instruction = allow.line.and_then(|line| instructions.get(&(allow.source, line)).copied());
            let line = Some(lines.line(allow.source, allow.span.start) + 1);
            Some((Finding { instruction, line, ..finding }, Some(place)))
        };
        let complaints: Vec<_> = complaints.into_iter().filter_map(placed).collect();
        let found = std::mem::take(&mut self.findings).into_iter().zip(std::mem::take(&mut self.places));
        let mut all: Vec<(Finding, Option<SourceLocation>)> = found.chain(complaints).collect();
        all.sort_by_key(|(finding, _)| finding.instruction.unwrap_or(usize::MAX)); // Default: findings without an instruction come last.
        (self.findings, self.places) = all.into_iter().unzip();
    }

    /// Returns the findings about these comments. If a text is included twice, a comment is used if
    /// one of the inclusions uses it.
    fn complaints<'a>(
        &self,
        allows: &'a [Allow],
        used: &BTreeSet<usize>,
        lints: &[&Lint],
    ) -> Vec<(&'a Allow, Finding)> {
        let names: Vec<&str> = self.text.sources.texts().map(|(name, _)| name).collect();
        let key = |allow: &Allow| (names.get(allow.source).copied(), allow.span.start, allow.code.clone());
        let mut done: BTreeSet<_> = used.iter().filter_map(|&index| allows.get(index)).map(key).collect();
        let is_new = |allow: &&Allow| done.insert(key(allow));
        allows.iter().filter(is_new).map(|allow| (allow, complaint(allow, lints))).collect()
    }

    /// Returns the warnings of `npu asm`: deviations of the hardware from the text, each with its
    /// line, at most 50.
    pub fn warnings(&self, lints: &[&Lint]) -> Vec<String> {
        let is_shown = |finding: &Finding| {
            let mut kinds = lints.iter().chain(LINTS_OF_TEXTS);
            kinds.any(|lint| lint.code == finding.code && lint.is_told_by_asm)
        };
        let shown = self.findings.iter().zip(&self.places).filter(|(finding, _)| is_shown(finding));
        let mut shown: Vec<String> = shown.map(|(finding, place)| self.sentence(finding, *place)).collect();
        if let more @ 1.. = shown.len().saturating_sub(MAX_WARNINGS) {
            shown.truncate(MAX_WARNINGS);
            shown.push(format!("and {more} more: `npu lint` lists them"));
        }
        shown
    }

    /// Adds a finding for each declaration that [`raw_numbers`](super::raw_numbers) returned.
    #[must_use]
    pub fn with_raw_numbers(mut self, found: Vec<(SourceLocation, String)>) -> Self {
        let lines = Lines::of(&self.text.sources);
        for (place, message) in found {
            let line = Some(lines.line(place.source(), place.span.start) + 1);
            let finding = Finding::new(RAW_NUMBERS, Severity::Warning, None, message);
            self.findings.push(Finding { line, ..finding });
            self.places.push(Some(place));
        }
        self
    }

    /// Returns the findings starting at index `first` as warnings, each with its place.
    pub fn warnings_from(&self, first: usize) -> impl Iterator<Item = String> {
        let found = self.findings.iter().zip(&self.places).skip(first);
        found.map(|(finding, place)| self.sentence(finding, *place))
    }

    fn sentence(
        &self,
        Finding { code, instruction, message, .. }: &Finding,
        place: Option<SourceLocation>,
    ) -> String {
        match (place, instruction) {
            (Some(place), _) => self.text.sources.excerpt(place, &format!("{message} [{code}]")),
            (None, Some(index)) => format!("instruction {index}: {message} [{code}]"),
            (None, None) => format!("{message} [{code}]"),
        }
    }

    /// Returns the text with the warnings of `npu asm` added to its own.
    #[must_use]
    pub fn warned(self, lints: &[&Lint]) -> ProgramText {
        let warnings = self.warnings(lints);
        ProgramText { warnings, ..self.text }
    }
}

/// Groups the comments by text and line.
fn by_line(allows: &[Allow]) -> BTreeMap<Option<(usize, usize)>, Vec<usize>> {
    let mut at: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, allow) in allows.iter().enumerate() {
        at.entry(allow.line.map(|line| (allow.source, line))).or_default().push(index);
    }
    at
}

/// Returns the finding for an unused allowing comment.
fn complaint(allow: &Allow, lints: &[&Lint]) -> Finding {
    let codes = || lints.iter().map(|lint| lint.code);
    let (lint, message) = match &allow.code {
        Err(reason) => (UNKNOWN_LINT, reason.clone()),
        Ok(code) if codes().any(|known| known == code) => {
            (UNUSED_ALLOW, format!("`{code}` is allowed here but does not occur: remove the comment"))
        }
        Ok(code) => (UNKNOWN_LINT, format!("unknown lint `{code}`{}", suggestion(code, codes()))),
    };
    Finding::new(lint, Severity::Warning, None, message)
}
