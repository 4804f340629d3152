//! Keys and panes with the toy machine, whose numbers are easy to verify.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossterm::event::KeyCode;
use npukit_debug::Debugger;
use npukit_interactive::tui::{KEYS, Look};
use npukit_target::Machine;
use ratatui_core::style::{Color, Modifier, Style};

use crate::screen::{COLORED, PLAIN, Screen};
use crate::toy::{Op, Toy};

/// m[1] = 2, 2.0625; m[2] = 3, 0.0625; r = 48; m[3] = 15.625, 15.6875; m[3] = 15.9375 (of 18.625),
/// 15.75; m[3] = 2, -4.
const OPS: [Op; 6] =
    [Op::Set(1, 32), Op::Add(2, 0, 1), Op::Load(2), Op::Set(3, 250), Op::Add(3, 3, 2), Op::Add(3, 0, 0)];

fn debugger(ops: &[Op]) -> Debugger {
    Debugger::new(Box::new(Toy::new(ops)), Toy::text(ops))
}

fn screen(look: Look) -> Screen {
    Screen::new(debugger(&OPS), (120, 34), look)
}

const WIDE: (u16, u16) = (120, 34);

#[test]
fn the_start_shows_what_the_first_step_will_do() {
    let screen = screen(PLAIN);
    screen.has("toy on toy:small  instruction 0 of 6  layer first");
    for text in [
        "┌ p.toy:2 ",
        ">     0 :2    Set(1, 32)",
        "      5 :7    Add(3, 0, 0)",
        "writes m[1]",
        "cycles 0 to 1",
    ] {
        screen.has(text);
    }
    screen.has("m (1 of 2), real, follows");
    screen.has("note: a note");
    screen.has("   0   1 -2");
}

#[test]
fn the_next_step_is_shown_in_motion() {
    let mut screen = screen(PLAIN);
    screen.keys("m");
    screen.has("the next step has no drawing in motion");
    screen.keys("s");
    screen.has("motion, cycle 2 of 2 to 3; ] next, [ previous");
    screen.has("adders   2   2.0625");
    screen.has("        *1      *-2");
    screen.has("        =3  =0.0625");
    screen.keys("]]");
    screen.has("motion, cycle 3 of 2 to 3");
    screen.has("m        3   0.0625");
    screen.keys("[");
    screen.has("motion, cycle 2 of 2 to 3");
    screen.keys("m");
    screen.has("m (1 of 2), real, follows");
}

/// The name of a layer is shown before its first instruction.
#[test]
fn layers_stand_in_the_listing() {
    let lines = screen(PLAIN).lines();
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    assert_eq!(at("   first"), at("Set(1, 32)") - 1);
    assert_eq!(at("   second half"), at("Set(3, 250)") - 1);
}

#[test]
fn steps_go_both_ways_and_show_what_has_changed() {
    let mut screen = screen(PLAIN);
    screen.keys("s");
    screen.has(">     1 :3    Add(2, 0, 1)");
    screen.has("   1       2 2.0625");
    let changed = screen.style("   1       2 2.0625", "2.0625");
    assert!(changed.add_modifier.contains(Modifier::REVERSED), "{changed:?}");
    screen.has("reads  m[0]");
    screen.has("reads  m[1]");
    screen.has("writes m[2]");
    screen.has("adder waits 1 on operands");
    screen.press(KeyCode::Right);
    screen.has("   2       3 0.0625");
    let then = screen.style("   1       2 2.0625", "2.0625");
    assert!(!then.add_modifier.contains(Modifier::REVERSED), "what an earlier step has changed");
    screen.keys("b");
    screen.has("   2       0      0");
    let again = screen.style("   1       2 2.0625", "2.0625");
    assert_eq!(again.add_modifier & changed.add_modifier, changed.add_modifier);
    screen.press(KeyCode::Left);
    screen.has("instruction 0 of 6");
}

/// The panes switch to the view of the register when a step loads it, unless following is off.
#[test]
fn the_view_follows_what_is_written() {
    let mut screen = screen(PLAIN);
    screen.keys("ss");
    screen.has("m (1 of 2)");
    screen.keys("s");
    screen.has("registers (2 of 2), real, follows");
    screen.has(">r         48");
    screen.keys("f");
    screen.keys("s");
    screen.has("registers (2 of 2), real ");
    screen.press(KeyCode::Tab);
    screen.has("m (1 of 2), real ");
    screen.press(KeyCode::BackTab);
    screen.has("registers (2 of 2)");
}

