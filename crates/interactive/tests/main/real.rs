//! One program per target with known numbers: its views, and the changes of each step.

use std::collections::BTreeMap;

use crossterm::event::KeyCode;
use npukit::verbs::debug::{Opened, Request, open};
use npukit::{Context, InputFile, Source};
use npukit_debug::Debugger;
use npukit_target::View;

use crate::screen::{PLAIN, Screen};

fn opened(target: &str, text: &str) -> Debugger {
    let files = BTreeMap::from([("p.s".to_owned(), text.as_bytes().to_vec())]);
    let source = Source { path: "p.s".to_owned(), target: Some(target.to_owned()), ..Source::default() };
    let Opened { machine, text, .. } =
        open(&Request { source, ..Request::default() }, Context::new(&files)).unwrap();
    Debugger::new(machine, text)
}

fn screen(target: &str, text: &str) -> Screen {
    Screen::new(opened(target, text), (140, 40), PLAIN)
}

/// Two vectors times a 4 x 4 weight matrix, as in `docs/debug.md`.
const TCU: &str = "
.input x, dram0[0:2], -1.0, -1.5, 0.0, -1.25, 1.75, 1.5, 1.75, 1.0
.data dram1[0], 1.5, 0.25, -2.0, 1.25
.data dram1[1], -2.0, -2.0, -2.0, -2.0
.data dram1[2], 1.0, -0.5, 1.25, -2.0
.data dram1[3], 2.0, -0.25, 1.5, 1.75
.data dram1[4], -0.25, 0.75, -0.25, -0.25
    datamove local[0] <- dram1[0], 5
    loadweights local[0], 5
    datamove local[8] <- dram0[0], 2
    matmul local[8], acc[0], 2
    datamove local[16] <- acc[0], 2
";

const OPU: &str = include_str!("../../../../examples/opu/conv.s");

const PCCX: &str = "
    memset cache=fmap, idx=3, a=1, b=2, c=8
    memset cache=weight, idx=4, a=9, b=1, c=1
    kick
";

/// A dpu accumulates products of words that it reads from a register file.
const DRRA: &str = "
.data rf.1.0.1[0:4], 5, -3, 8, 0
.data rf.1.0.2[0], 1

cell (row=1, col=0)
swb(slot=0, channel=4, source=1, target=4)
swb(slot=0, channel=5, source=2, target=5)
swb(slot=0, channel=3, source=4, target=3)
dpu(slot=4, mode=mac)
dsu(slot=1, port=word_read)
rep(slot=1, port=word_read, iter=4)
dsu(slot=2, port=word_read)
rep(slot=2, port=word_read, iter=4, step=0)
evt(slot=4, port=rst)
dsu(slot=3, port=word_write)
rep(slot=3, port=word_write, iter=4)
act(param=1, ports=0x2022)
act(param=3, ports=0b0001)
wait(cycle=31)
halt()
";

const ALL: [(&str, &str); 4] = [("tcu:cmoda7", TCU), ("opu", OPU), ("pccx", PCCX), ("drra", DRRA)];

/// Each memory is in exactly one view, and has either no lane names or one per lane.
#[test]
fn views_have_every_memory_once() {
    for (target, text) in ALL {
        let debugger = opened(target, text);
        let (memories, views) = (debugger.machine().memories(), debugger.machine().views());
        let mut shown: Vec<usize> =
            views.iter().flat_map(|View { shown, .. }| shown).map(|shown| shown.memory).collect();
        shown.sort_unstable();
        assert_eq!(shown, (0..memories.len()).collect::<Vec<_>>(), "{target}");
        for one in views.iter().flat_map(|view| &view.shown) {
            let lanes = memories[one.memory].lanes;
            assert!(one.lanes.is_empty() || one.lanes.len() == lanes, "{target}: {one:?}");
            assert!(one.columns > 0, "{target}: {one:?}");
        }
    }
}

/// Each step from the start to the end and back is drawn, in each view.
#[test]
fn every_step_is_drawn() {
    for (target, text) in ALL {
        let mut screen = screen(target, text);
        for key in [KeyCode::Char('s'), KeyCode::Char('b')] {
            for _ in 0..60 {
                screen.press(key);
                screen.press(KeyCode::Tab);
            }
        }
        screen.has(" 0 of ");
    }
}

