//! Scripts: output, expectations and errors.

use npukit_debug::{COMMANDS, Debugger, Outcome, Script};

use super::toy::{Op, Toy};

const OPS: [Op; 6] =
    [Op::Set(1, 32), Op::Add(2, 0, 1), Op::Load(2), Op::Set(3, 250), Op::Add(3, 3, 2), Op::Add(1, 3, 2)];

fn debugger() -> Debugger {
    Debugger::new(Box::new(Toy::new(&OPS)), Toy::text(&OPS))
}

fn run(text: &str) -> Outcome {
    let mut debugger = debugger();
    let script = Script::read("s.txt", text, &debugger).unwrap();
    script.run(&mut debugger)
}

fn errors(text: &str) -> Vec<String> {
    let error = Script::read("s.txt", text, &debugger()).unwrap_err();
    error.errors.iter().map(|fault| fault.to_string()).collect()
}

#[test]
fn what_is_expected_holds() {
    let outcome = run("
        # comments and empty lines are nothing
        expect step 0
        expect stop start
        expect m[0] 1 -2
        expect m[0] raw 16 -32
        step 2
        expect m[2] 3 0.0625    ; 16 + 32, -32 + 33 sixteenths
        expect m[2].1 float 0.0625
        expect line 4
        expect text Load
        expect cycle 4
        who m[2].0
        expect writer 1
        who m[0]
        expect writer nobody
        next
        expect step 3
        expect stop layer
        expect layer \"second half\"
        watch m[3] saturation
        continue
        expect stop watchpoint 1
        expect step 5
        expect saturations 1
        expect m[3].0 raw 255
        expect m[3].0 float 18.625
        expect m[3].0 error -2.6875
        reverse
        expect step 4
        expect m[3].0 raw 250
        delete all
        watch m write if > 15.5
        scan
        expect hits 3
        goto end
        expect stop end
        expect m[1:3].0 15.9375 3 within 0.01
    ");
    assert_eq!(outcome.failures, [""; 0]);
    assert_eq!(outcome.passed, 25);
}

#[test]
fn what_is_not_so_is_told_with_its_line() {
    let outcome = run("step\nexpect step 2\nexpect m[1] 2 3\nexpect stop end\nexpect hits 1\n");
    assert_eq!(
        outcome.failures,
        [
            "line 2: expected step 2, found step 1",
            "line 3: expected 3, found 2.0625 in m[1].1 (real)",
            "line 4: expected stop end, found stop step",
            "line 5: there was no `scan` before",
        ]
    );
}

/// Each command that needs a listing reports why the program has none.
#[test]
fn a_listing_that_is_not_there_is_told() {
    let ops = [Op::Set(1, 32), Op::Unlisted];
    let mut debugger = Debugger::new(Box::new(Toy::new(&ops)), Toy::text(&ops));
    let script = Script::read("s.txt", "list\nexpect text Set\nwhere\n", &debugger).unwrap();
    let outcome = script.run(&mut debugger);
    let message = "the listing is not available: a word does not decode";
    assert_eq!(outcome.failures, [format!("line 1: {message}"), format!("line 2: {message}")]);
    assert_eq!(outcome.text, format!("instruction 0, layer `first`: {message} (p.toy:2)\n"));
    let error = Script::read("s.txt", "break 0\n", &debugger).unwrap_err();
    assert_eq!(error.errors[0].to_string(), message);
}

#[test]
fn what_is_printed_is_held_against_the_lines_behind_it() {
    let outcome =
        run("step\n> instruction 1, layer `first`: Add(2, 0, 1) (p.toy:3)\nshow m[1] hex\n> m[1]  020 021\n");
    assert_eq!((outcome.failures.len(), outcome.passed, outcome.text.as_str()), (0, 2, ""));
    let outcome = run("show m[1]\n> m[1]  7\nwhere\n");
    assert_eq!(outcome.failures, ["line 1: expected to be printed:\nm[1]  7\nfound:\nm[1]  0 0"]);
    assert_eq!(outcome.text, "instruction 0, layer `first`: Set(1, 32) (p.toy:2)\n");
}

#[test]
fn the_tree_leads_back_to_inputs() {
    let outcome = run("goto end\nwho m[1].0 depth 9\n");
    let expected = "\
end, after 6 instructions
m[1].0 = 15.9375, in float 21.625
  instruction 5, layer `second half`: Add(1, 3, 2)
    summand m[2].0 = 3, in float 3
      instruction 1, layer `first`: Add(2, 0, 1)
        summand m[0].0 = 1, in float 1: input `x`
        summand m[1].0 = 2, in float 2
          instruction 0, layer `first`: Set(1, 32)
    summand m[3].0 = 15.9375, in float 18.625
      instruction 4, layer `second half`: Add(3, 3, 2)
        summand m[2].0 = 3, in float 3
          instruction 1, layer `first`: Add(2, 0, 1) ...
        summand m[3].0 = 15.625, in float 15.625
          instruction 3, layer `second half`: Set(3, 250)
";
    assert_eq!(outcome.text, expected);
}

#[test]
fn all_errors_are_told_at_once() {
    let text = "stepp\nshow n[0]\nshow m[99]\nbreak 7\nwatch m[0] sometimes\nexpect m[0] 1 2 3\nstep 2 3\nbreak layer third\n> x\nexpect\n";
    assert_eq!(
        errors(text),
        [
            "unknown command `stepp`",
            "unknown memory `n`",
            "`m` has addresses 0 to 15",
            "instruction 7 does not exist",
            "`sometimes` is not a kind of access",
            "3 values do not fill `m[0]`: give 2, or one for all",
            "unexpected `3`",
            "unknown layer `third`",
            "what is expected is missing",
        ]
    );
}

/// The book lists each command with the text of `help`.
#[test]
fn the_book_has_every_command() {
    let page = include_str!("../../../../docs/debug.md");
    for help in COMMANDS {
        let row = format!("| `{}` | {} |", help.form.replace('|', "\\|"), help.meaning);
        assert!(page.contains(&row), "docs/debug.md lacks\n{row}");
    }
}
