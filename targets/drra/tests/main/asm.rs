//! Assembly both ways, and its errors.

use npukit_drra::Fabric;
use npukit_drra::internals::asm::{Listing, assemble, disassemble, format, instruction};
use npukit_drra::internals::binary::{read_program, write_program};
use npukit_drra::internals::component::Component;
use npukit_drra::internals::config::preset;
use npukit_drra::internals::isa::Isa;
use proptest::prelude::*;

use crate::golden;

fn fabric() -> Fabric {
    preset("3x1").unwrap()
}

fn word(text: &str) -> u32 {
    let source = assemble(&fabric(), "t", &format!("cell (row=1, col=0)\n{text}")).unwrap();
    source.program.cells.values().next().unwrap()[0]
}

#[test]
fn golden_encodings_hold_both_ways() {
    let file = golden::json("encoding.json");
    let cases = file["encodings"].as_array().unwrap();
    assert_eq!(cases.len(), 53);
    for case in cases {
        let component = Component::from_name(case["component"].as_str().unwrap()).unwrap();
        let text = case["text"].as_str().unwrap();
        let hex = case["hex"].as_str().unwrap().trim_start_matches("0x");
        let found = instruction(component, text).unwrap();
        let word = Isa::get().encode(&found);
        assert_eq!(word, u32::from_str_radix(hex, 16).unwrap(), "{text}");
        let back = Isa::get().decode(word, |_| Some(component)).unwrap();
        for listing in [Listing::Named, Listing::Upstream] {
            assert_eq!(instruction(component, &back.text(Isa::get(), listing)).unwrap(), found, "{text}");
        }
    }
}

#[test]
fn fields_come_in_any_order_and_any_base() {
    let rep = word("rep(slot=2, port=word_write, iter=4, step=-3, delay=127)");
    for text in [
        "rep(delay=0x7f, step=-0b11, iter=0o4, port=0, slot=0d2)",
        "rep ( slot = 2 , iter=4,\n step=-3, delay=127 ) # comment",
        "rep(slot=+2, port=WORD_WRITE, iter=4, step=-3, delay=127)",
    ] {
        assert_eq!(word(text), rep, "{text}");
    }
    assert_eq!(word("dpu(slot=4, option=2, mode=mac)"), word("dpu(slot=4, config=2, mode=10)"));
    assert_eq!(word("swb(slot=0, port=0, channel=4, source=1, target=4)"), 0xc010_5000);
    assert_eq!(word("word(bits=0x70000000)"), 0x7000_0000);
}

#[test]
fn upstreams_form_is_alphabetical() {
    let source = assemble(
        &fabric(),
        "t",
        "cell(row=1,col=0) rep(slot=1, port=word_read, iter=32) dpu(slot=4, mode=mult) halt()",
    );
    let program = source.unwrap().program;
    let listed = disassemble(&fabric(), &program, Listing::Upstream).text();
    let lines = [
        "cell (row=1, col=0)",
        "rep(delay=0, iter=32, port=1, slot=1, step=1)",
        "dpu(config=0, immediate=0, mode=7, port=0, slot=4)",
        "halt()",
    ];
    assert_eq!(listed.lines().collect::<Vec<_>>(), lines);
    let named = disassemble(&fabric(), &program, Listing::Named).text();
    assert!(named.contains("\nrep(slot=1, port=word_read, iter=32)\ndpu(slot=4, mode=mult)\n"), "{named}");
    assert_eq!(assemble(&fabric(), "t", &listed).unwrap().program, program);
}

#[test]
fn every_fault_is_named_with_its_place() {
    let cases = [
        ("rep(slot=1, iter=256)", "256 does not fit: legal are 0 to 255"),
        ("rep(slot=1, step=64)", "64 does not fit: legal are -64 to 63"),
        ("rep(slot=1, port=word_raed)", "`word_raed` does not fit"),
        ("rep(slot=9)", "9 does not fit: legal are 0 swb, 1 rf, 2 rf, 3 rf, 4-5 dpu"),
        ("rep(iter=3)", "expected `slot=` in `rep`, found none"),
        ("rep(slot=1, itre=3)", "expected a field of rep, found `itre`"),
        ("rep(slot=1, iter=3, iter=4)", "expected each field once, found `iter` again"),
        ("evt(slot=1)", "there is no instruction `evt`"),
        ("rpe(slot=1)", "there is no instruction `rpe`"),
        ("rep(slot=1 iter=3)", "expected `,` or `)`, found `iter`"),
        ("rep(slot=1, iter=\"3\")", "expected a value, found \"3\""),
        ("halt(slot=1)", "expected a field of halt, found `slot`"),
        ("calc(mode=add, result=16)", "16 does not fit: legal are 0 to 15"),
        ("cell(row=3, col=0)", "3 does not fit: legal are 0 to 2"),
        ("cell(row=1, col=0)", "expected another cell, found cell (1, 0) again"),
        ("rep(slot=1, port=word_read, iter=0)", "iter=0 does not fit: legal are 1 to 255"),
        ("rep(slot=1, iter=0) repx(slot=2, iter=1, step=0)", "iter=0 does not fit"),
        ("rep(slot=1)", "iter=0 does not fit"),
        ("halt", "expected `(`, found the end of the text"),
        ("word(bits=0x100000000)", "4294967296 does not fit: legal are 0 to 0xffffffff"),
    ];
    for (text, message) in cases {
        let errors = assemble(&fabric(), "t", &format!("cell (row=1, col=0)\n{text}")).unwrap_err();
        assert_eq!(errors.errors.len(), 1, "{text}: {errors:?}");
        let found = errors.errors[0].to_string();
        assert!(found.starts_with(message), "{text}: {found}");
        assert!(errors.errors[0].span().offset() >= 20, "{text}");
    }
    let both =
        assemble(&fabric(), "t", "halt()\ncell (row=1, col=0)\nnop()\nrep(slot=77)\nhalt()").unwrap_err();
    assert_eq!(both.errors.len(), 3, "{both:?}");
}