#[test]
fn tcu_shows_its_array() {
    let mut screen = screen("tcu:cmoda7", TCU);
    screen.has("local (2 of 4)");
    screen.has("reads  dram1[0:5]");
    screen.keys("ssss");
    screen.has("array (3 of 4), real, follows");
    screen.has(">acc      4096 x 4  accumulators");
    screen.has("    0   2.3125  2.0625 -1.5625  6.5625");
    screen.has("   3      2 -0.25   1.5  1.75".trim_start());
    screen.has("r1         0  0  0  0  register of the ALUs");
    screen.has("datamove local[0x10] <- acc[0x0], 2");
    screen.keys("]x");
    screen.has(">weights");
    screen.has("   2   256 -128  320 -512");
}

/// The output is the one that the example expects.
#[test]
fn opu_shows_its_feature_maps() {
    let mut screen = screen("opu", OPU);
    for _ in 0..18 {
        screen.keys("s");
    }
    screen.has("feature maps (4 of 7)");
    screen.has("store 0");
    screen.has("ifm      2048 x 64  input, one pixel of 64 channels per address");
    screen.has("    0    256  1536     0");
    screen.has("    1   1024   256     0");
    screen.keys("s");
    screen.has("features (1 of 7)");
    screen.has(">features.3 ");
}

#[test]
fn pccx_shows_its_engines() {
    let mut screen = screen("pccx", PCCX);
    screen.keys("s");
    screen.has("engines (2 of ");
    screen.has("fmap_shape 64 x 3  shapes of activations: x, y, z");
    screen.has("   3   1  2  8");
    screen.has("writes weight_shape[4]");
    screen.keys("s");
    screen.has("   4   9  1  1");
}

/// Active ports have an arrow.
#[test]
fn drra_shows_cells_with_slots_and_ports() {
    let mut screen = screen("drra", DRRA);
    screen.has("cycle 0 of ");
    screen.command("watch rf.1.0.3[2] write");
    screen.keys("c");
    screen.has("cell 1.0 (");
    screen.has("rf in slot 3, ports 3.0> 3.1 3.2 3.3");
    screen.has("dpu in slot 4, ports 4.0");
    screen.has(": out, acc, internal");
    screen.has("   0   5  2 10  0");
    screen.has("sequencer, next instruction 14");
    screen.press(KeyCode::End);
    screen.has("   0   5  2 10 10");
}

/// The listing shows layers, and a model gives a float reference. The filetest of `npu debug` has
/// the same numbers.
#[test]
fn a_model_is_shown_with_layers_and_floats() {
    const MODEL: &[u8] = include_bytes!("../../../npukit/assets/digits.onnx");
    const IMAGES: &[u8] = include_bytes!("../../../npukit/assets/digits_images.npy");
    let files =
        BTreeMap::from([("m.onnx".to_owned(), MODEL.to_vec()), ("x.npy".to_owned(), IMAGES.to_vec())]);
    let source =
        Source { path: "m.onnx".to_owned(), target: Some("tcu:pynqz1".to_owned()), ..Source::default() };
    let request = Request { source, inputs: vec![InputFile::parse("x.npy")], ..Request::default() };
    let Opened { machine, text, .. } = open(&request, Context::new(&files)).unwrap();
    let mut screen = Screen::new(Debugger::new(machine, text), (120, 40), PLAIN);
    screen.has("m_onnx_pynqz1 on tcu:pynqz1  instruction 0 of 1193  layer /conv1+/relu1+/pool1");
    screen.keys("nn");
    screen.has("layer /logits");
    screen.has("   /logits");
    screen.press(KeyCode::End);
    screen.command("show dram0[64]");
    screen.has("    64   -10.550781  -14.542969");
    screen.keys("xx");
    screen.has(", hex");
    screen.keys("x");
    screen.has(", float");
    screen.has("-10.4980");
    screen.keys("x");
    screen.has(", error");
    screen.has("-0.052");
    screen.keys("x");
    screen.has(", real");
}
