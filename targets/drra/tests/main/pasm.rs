//! PASM programs, from text to words.

use npukit_drra::Revision;
use npukit_drra::internals::check::mistakes;
use npukit_drra::internals::config::preset;
use npukit_drra::internals::fabric::Row;
use npukit_drra::internals::kernel::compile;
use npukit_drra::internals::machine::Machine;
use npukit_drra::internals::pasm;
use proptest::prelude::*;

const GUIDE: &str = include_str!("../../kernels/guide.pasm");

#[test]
fn the_guide_problem_is_scheduled_optimally() {
    let begin = std::time::Instant::now();
    let kernel = compile(&preset("3x1").unwrap(), "guide.pasm", GUIDE, 0).unwrap();
    eprintln!("the guide's problem: {:?} cycles, found in {:?}", kernel.cycles, begin.elapsed());
    let report = kernel.epochs.first().unwrap();
    assert_eq!(report.variables, [("t1".to_owned(), 1)]);
    assert!(kernel.cycles.unwrap() <= 62, "{report:#?}");
    assert_eq!(report.bound, report.cycles, "{report:#?}");
    let start = |name: &str| report.starts.iter().find(|one| one.0 == name).unwrap().1;
    assert_eq!(start("write_c_seq"), start("read_a_seq") + 1);
    assert_eq!(start("write_b"), start("read_ab") + 1);
}

#[test]
fn the_guide_problem_is_laid_out_already() {
    assert_eq!(pasm::format("guide.pasm", GUIDE).unwrap(), GUIDE);
    let printed = pasm::parse("guide.pasm", GUIDE).unwrap().to_string();
    let decimal = GUIDE.replace("0b010000000", "128").replace("0b0110", "6").replace("0b0100", "4");
    let without_comments: Vec<&str> =
        decimal.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), without_comments);
}

#[test]
fn contradictions_are_named_by_their_lines() {
    let text = GUIDE.replace(
        "cstr(\"output_r > write_c\")",
        "cstr(\"output_r > write_c\")\n  cstr(\"output_w < read_ab\")",
    );
    let errors = compile(&preset("3x1").unwrap(), "guide.pasm", &text, 0).unwrap_err();
    let [pasm::PasmError::Schedule { labels, reason, .. }] = &errors.errors[..] else { panic!("{errors:?}") };
    let mut named: Vec<&str> =
        labels.iter().map(|label| &text[label.offset()..label.offset() + label.len()]).collect();
    named.sort_unstable();
    assert_eq!(reason, "these 8 constraints cannot hold together", "{named:#?}");
    assert!(named.contains(&"output_w < read_ab") && named.contains(&"output_r > write_c"), "{named:#?}");
}

#[test]
fn the_guide_problem_computes_its_product_on_time() {
    let mut fabric = preset("3x1").unwrap();
    fabric.options.strict = true;
    let kernel = compile(&fabric, "guide.pasm", GUIDE, 0).unwrap();
    let row = |row: i16| -> Row { std::array::from_fn(|index| (row + 3) * (index as i16 - 7) % 90) };
    let mut machine = Machine::new(&fabric, &kernel.program).unwrap();
    machine.set_input(&(0..4).map(|number| (number, row(number as i16))).collect()).unwrap();
    let run = machine.run(1000, &mut ()).unwrap();
    assert_eq!(Some(run.cycles as i64), kernel.cycles);
    assert_eq!(run.warnings, []);
    let product = |a: Row, b: Row| -> Row { std::array::from_fn(|index| a[index] * b[index]) };
    let expected = [(0, product(row(0), row(2))), (1, product(row(1), row(3)))].into();
    assert_eq!(machine.output_image(), expected);
}

#[test]
fn warnings_point_at_instructions() {
    let text = "epoch {
  rop (row=1, col=0, slot=0, port=2) { route (sr=send, source=4, target=0b010000001) }
  rop (row=1, col=0, slot=4, port=0) { dpu (mode=sigm) }
  rop (row=1, col=0, slot=1, port=1) { dsu rep (iter=4) repx (iter=1) }
}";
    let fabric = preset("3x1").unwrap().of_revision(Revision::Text);
    let kernel = compile(&fabric, "x", text, 0).unwrap();
    let messages: Vec<(&str, String)> = mistakes(&fabric, &kernel.texts)
        .iter()
        .map(|(span, message)| (&text[span.start..span.end], message.to_string()))
        .collect();
    let expected = [
        ("2", "port 2 of a swb has no effect; routes are on port 1"),
        (
            "route",
            "direction 0 is not wired; legal are N 1, W 3, C 4, E 5 and S 7, and with `+seed` 0 to 8 [refused]",
        ),
        ("route", "slot 4 has no bulk rows: this has no effect [nothing-there]"),
        ("dpu", "no source defines dpu mode sigm: it needs `extensions` or a fabric with `+seed` [refused]"),
        ("repx", "`repx` without `step` has step=1, which adds 128 to the step [default-step]"),
    ];
    assert_eq!(messages, expected.map(|(place, message)| (place, message.to_owned())));
}

/// A register counts how often each branch inside a loop was taken.
#[test]
fn loops_and_branches_run_on_the_sequencers() {
    let text = "for (iter=300) {
        epoch { cop<c> (row=0, col=0) { calc (mode=add, operand1=1, operand2=1, result=1)
                                        calc (mode=bitand, operand1=1, operand2=1, result=2) } }
        if (reg=2) { epoch { cop (row=0, col=0) { calc (mode=add, operand1=3, operand2=1, result=3) } } }
        else { for (iter=2) { epoch { cop (row=0, col=0) { calc (mode=add, operand1=12, operand2=2, result=12) } } } }
    } epoch { rop (row=1, col=0, slot=1, port=1) { dsu rep (iter=300, delay=t) } cstr(\"t == 200\") }";
    let fabric = preset("3x1").unwrap().of_revision(Revision::Text);
    let kernel = compile(&fabric, "x", text, 0).unwrap();
    let mut machine = Machine::new(&fabric, &kernel.program).unwrap();
    let run = machine.run(1_000_000, &mut ()).unwrap();
    assert_eq!(Some(run.cycles as i64), kernel.cycles);
    let registers = machine.cells()[0].sequencer.regs;
    assert_eq!([1, 3, 12].map(|register: usize| registers[register]), [300, 150, 600]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The guide's problem with a few changed bytes, or truncated.
    #[test]
    fn damaged_programs_are_compiled_or_refused(
        changes in proptest::collection::vec((0..GUIDE.len(), "[a-z0-9(){}<>=,\"# -]"), 1..4),
        end in 0..2 * GUIDE.len(),
    ) {
        let mut text = GUIDE.to_owned();
        for (at, letter) in changes {
            text.replace_range(at..=at, &letter);
        }
        text.truncate(end);
        if pasm::format("x", &text).is_ok() {
            let _ = compile(&preset("3x1").unwrap(), "x", &text, 100);
        }
    }
}
