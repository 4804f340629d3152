//! Points of an exploration are what compiling and timing their machines one by one gives.

use npukit::Source;
use npukit::explore::Point;
use npukit::verbs::explore::{Request, Resume, Space, explore};

use crate::memory::Memory;

/// Machines with little and with much of each memory, searched in both ways.
const SPACE: &str = r#"
target = "tcu:ultra96v2"
minimise = ["milliseconds", "bram"]
[parameters]
array_size = [4, 8]
local_depth = [128, 4096]
accumulator_depth = [128, 1024]
clock_mhz = [100, 200]
[options]
search = ["thorough", "quick"]
"#;

fn points(files: &Memory) -> Vec<Point> {
    let request = Request {
        models: vec!["digits.onnx".into()],
        space: Space::from_toml(SPACE).unwrap(),
        exhaustive: true,
        ..Request::default()
    };
    let resume = Resume { known: Vec::new(), done: &|_| {} };
    explore(&request, resume, files.context()).unwrap().points
}

#[test]
fn points_are_what_their_machines_are_alone() {
    let files = Memory::with_digits();
    let points = points(&files);
    assert_eq!(points.len(), 32);
    for point in &points {
        let search = point.parameters["search"].as_str().unwrap();
        let mut source = Source::model("digits.onnx", &point.target);
        source.options.insert("search".into(), search.into());
        let program = source.program(files.context()).unwrap();
        let time = program.time().unwrap();
        let model = &point.models[0];
        assert_eq!(model.cycles, Some(time.cycles["model"]), "{} {search}", point.target);
        assert_eq!((model.milliseconds, model.utilisation), (time.milliseconds, time.utilisation));
        assert_eq!(model.instructions, program.report().instructions);
    }
}

#[test]
fn points_do_not_depend_on_who_else_is_at_work() {
    let files = Memory::with_digits();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| points(&files))
    };
    assert_eq!(with(1), with(3));
}
