//! `.include`, `.macro`, `.rept` and `.if`: generated lines, and errors.

use npukit_asm::{
    MAX_BYTES, MAX_CALLS, MAX_FILES, MAX_INCLUDED_BYTES, MAX_LINE_BYTES, MAX_LINES, assemble_with, list,
};

use crate::toy::toy;

const INCLUDED: &str = "\u{feff}.equ included, 5\nwide included\n";

fn files(path: &str) -> Result<Vec<u8>, String> {
    match path {
        "tiles.s" | "lib/tiles.s" => Ok(INCLUDED.into()),
        "lib/all.s" => Ok(b".include \"tiles.s\"\n.include \"../tiles2.s\"".to_vec()),
        "tiles2.s" => Ok(b"wide 6".to_vec()),
        "wrong.s" => Ok(b"mode off\n  mode of\n".to_vec()),
        "large.s" => Ok(vec![b'#'; 33 << 20]),
        "cycle.s" => Ok(b".include \"./cycle.s\"".to_vec()),
        "wide.s" => Ok(vec![0xff, 0xfe, b'n', 0]),
        "bytes.s" => Ok(vec![b'n', 0x80]),
        "chain.s" => Ok(b".include \"chain/chain.s\"".to_vec()),
        _ if path.ends_with("chain/chain.s") => Ok(b".include \"chain/chain.s\"".to_vec()),
        _ => Err("there is no such file".to_owned()),
    }
}

/// Returns the values of the `wide` instructions of a text.
fn values(text: &str) -> Vec<u32> {
    let bytes = assemble_with(&toy(), "p.s", text, &files).unwrap().bytes;
    let words = bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap()) & 0xff_ffff);
    words.collect()
}

fn errors(text: &str) -> Vec<String> {
    let errors = assemble_with(&toy(), "p.s", text, &files).unwrap_err().errors;
    errors.iter().map(ToString::to_string).collect()
}

/// Returns message and help of the only fault of a text.
fn fault(text: &str) -> (String, String) {
    let errors = assemble_with(&toy(), "p.s", text, &files).unwrap_err().errors;
    assert_eq!(errors.len(), 1, "{text}: {errors:?}");
    let help = miette::Diagnostic::help(&errors[0]).map(|help| help.to_string());
    (errors[0].to_string(), help.unwrap_or_default())
}

#[test]
fn macros_have_parameters() {
    assert_eq!(values(".macro put a, b=7\nwide \\a\nwide \\b + 1\n.endm\nput 1\nPUT 2, 3"), [1, 8, 2, 4]);
    assert_eq!(values(".macro put a, b=7\n wide \\a*\\b\n.endm\nput b=4, a=5\nput 2,"), [20, 14]);
    assert_eq!(values(".macro w x\n.equ s_\\x\\()_t, \\x\nwide s_\\x\\()_t\n.endm\nw 3\nw 4"), [3, 4]);
    assert_eq!(values(".macro w\n.equ s\\@, 8+\\@\nwide s\\@\n.endm\nw\nw"), [8, 9]);
    assert_eq!(values(".macro w a\nwide \\a\n.endm\nw \"3 + 4\" ; seven"), [7]);
    // A macro may have the name of an instruction, and may define another macro.
    assert_eq!(values(".macro mode a\nwide \\a\n.endm\nmode 3"), [3]);
    assert_eq!(values(".macro twice\n.macro once a\nwide \\a\n.endm\n.endm\ntwice\nonce 4"), [4]);
}

#[test]
fn lines_are_repeated() {
    assert_eq!(values(".set i, 1\n.rept 3\nwide i\n.set i, i*2\n.endr"), [1, 2, 4]);
    assert_eq!(values(".rept 2\nwide \\+\n.rept \\+ + 1\nwide 10 + \\+\n.endr\n.endr"), [0, 10, 1, 10, 11]);
    assert_eq!(values(".rept 0\nwide 1\n.endr\n.rept 4000000000\n.endr\nwide 2"), [2]);
    assert_eq!(values(".macro w n\n.rept \\n\nwide \\n\n.endr\n.endm\nw 2"), [2, 2]);
}

