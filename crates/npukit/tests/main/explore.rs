//! Points of an exploration equal the results of compiling and timing their instances one by one.

use npukit::Source;
use npukit::explore::Point;
use npukit::verbs::explore::{Request, Resume, Space, explore};

use crate::memory::Memory;

/// Instances with small and large memories, searched in both ways.
const SPACE: &str = r#"
target = "tcu:ultra96v2"
minimize = ["milliseconds", "bram"]
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
        assert_eq!(model.cycles, Some(time.cycles["hw"]), "{} {search}", point.target);
        assert_eq!((model.milliseconds, model.utilization), (time.milliseconds, time.utilization));
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

#[test]
fn halving_goes_on_from_a_file_and_keeps_what_no_point_beats() {
    let files = Memory::with_digits();
    let request = Request {
        models: vec!["digits.onnx".into()],
        space: Space::from_toml(SPACE).unwrap(),
        exhaustive: true,
        halve: true,
        ..Request::default()
    };
    let found = std::sync::Mutex::new(Vec::new());
    let done = |point: &Point| found.lock().unwrap().push(point.clone());
    let report = explore(&request, Resume { known: Vec::new(), done: &done }, files.context()).unwrap();
    let found = found.into_inner().unwrap();
    let all = points(&files);
    assert_eq!(report.points.len() + report.dropped, all.len());
    assert_eq!(report.rounds[0].points, all.len());
    assert!(report.dropped > 0 && report.dropped_points.iter().all(|point| point.part.is_some()));
    for round in &report.rounds {
        assert!(round.left >= round.points.div_ceil(2) && round.layers > 0, "{round:?}");
    }
    // A point that is compiled whole equals the point without halving.
    let without_mark = |point: &Point| Point { pareto: false, ..point.clone() };
    for point in &report.points {
        assert_eq!(without_mark(point), without_mark(&all[point.index as usize]));
    }
    let half = found.len() / 2;
    let resume = Resume { known: found[..half].to_vec(), done: &|_| {} };
    let again = explore(&request, resume, files.context()).unwrap();
    assert_eq!((&again.points, &again.dropped_points), (&report.points, &report.dropped_points));
    assert!(again.layers < report.layers);
    let resume = Resume { known: found, done: &|_| {} };
    assert_eq!(explore(&request, resume, files.context()).unwrap().layers, 0);
}
