//! Rendered errors of a file with faults.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use npukit_asm::{AsmError, assemble};

use crate::toy::toy;

fn rendered(text: &str) -> String {
    let errors = assemble(&toy(), "toy.s", text).unwrap_err();
    let mut page = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    handler.with_width(100).render_report(&mut page, &errors).unwrap();
    page.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn every_fault_of_a_file_is_drawn() {
    let text = "copy [3], 4\n  cpoy [3]\ncopy.ad [3]\ncopy [12], 17\nmode of\n.word 123\nwide";
    let expected = [
        "  × 7 errors in toy.s",
        "",
        "Error: asm::mnemonic",
        "",
        "  × there is no instruction `cpoy`",
        "   ╭─[toy.s:2:3]",
        " 1 │ copy [3], 4",
        " 2 │   cpoy [3]",
        "   ·   ──┬─",
        "   ·     ╰── not a mnemonic",
        " 3 │ copy.ad [3]",
        "   ╰────",
        "  help: did you mean `copy`?",
        "",
        "Error: asm::syntax",
        "",
        "  × expected `add` or `round`, found `ad`",
        "   ╭─[toy.s:3:6]",
        " 2 │   cpoy [3]",
        " 3 │ copy.ad [3]",
        "   ·      ─┬",
        "   ·       ╰── here",
        " 4 │ copy [12], 17",
        "   ╰────",
        "  help: did you mean `add`?",
        "",
        "Error: asm::range",
        "",
        "  × 12 does not fit: legal are 0 to 11",
        "   ╭─[toy.s:4:7]",
        " 3 │ copy.ad [3]",
        " 4 │ copy [12], 17",
        "   ·       ─┬",
        "   ·        ╰── must be 0 to 11",
        " 5 │ mode of",
        "   ╰────",
        "  help: field `to` of Copy: target",
        "",
        "Error: asm::range",
        "",
        "  × 17 does not fit: legal are 1 to 16",
        "   ╭─[toy.s:4:12]",
        " 3 │ copy.ad [3]",
        " 4 │ copy [12], 17",
        "   ·            ─┬",
        "   ·             ╰── must be 1 to 16",
        " 5 │ mode of",
        "   ╰────",
        "  help: field `size` of Copy: words",
        "",
        "Error: asm::syntax",
        "",
        "  × expected `off`, `on` or a number for `mode` (0 to 15), found `of`",
        "   ╭─[toy.s:5:6]",
        " 4 │ copy [12], 17",
        " 5 │ mode of",
        "   ·      ─┬",
        "   ·       ╰── here",
        " 6 │ .word 123",
        "   ╰────",
        "  help: did you mean `off`?",
        "",
        "Error: asm::word",
        "",
        "  × `.word` needs 2 or 4 bytes in hexadecimal, not `123`",
        "   ╭─[toy.s:6:7]",
        " 5 │ mode of",
        " 6 │ .word 123",
        "   ·       ─┬─",
        "   ·        ╰── here",
        " 7 │ wide",
        "   ╰────",
        "  help: give the bytes of one instruction in file order, as `.word 0500070000000010`",
        "",
        "Error: asm::syntax",
        "",
        "  × expected a number for `value` (0 to 16777215), found the end of the line",
        "   ╭─[toy.s:7:1]",
        " 6 │ .word 123",
        " 7 │ wide",
        "   · ──┬─",
        "   ·   ╰── here",
        "   ╰────",
        "  help: write",
        "        wide <value>",
    ];
    assert_eq!(rendered(text).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("copy [3] 4", "expected `,` or the end of the line, found `4`"),
        ("mode", "expected `off`, `on` or a number for `mode` (0 to 15), found the end of the line"),
        ("mode -1", "-1 does not fit: legal are off (0), on (3), a number up to 15"),
        ("mode -", "expected `off`, `on` or a number for `mode` (0 to 15), found the end of the line"),
        ("wide 0x1ffffffffffffffffffff", "0x1ffffffffffffffffffff does not fit: legal are 0 to 16777215"),
        ("wide 12z", "12z does not fit: legal are 0 to 16777215"),
        (".word", "`.word` needs 2 or 4 bytes in hexadecimal, not nothing"),
        (".word 123456", "`.word` needs 2 or 4 bytes in hexadecimal, not 3 bytes"),
        (".wrd 12", "there is no directive `.wrd`"),
        (".context aly", "there is no context `aly`"),
        ("jump 1", "there is no instruction `jump`"),
        // A code of the field's values without a name is not listed, nor a number for a field that
        // only takes names.
        (".context alu\nalu 1(2)", "expected `nop`, `neg` or `add`, found `1`"),
        (".context alu\nalu sub(2, 3)", "expected `nop`, `neg` or `add`, found `sub`"),
        (".equ one, 1\n.context alu\nalu one(2)", "expected `nop`, `neg` or `add`, found `one`"),
    ];
    for (text, message) in cases {
        let errors = assemble(&toy(), "toy.s", text).unwrap_err().errors;
        assert_eq!(errors.iter().map(AsmError::to_string).collect::<Vec<_>>(), [message], "{text}");
    }
}

/// A wrong bracket is not treated as a typing error, a wrong letter in a name is.
#[test]
fn only_words_are_suggested() {
    let help = |text: &str| {
        let errors = assemble(&toy(), "toy.s", text).unwrap_err().errors;
        errors[0].help().map(|help| help.to_string()).unwrap_or_default()
    };
    assert_eq!(help("mode onn"), "did you mean `on`?");
    assert!(!help("copy (3]").contains("did you mean"), "{}", help("copy (3]"));
}

#[test]
fn a_long_list_is_cut() {
    let errors = assemble(&toy(), "toy.s", &"nonsense\n".repeat(1000)).unwrap_err();
    assert_eq!((errors.errors.len(), errors.more), (100, 900));
    assert_eq!(errors.to_string(), "1000 errors in toy.s, the first 100 of them");
}
