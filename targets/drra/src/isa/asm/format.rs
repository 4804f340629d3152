//! [`format()`]: formats assembly, with one line per statement. Directives and macro calls stay
//! lines of their own.

use npukit_asm::{Statements, Style};

use super::COMMENTS;
use crate::isa::layout::{Language, layout};
use crate::isa::token::{Token, TokenKind, tokens};

/// Formats the text of a file.
pub fn format(text: &str) -> String {
    let lay_out = |run: &str| layout(run, Language::Assembly);
    let statements = Some(Statements { lay_out: &lay_out, opens: &opens });
    npukit_asm::format(text, &Style { comments: COMMENTS, instruction: 0, block: 2, statements })
}

/// Returns the number of parentheses open after a line, given the number before it. `None` if the
/// line is not made of plain statements: it calls a macro, or has macro parameters or expressions.
fn opens(open: usize, line: &str) -> Option<usize> {
    let (mut tokens, faults) = tokens(line);
    tokens.retain(|token| token.kind != TokenKind::Comment);
    let next = |index: usize| tokens.get(index + 1).is_some_and(|next| next.is("("));
    let step = |open: usize, (index, token): (usize, &Token<'_>)| match token.text {
        "(" if open > 0 || index > 0 => Some(open + 1),
        ")" => open.checked_sub(1),
        _ if open > 0 => Some(open),
        // Only instruction names are legal outside parentheses.
        _ => (token.kind == TokenKind::Identifier && next(index)).then_some(0),
    };
    tokens.iter().enumerate().try_fold(open, step).filter(|_| faults.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_from_other_lines() {
        for (line, open) in [
            ("cell(row=0,col=1) rep ( slot = 1 ) # after", Some(0)),
            ("rep(slot=1,", Some(1)),
            ("load 4, (5)", None),
            ("load (4), 5", None),
            ("(4)", None),
            ("halt", None),
            (")", None),
            ("rep(slot=\\a)", None),
            ("rep(slot=2*n)", None),
        ] {
            assert_eq!(opens(0, line), open, "{line}");
        }
        assert_eq!(opens(1, "iter=4)"), Some(0));
    }

    #[test]
    fn what_is_no_statement_is_kept() {
        let text =
            "# head\n.macro  ld a,b = 2 # two\nrep( slot=\\a ,iter=\\b)\nhalt( ) dsu(slot=1)\n.endm\n\n\n
            cell (row=0,col=0) halt()\nld 1 , b=3\n.equ n,2\nrep(slot=1, iter=n *2)\n.include \"x#y.s\"";
        let laid_out = format(text);
        let expected = [
            "# head",
            ".macro ld a, b = 2 # two",
            r"  rep(slot=\a, iter=\b)",
            "  halt()",
            "  dsu(slot=1)",
            ".endm",
            "",
            "cell (row=0, col=0)",
            "halt()",
            "ld 1, b=3",
            ".equ n, 2",
            "rep(slot=1, iter=n *2)",
            r#".include "x#y.s""#,
        ];
        assert_eq!(laid_out.lines().collect::<Vec<_>>(), expected);
        assert_eq!(format(&laid_out), laid_out);
    }
}