#[test]
fn numbers_have_scales() {
    let mut screen = screen(PLAIN);
    screen.keys("sssss");
    screen.has("15.9375");
    screen.has("1 result saturated so far");
    screen.keys("x");
    screen.has(", raw, ");
    screen.has("   3  255 252");
    screen.keys("x");
    screen.has(", hex, ");
    screen.has("   3  0ff 0fc");
    // 250/16 + 48/16; the machine saturates at 255/16.
    screen.command("show m[3] float");
    screen.has(", float, ");
    screen.has("   3  18.625  15.75");
    screen.command("show m[3] error");
    screen.has("-2.6875");
}

#[test]
fn layers_and_ends_are_gone_to() {
    let mut screen = screen(PLAIN);
    screen.keys("n");
    screen.has("instruction 3 of 6  layer second half");
    screen.keys("p");
    screen.has("instruction 0 of 6");
    screen.press(KeyCode::End);
    screen.has("instruction 6 of 6  end");
    screen.has("no next step");
    screen.has("end, after cycle 12");
    screen.keys("p");
    screen.has("instruction 3 of 6");
    screen.press(KeyCode::Home);
    screen.has("instruction 0 of 6");
}

#[test]
fn breakpoints_are_set_at_the_cursor() {
    let mut screen = screen(PLAIN);
    screen.press(KeyCode::Down);
    screen.keys("jj");
    assert!(screen.style("Set(3, 250)", "Set").add_modifier.contains(Modifier::REVERSED));
    screen.keys(" ");
    screen.has(" *    3 :5    Set(3, 250)");
    screen.keys("c");
    screen.has("instruction 3 of 6  layer second half  breakpoint 1");
    screen.has(">*    3 :5    Set(3, 250)");
    screen.keys("r");
    screen.has("instruction 0 of 6");
    screen.keys("jjj ");
    screen.lacks("*    3");
    screen.keys("c");
    screen.has("end");
    screen.keys("kkg");
    screen.has("instruction 3 of 6");
    screen.keys("k.");
    assert!(!screen.style("Load(2)", "Load").add_modifier.contains(Modifier::REVERSED));
}

#[test]
fn commands_are_typed() {
    let mut screen = screen(PLAIN);
    screen.command("watch m[3] write if > 15.8");
    screen.has("watchpoint 1: m[3] write if > 15.8");
    screen.command("continue");
    screen.has("instruction 5 of 6  layer second half  watchpoint 1, hit by instruction 4");
    screen.command("who m[3].0");
    screen.has("> who m[3].0");
    screen.command("sho m");
    screen.has("  ^ ");
    screen.has("unknown command `sho`");
    screen.keys(":");
    screen.press(KeyCode::Up);
    screen.has("> sho m");
    screen.press(KeyCode::Left);
    screen.press(KeyCode::Left);
    screen.keys("w");
    screen.press(KeyCode::Backspace);
    screen.press(KeyCode::Up);
    assert_eq!(screen.lines().last().unwrap(), "> who m[3].0");
    screen.control('u');
    screen.keys("quit");
    assert!(!screen.press(KeyCode::Enter), "quit leaves");
}

#[test]
fn output_is_scrolled() {
    let mut screen = screen(PLAIN);
    screen.command("help");
    screen.lacks("note: a note");
    (0..200).for_each(|_| screen.keys("-"));
    screen.has("note: a note");
    (0..200).for_each(|_| screen.keys("+"));
    screen.has("help [COMMAND]");
}

#[test]
fn a_fault_is_told() {
    let mut screen = Screen::new(debugger(&[Op::Set(1, 1), Op::Trap]), WIDE, PLAIN);
    screen.keys("c");
    screen.has("instruction 1 of 2");
    screen.has("the machine stops here");
    screen.has("the machine stops: a trap");
    screen.keys("s");
    screen.has("instruction 1 of 2");
}

#[test]
fn keys_are_shown() {
    let mut screen = screen(PLAIN);
    screen.keys("?");
    KEYS.iter().for_each(|key| {
        screen.has(&format!("{:<12}{}", key.text, &key.meaning[..20.min(key.meaning.len())]))
    });
    screen.keys("s");
    screen.has("instruction 0 of 6");
    screen.lacks("┌ keys");
    assert!(!screen.press(KeyCode::Char('q')));
    assert!(!screen.control('c'));
}

/// Without colors only the styles differ; in ASCII mode only ASCII is written.
#[test]
fn terminals_that_show_little_show_it_all() {
    let (mut with, mut without) = (screen(COLORED), screen(PLAIN));
    let mut ascii = screen(Look { has_colors: false, has_unicode: false });
    for screen in [&mut with, &mut without, &mut ascii] {
        screen.keys("sss");
    }
    assert_eq!(with.text(), without.text());
    assert!(ascii.text().is_ascii());
    let yellow = with.style(">r         48", "48");
    assert_eq!(yellow.fg, Some(Color::Yellow));
    let colors = |screen: &Screen| {
        let of = |line: &String, text: char| screen.style(line, &text.to_string());
        let all = screen.lines();
        all.iter()
            .filter(|line| !line.is_empty())
            .map(|line| of(line, line.chars().next().unwrap()))
            .collect()
    };
    let styles: Vec<Style> = colors(&without);
    assert!(styles.iter().all(|style| style.fg.is_none_or(|color| color == Color::Reset)));
}