#[test]
fn conditions_choose() {
    let text = |value: u32| {
        format!(
            ".equ a, {value}\n.if a == 1\nwide 1\n.elseif a > 2 && a != 4\nwide 2\n.if 1\nwide 3\n.endif\n.else\nwide 4\n.endif"
        )
    };
    let found: Vec<_> = [1, 2, 3, 4].map(|value| values(&text(value))).into();
    assert_eq!(found, [vec![1], vec![4], vec![2, 3], vec![4]]);
    assert_eq!(
        values(".equ a, 0\n.ifdef a\nwide 1\n.endif\n.ifndef a\nwide 2\n.else\nwide 3\n.endif"),
        [1, 3]
    );
    // Lines that are not read may contain anything except conditions.
    assert_eq!(values(".if 0\nnonsense\n.endm\n.if b\n.else\n.endif\n.else\nwide 5\n.endif"), [5]);
    let recursive = ".macro down n\n.if \\n\nwide \\n\ndown \"\\n - 1\"\n.endif\n.endm\ndown 3";
    assert_eq!(values(recursive), [3, 2, 1]);
}

#[test]
fn files_are_included() {
    assert_eq!(values(".include \"tiles.s\"\nwide included + 1"), [5, 6]);
    assert_eq!(values(".include \"lib/all.s\" ; both"), [5, 6]);
}

#[test]
fn a_byte_order_mark_is_in_no_column() {
    let errors = assemble_with(&toy(), "p.s", "\u{feff}mode of", &files).unwrap_err();
    assert_eq!(errors.errors[0].span().offset(), 5);
    assert_eq!(errors.source_code.inner(), "mode of");
}

#[test]
fn faults_say_what_put_their_line_there() {
    let (said, help) = fault(".macro m a\n  mode \\a\n.endm\n.rept 2\n.if \\+\n m onn\n.endif\n.endr");
    assert_eq!(said, "expected `off`, `on` or a number for `mode` (0 to 15), found `onn`");
    assert_eq!(
        help,
        "did you mean `on`?\ncalled at p.s:6:2: `m onn`\nrepeated by `.rept` at p.s:4:1: `.rept 2`"
    );
    let (_, help) = fault("noop: mode on\n .include \"wrong.s\" ; x");
    assert_eq!(help, "did you mean `off`?\nincluded at p.s:2:2: `.include \"wrong.s\"`");
    // An error in an argument is reported at the parameter's place.
    let error = assemble_with(&toy(), "p.s", ".macro m a\n mode 1+\\a\n.endm\nm 99", &files).unwrap_err();
    assert_eq!((error.errors[0].span().offset(), error.errors[0].span().len()), (17, 4));
}

