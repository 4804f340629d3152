//! Latency of one keystroke in a program of 10,000 lines: until the text is changed and analyzed
//! again, and until the response for one screen is ready.

use std::time::{Duration, Instant};

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use npukit_asm::analysis::Language;
use npukit_editor::lsp::Document;
use npukit_target::{Instance, InstanceSpec, NoFiles, Target, bytes_of};

const LINES: usize = 10_000;
const TIMES: usize = 40;

/// Target, name of a text for it, and a function from line number to line.
type Subject = (&'static Target, &'static str, fn(usize) -> String);

fn main() {
    let targets: [Subject; 4] = [
        (&npukit_tcu::TCU, "a.s", |line| {
            format!("    matmul local[{}], acc[{}], 4 ; {line} é\n", line % 999, line % 99)
        }),
        (&npukit_opu::OPU, "a.s", |line| format!("    @mem.ifm {}, 1 ; {line} é\n", line % 99)),
        (&npukit_pccx::PCCX, "a.s", |line| {
            format!("    memset cache=fmap, idx={}, a={}, b=1, c=8 ; {line} é\n", line % 60, line % 999)
        }),
        (&npukit_drra::DRRA, "a.s", |line| {
            format!("rep(slot=1, port=word_read, iter={}) # {line} é\n", line % 60 + 1)
        }),
    ];
    for (target, name, line) in targets {
        let instance = target.instance(InstanceSpec::Default).expect("the default instance is there");
        let head = if target.name == "drra" { "cell (row=1, col=0)\n" } else { "\n" };
        let text: String = std::iter::once(head.to_owned()).chain((0..LINES).map(line)).collect();
        measure(target.name, &*instance, name, text);
    }
}

fn measure(what: &str, instance: &dyn Instance, name: &str, text: String) {
    let language = instance.language(name).expect("it has a language");
    let mut document = Document::new(format!("file:///{name}").parse().expect("it is a name"), 1, text);
    let files = bytes_of(&NoFiles);
    let mut times: Vec<Duration> =
        (0..TIMES).map(|index| stroke(&mut document, &*language, &files, index)).collect();
    times.sort_unstable();
    let milliseconds = |time: Duration| 1000.0 * time.as_secs_f64();
    #[allow(clippy::print_stdout, reason = "a benchmark prints its result")]
    {
        println!(
            "{what}: {LINES} lines, a keystroke: median {:.1} ms, slowest {:.1} ms",
            milliseconds(times[TIMES / 2]),
            milliseconds(times[TIMES - 1])
        );
    }
}

/// Inserts a letter into an instruction, or removes it, and analyzes the whole text again.
fn stroke(
    document: &mut Document,
    language: &dyn Language,
    files: &npukit_asm::Files<'_>,
    index: usize,
) -> Duration {
    let begun = Instant::now();
    let line = 100 + 200 * (index / 2) as u32;
    let at = Position::new(line, 4);
    let (end, text) = if index.is_multiple_of(2) { (at, "x") } else { (Position::new(line, 5), "") };
    document.change(&TextDocumentContentChangeEvent {
        range: Some(Range::new(at, end)),
        range_length: None,
        text: text.to_owned(),
    });
    let found = language.analyze(&document.path, document.plain(), files);
    assert!(found.words.len() >= LINES - 2, "{}", found.words.len());
    begun.elapsed()
}
