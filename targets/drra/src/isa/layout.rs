//! [`layout`]: formats assembly and PASM, and keeps comments.

use crate::isa::token::{Token, TokenKind, tokens};

const INDENT: &str = "  ";

/// Language of a text. They differ in which words have a space before the parenthesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// `cell (...)`, but `rep(...)`.
    Assembly,
    /// `rep (...)`, but `cstr(...)`.
    Pasm,
}

/// Formats text that parses: one line per operation, instruction and constraint.
pub(crate) fn layout(text: &str, language: Language) -> String {
    let (tokens, _) = tokens(text);
    let mut layout = Layout { language, text: String::new(), line: String::new(), braces: 0, parentheses: 0 };
    let mut before: Option<&Token<'_>> = None;
    for token in &tokens {
        let gap = before.map_or("", |before| &text[before.span.end..token.span.start]);
        layout.token(token, before, gap);
        before = Some(token);
    }
    layout.end_line();
    layout.text
}

struct Layout {
    language: Language,
    text: String,
    line: String,
    braces: usize,
    parentheses: usize,
}

impl Layout {
    fn token(&mut self, token: &Token<'_>, before: Option<&Token<'_>>, gap: &str) {
        if token.kind == TokenKind::Comment {
            return self.comment(token.text, gap);
        }
        if before.is_some_and(|before| before.kind == TokenKind::Comment) || self.begins_line(token, before) {
            self.end_line();
        }
        if gap.matches('\n').count() > 1 && self.line.is_empty() && !self.text.ends_with("{\n") {
            self.blank_line(token.text);
        }
        match token.text {
            "}" => self.braces = self.braces.saturating_sub(1),
            ")" => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        if self.needs_space(token, before) {
            self.line.push(' ');
        }
        self.push(token.text);
        match token.text {
            "{" => self.braces += 1,
            "(" => self.parentheses += 1,
            _ => {}
        }
    }

    /// A comment stays on its line.
    fn comment(&mut self, text: &str, gap: &str) {
        if gap.contains('\n') {
            self.end_line();
            if gap.matches('\n').count() > 1 {
                self.blank_line(text);
            }
        }
        if !self.line.is_empty() {
            self.line.push(' ');
        }
        self.push(text.trim_end());
    }

    fn begins_line(&self, token: &Token<'_>, before: Option<&Token<'_>>) -> bool {
        let Some(before) = before else { return false };
        match (before.text, token.text) {
            ("{", "}") => false,
            ("{", _) | (_, "}") => true,
            ("}", "else") => false,
            ("}", _) => true,
            ("else", "if") => false,
            _ => self.parentheses == 0 && token.kind == TokenKind::Identifier && before.text != "<",
        }
    }

    fn needs_space(&self, token: &Token<'_>, before: Option<&Token<'_>>) -> bool {
        let Some(before) = before.filter(|_| !self.line.is_empty()) else { return false };
        let is_word = |token: &Token<'_>| matches!(token.kind, TokenKind::Identifier | TokenKind::Integer(_));
        if is_word(before) && is_word(token) && !token.text.starts_with(['+', '-']) {
            return true;
        }
        match (before.text, token.text) {
            (",", _) | (_, "{") | ("}", "else") | ("else", "if") => true,
            (word, "(") if self.language == Language::Assembly => word == "cell",
            (word, "(") => word != "cstr" && self.parentheses == 0,
            _ => false,
        }
    }

    fn blank_line(&mut self, next: &str) {
        if next != "}" && !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn push(&mut self, text: &str) {
        if self.line.is_empty() {
            let depth = self.braces.min(32);
            self.line.push_str(&INDENT.repeat(depth));
        }
        self.line.push_str(text);
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.text.push_str(&self.line);
            self.text.push('\n');
            self.line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::isa::pasm::format;

    const UGLY: &str = "# head\nepoch{ rop<a>(row=0,col=0,slot=1,port=2){dsu rep(iter=4,\nstep=-1)}# after\n\n
        # before\n cop(row=0,col=1){}cstr(\"a  < 3\")} if(reg=1){epoch{}}else if(reg=2){epoch{}} else {epoch{}}";

    #[test]
    fn an_operation_and_an_instruction_have_a_line_each() {
        let expected = [
            "# head",
            "epoch {",
            "  rop<a> (row=0, col=0, slot=1, port=2) {",
            "    dsu",
            "    rep (iter=4, step=-1)",
            "  } # after",
            "",
            "  # before",
            "  cop (row=0, col=1) {}",
            r#"  cstr("a  < 3")"#,
            "}",
            "if (reg=1) {",
            "  epoch {}",
            "} else if (reg=2) {",
            "  epoch {}",
            "} else {",
            "  epoch {}",
            "}",
        ];
        assert_eq!(format("x", UGLY).unwrap().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn layout_changes_no_token_and_only_once() {
        let once = format("x", UGLY).unwrap();
        assert_eq!(format("x", &once).unwrap(), once);
        let texts = |text| tokens(text).0.iter().map(|token| token.text.to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(UGLY), texts(&once));
    }

    #[test]
    fn instructions_of_assembly_have_a_line_each() {
        let text = "# head\ncell(row=0,col=1) rep ( slot = 1,iter=0x2 ) # after\n\n\nhalt()";
        let expected = "# head\ncell (row=0, col=1)\nrep(slot=1, iter=0x2) # after\n\nhalt()\n";
        assert_eq!(layout(text, Language::Assembly), expected);
        assert_eq!(layout(expected, Language::Assembly), expected);
    }
}
