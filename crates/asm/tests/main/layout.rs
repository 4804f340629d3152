//! Formatted texts: only white space changes.

use npukit_asm::{Style, assemble, format};
use proptest::prelude::*;

use crate::toy::toy;

fn laid_out(text: &str) -> String {
    format(text, &Style::COMMON)
}

#[test]
fn a_text_has_one_layout() {
    let text = "\u{feff}; head\n\n\n  copy   [ 3 ],16;first\nCOPY.add[11] , 1   # second\n  ; inner\n\
                here:wide 0x10\nlonger_label: mode on\nalone:\n.equ  a,5\nb=a\n.MACRO m x,y = 2 ; two\nwide \\x\n\
                .if \\y>1\nmode on//on\n .else\nmode off\n.endif\n.endm\n\n\n.rept 2\n m 1 ,y=( 2 )\n.endr\n\
                datamove a<-b\nmode [1 , 2]\n\n\n";
    let expected = [
        "; head",
        "",
        "    copy [3], 16    ;first",
        "    COPY.add[11], 1 # second",
        "    ; inner",
        "here: wide 0x10",
        "longer_label: mode on",
        "alone:",
        ".equ a, 5",
        "b=a",
        ".MACRO m x, y = 2 ; two",
        r"        wide \x",
        r"    .if \y>1",
        "            mode on //on",
        "    .else",
        "            mode off",
        "    .endif",
        ".endm",
        "",
        ".rept 2",
        "        m 1, y=(2)",
        ".endr",
        "    datamove a <- b",
        "    mode [1,2]",
    ];
    assert_eq!(laid_out(text).lines().collect::<Vec<_>>(), expected);
}

/// A single line, or a block of lines.
fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "copy[3],16",
        "copy.add [ 11 ] , 1",
        "mode on",
        "\tmode   off",
        "wide 1+n",
        "wide (2 << 1) |4",
        "n = n+1",
        ".set n , n * 2",
        "",
        "",
        "; whole",
        "   # indented",
        "// slashes",
        ".word 1303",
    ]);
    let comment = prop::sample::select(vec!["", " ; behind", "# a", "   // b ; c", ";"]);
    let line = (line, comment).prop_map(|(line, comment)| format!("{line}{comment}\n"));
    line.prop_recursive(3, 24, 5, |inner| {
        let many = prop::collection::vec(inner, 0..5).prop_map(|lines| lines.concat());
        let head = prop::sample::select(vec![
            (".rept 2", ".endr"),
            (" .rept  n&1 ;x", "  .endr"),
            (".if n>1", ".endif"),
            (".ifdef n", ".endif ; end"),
            (".if 0\nnonsense ( ,\n.elseif 1", ".else\n mode on\n.endif"),
            (".if 1\n.macro m\\@ a , b=1\n wide \\a\\()+\\b", ".endm\n.endif"),
        ]);
        (head, many).prop_map(|((begin, end), many)| format!("{begin}\n{many}{end}\n"))
    })
}

proptest! {
    #[test]
    fn layout_is_stable_and_changes_no_program(parts in prop::collection::vec(lines(), 0..12)) {
        let text = format!(".set n, 1\n.macro put a, b=2\nwide \\a\n\n wide \\b;x\n.endm\nput ( 1+2 )\n{}", parts.concat());
        let once = laid_out(&text);
        prop_assert_eq!(laid_out(&once), once.clone());
        let bytes = |text: &str| assemble(&toy(), "p.s", text).map(|assembly| assembly.bytes).ok();
        prop_assert_eq!(bytes(&once), bytes(&text));
        let marks = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(marks(&once), marks(&text));
    }

    #[test]
    fn any_text_has_a_stable_layout(text in "[a-z.,:;#/\"\\\\()\\[\\]<=\\- \t\n]{0,80}") {
        let once = laid_out(&text);
        prop_assert_eq!(laid_out(&once), once);
    }
}