#[test]
fn a_repx_without_step_is_remembered() {
    let text = "cell (row=1, col=0)\nrepx(slot=1, iter=1)\nrepx(slot=1, iter=1, step=0)";
    let source = assemble(&fabric(), "t", text).unwrap();
    assert_eq!(source.default_steps.iter().map(|at| at.pc).collect::<Vec<_>>(), [0]);
}

#[test]
fn programs_survive_text_and_files() {
    let programs = golden::programs();
    for (name, file) in programs {
        let fabric = npukit_drra::internals::config::from_short(file["arch"].as_str().unwrap()).unwrap();
        let mut text = String::new();
        for cell in file["cells"].as_array().unwrap() {
            text += &format!("cell (row={}, col={})\n", cell["row"], cell["col"]);
            cell["asm"]
                .as_array()
                .unwrap()
                .iter()
                .for_each(|line| text += &format!("{}\n", line.as_str().unwrap()));
        }
        let program = assemble(&fabric, &name, &text).unwrap().program;
        for cell in file["cells"].as_array().unwrap() {
            let at = |key: &str| cell[key].as_u64().unwrap() as usize;
            let words =
                &program.cells[&npukit_drra::internals::fabric::Place { row: at("row"), col: at("col") }];
            let hex: Vec<String> = words.iter().map(|word| format!("{word:#010x}")).collect();
            assert_eq!(serde_json::json!(hex), cell["words"], "{name}");
        }
        for listing in [Listing::Named, Listing::Upstream] {
            let listed = disassemble(&fabric, &program, listing);
            assert_eq!(assemble(&fabric, &name, &listed.text()).unwrap().program, program, "{name}");
        }
        assert_eq!(read_program(&write_program(&program)).unwrap(), program);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_word_survives_its_listing(words in proptest::collection::vec(any::<u32>(), 0..20)) {
        let mut program = npukit_drra::Program::default();
        program.cells.insert(npukit_drra::internals::fabric::Place { row: 1, col: 0 }, words);
        let listed = disassemble(&fabric(), &program, Listing::Named);
        prop_assert_eq!(assemble(&fabric(), "t", &listed.text()).unwrap().program, program);
    }

    #[test]
    fn layout_is_stable_and_changes_no_program(lines in proptest::collection::vec(0..LINES.len(), 0..12)) {
        let lines: Vec<&str> = lines.into_iter().map(|line| LINES[line]).collect();
        let text = format!("{HEAD}{}", lines.join("\n"));
        let once = format(&text);
        prop_assert_eq!(format(&once), once.clone());
        let program = |text: &str| assemble(&fabric(), "t", text).map(|source| source.program).ok();
        prop_assert_eq!(program(&once), program(&text), "{} laid out as {}", text, once);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z(),=0-9#\"\n -]{0,60}") {
        let _ = assemble(&fabric(), "t", &format!("cell (row=0, col=0)\nrep(slot=1, {text}"));
        let _ = assemble(&fabric(), "t", &text);
        prop_assert_eq!(format(&format(&text)), format(&text));
    }
}

/// Header that the lines below need.
const HEAD: &str =
    ".set n , 2\n.macro put a,b= 3 # two\n wait( cycle=\\a )wait(cycle=\\b)\n.endm\ncell(row=1,col=0)\n";

/// Lines that assemble one by one, and blocks as a whole.
const LINES: [&str; 16] = [
    "halt( )",
    "wait(cycle=1) wait( cycle=n )",
    "rep(slot=1,\n\tport = word_read,iter=2)",
    "dsu(slot=1) # behind",
    "# whole",
    "   # indented",
    "",
    "put 1",
    "put n *2 , b=4 # call",
    "put (1)",
    "wait(cycle=n*( 2+1 ))",
    ".set n , n+1",
    ".rept 2\nwait(cycle=\\+ + 1)\n\n\nhalt() halt()\n.endr",
    ".if n > 3 # more\nhalt()\n.else\n  put 2\n.endif",
    ".if 0\nrep(slot= , ,\n.endif",
    "cell (row=2, col=0) halt()",
];