#[test]
fn wrong_directives_are_told() {
    let cases = [
        (".include \"none.s\"", "cannot include `none.s`: there is no such file"),
        (".include \"wide.s\"", "cannot include `wide.s`: it is UTF-16 text; save it as UTF-8"),
        (".include \"bytes.s\"", "cannot include `bytes.s`: byte 1 of it is not UTF-8 text"),
        (
            ".include \"cycle.s\"",
            "cannot include `./cycle.s`: it would include itself: p.s > cycle.s > cycle.s",
        ),
        (".include", "`.include` needs a file's name in quotation marks, not the end of the line"),
        (".include tiles.s", "`.include` needs a file's name in quotation marks, not `tiles.s`"),
        (".include \"chain.s\"", "included files are nested too deeply: the limit is 16"),
        (".macro", "`.macro` needs a name, not the end of the line"),
        (".macro 1", "`.macro` needs a name, not `1`"),
        (".macro m a b\n.endm", "`.macro` needs names with commas between them, not `a b`"),
        (".macro m a, a\n.endm", "`.macro` needs each parameter once, not `a`"),
        (".macro m\n.endm\n.macro M\n.endm", "`M` is already defined"),
        (".macro m\nmode on", "`.macro` has no `.endm`"),
        (".macro m\n.rept 2\n.endm\nm", "`.rept` has no `.endr`"),
        (".rept 2\nmode on", "`.rept` has no `.endr`"),
        (".if 1\nmode on", "`.if` has no `.endif`"),
        (".endm", "`.endm` without `.macro`"),
        (".endr", "`.endr` without `.rept`"),
        (".else", "`.else` without `.if`"),
        (".endif", "`.endif` without `.if`"),
        (".if 0\n.else\n.else\n.endif", "`.else` without `.if`"),
        (".if 1\n.macro m\n.endif\n.endm\nm\n.endif", "`.endif` without `.if`"),
        (".rept\n.endr", "`.rept` needs a number of times, not the end of the line"),
        (".rept n", "`.rept` needs a number of times, not `n`"),
        (".rept 0-1", "`.rept` needs a number of times, not -1"),
        (".rept 1/0", "`1/0` divides by zero"),
        (".if 1 2\n.endif", "`.if` needs a condition, not `2`"),
        (".if\n.endif", "`.if` needs a condition, not the end of the line"),
        (".ifdef 1\n.endif", "`.ifdef` needs a name, not `1`"),
        (".if 1\n.endif 1", "`.endif` needs the end of the line, not `1`"),
        ("a: .rept 2", "a label must be before an instruction, not before `.rept`"),
        (".macro m\n.endm\na: m", "a label must be before an instruction, not before macro `m`"),
        (".macro m a\n.endm\nm", "macro `m` needs a value for `a`"),
        (".macro m a\n.endm\nm 1, 2", "macro `m` takes 1 argument, but more are given"),
        (
            ".macro m size\n.endm\nm 1, sise=2",
            "macro `m` takes 1 argument, but more are given (did you mean `size=`?)",
        ),
        (".macro m a\n.endm\nm 1, a=2", "macro `m` has two values for `a`"),
        ("mode \\a", "`\\a` is not a parameter here"),
        (".macro m\nm\n.endm\nm", "macros and repetitions are nested too deeply: the limit is 64"),
        (
            ".include \"large.s\"\n.include \"large.s\"",
            "included files have too many bytes: the limit is 67108864",
        ),
        (".rept 100001\n;\n.endr", "macros and repetitions generate too many lines: the limit is 100000"),
        (".macro m a\nm \\a\\a\n.endm\nm 0123456789012345", "a line has too many bytes: the limit is 65536"),
    ];
    for (text, message) in cases {
        let found = errors(text);
        assert!(found.contains(&message.to_owned()), "{text}: {found:?}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let found =
        errors("mode of\n.endm\n.rept 2\nmode of\n.endr\n.include \"none.s\"\n.if x\n.endif\n.macro m");
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn a_listing_has_what_each_line_became() {
    let text = ".equ rows, 2\nmode on ; x\n.macro put a\n  wide \\a\n  wide rows\n.endm\nput 9\n.include \"tiles.s\"\nlast: mode off";
    let expected = [
        "address   bytes       line    source",
        "                           p.s",
        "                         1    .equ rows, 2",
        "00000000  2003           2    mode on ; x",
        "                         3    .macro put a",
        r"                         4      wide \a",
        "                         5      wide rows",
        "                         6    .endm",
        "                         7    put 9",
        "00000002  40000009       4 +    wide 9",
        "00000006  40000002       5 +    wide rows",
        r#"                         8    .include "tiles.s""#,
        "                           tiles.s",
        "                         1    .equ included, 5",
        "0000000a  40000005       2    wide included",
        "                           p.s",
        "0000000e  2000           9    last: mode off",
        "",
        "symbol    value",
        "included  5",
        "last      none",
        "rows      2",
    ];
    assert_eq!(list(&toy(), "p.s", text, &files).unwrap().lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_limits_are_documented() {
    let page = include_str!("../../../../docs/assembly.md");
    let limits = page.split("## Limits").nth(1).unwrap();
    for limit in [MAX_LINES, MAX_BYTES, MAX_LINE_BYTES, MAX_CALLS, MAX_FILES, MAX_INCLUDED_BYTES] {
        assert!(limits.contains(&format!("| {limit} |")), "{limit}");
    }
}