/// The screen can be drawn at any size.
#[test]
fn any_size_is_drawn_on() {
    for columns in [1, 2, 5, 20, 40, 79, 99, 100, 300] {
        for lines in [1, 2, 3, 5, 8, 13, 24, 60] {
            let mut screen = Screen::new(debugger(&OPS), (columns, lines), COLORED);
            for letter in "ssjk?x]]xx[".chars() {
                screen.press(KeyCode::Char(letter));
            }
            screen.keys(":show m[3] float, of which there is more than a line has");
            screen.press(KeyCode::Enter);
        }
    }
}

/// A narrow terminal still shows the position.
#[test]
fn narrow_terminals_show_the_same() {
    let mut screen = Screen::new(debugger(&OPS), (40, 24), PLAIN);
    screen.keys("sss");
    screen.has("> ");
    screen.has("Set(3, 250)");
    screen.has("registers (2 of 2)");
    screen.has("writes m[3]");
    screen.has("cycles 6 to 7");
}

/// A toy machine that counts its steps, and whose clock waits for permission to answer.
struct Counted {
    toy: Box<dyn Machine>,
    steps: Arc<AtomicUsize>,
    /// Whether the clock may answer.
    may_tell: Arc<AtomicBool>,
}

impl Machine for Counted {
    fn outline(&self) -> &npukit_target::Outline {
        self.toy.outline()
    }
    fn steps(&self) -> usize {
        self.toy.steps()
    }
    fn position(&self) -> usize {
        self.toy.position()
    }
    fn step(&mut self) -> Result<Vec<String>, npukit_target::TargetError> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.toy.step()
    }
    fn fork(&self) -> Box<dyn Machine> {
        let (steps, may_tell) = (Arc::clone(&self.steps), Arc::clone(&self.may_tell));
        Box::new(Self { toy: self.toy.fork(), steps, may_tell })
    }
    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, npukit_target::TargetError> {
        self.toy.read(memory, address, count)
    }
    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        self.toy.real(memory, number)
    }
    fn accesses(&self, step: usize) -> Vec<npukit_target::Accessed> {
        self.toy.accesses(step)
    }
    fn listing(&self) -> Result<Vec<npukit_target::ListingLine>, npukit_target::TargetError> {
        self.toy.listing()
    }
    fn moments(&self) -> Result<Vec<npukit_target::Moment>, npukit_target::TargetError> {
        while !self.may_tell.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.toy.moments()
    }
}

/// A slow clock does not block the user.
#[test]
fn one_goes_on_while_the_clock_computes() {
    let (steps, may_tell) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let toy = Box::new(Toy::new(&OPS));
    let slow = Counted { toy, steps, may_tell: Arc::clone(&may_tell) };
    let mut screen = Screen::early(Debugger::new(Box::new(slow), Toy::text(&OPS)), WIDE, PLAIN);
    assert!(screen.press_only(KeyCode::Char('s')));
    screen.draw();
    screen.has("instruction 1 of 6");
    screen.has("│... ");
    may_tell.store(true, Ordering::Relaxed);
    screen.press(KeyCode::Char('s'));
    screen.has("cycles 4 to 5");
}

/// A long run is divided into pieces, and any key interrupts it in between.
#[test]
fn a_key_stops_a_long_way() {
    let ops = vec![Op::Set(1, 1); 400_000];
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Counted {
        toy: Box::new(Toy::new(&ops)),
        steps: Arc::clone(&steps),
        may_tell: Arc::new(AtomicBool::new(true)),
    };
    let mut screen = Screen::new(Debugger::new(Box::new(counted), Toy::text(&ops[..1])), WIDE, PLAIN);
    for key in [KeyCode::Char('c'), KeyCode::End] {
        let before = steps.load(Ordering::Relaxed);
        assert!(screen.press_only(key));
        screen.draw();
        screen.has("running; Esc interrupts");
        assert!(screen.press_only(KeyCode::Esc));
        screen.draw();
        screen.has("stopped");
        // Only steps that are shown were executed.
        assert!(steps.load(Ordering::Relaxed) - before < 20_000);
    }
    // Other keys are handled after the run.
    assert!(screen.press_only(KeyCode::End));
    assert!(screen.press_only(KeyCode::Char('b')));
    assert!(!screen.press(KeyCode::Char('q')), "q waits, too, and leaves then");
    screen.has("instruction 399999 of 400000");
}
