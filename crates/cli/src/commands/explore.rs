//! The verb `npu explore`.

mod points;

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::explore::{Condition, Journal, Metric, Point, Round};
use npukit::verbs::explore::{Report, Request, Resume, Space, explore, files, inputs, journal, with_targets};
use npukit::{Context, Error};

use crate::answer::Answer;
use crate::args::values::share;
use crate::args::{CalibrationArgs, CostArgs, INPUTS, ModelArgs, OUTPUT, PreprocessArgs};
use crate::candidates::targets;
use crate::disk::{Appended, write_all};
use crate::endings::named;
use crate::failure::Failure;
use crate::requests::{calibration, context, costs, input_files, model_options, of_calibration, preprocess};
use crate::table::{counted, facts, percent, thousands};
use crate::text::remarks;
use points::{Points, networks};

/// Arguments of `npu explore`.
#[derive(Debug, Args)]
// The short help has no room for costs.
#[command(mut_arg("host", |arg| arg.hide_short_help(true)))]
#[command(mut_arg("technology", |arg| arg.hide_short_help(true)))]
pub struct ExploreArgs {
    /// `.onnx`, `.pb` or `.tflite` files, or language models: GGUF files, folders of model hubs
    ///
    /// A point is a machine for all of the models. A language model is timed from its shapes: for
    /// the last of `--context` tokens, in `--batch` texts at once.
    #[arg(value_name = "MODEL", required = true)]
    pub models: Vec<String>,
    /// Design space: targets, parameters, options, conditions and objectives
    #[arg(long, value_name = "SPACE.toml")]
    pub space: Option<String>,
    /// Accelerator to compare; repeat it for others
    ///
    /// Without --space, the models are compiled for each of them as it is. With --space, they
    /// replace its targets.
    #[arg(long = "target", id = "target", value_name = "TARGET", add = ArgValueCandidates::new(targets))]
    pub targets: Vec<String>,
    /// Compile N random points instead of all
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Seed of the random points
    #[arg(long, default_value_t = 0, hide_short_help = true)]
    pub seed: u64,
    /// Also compile points that a bound rules out
    #[arg(long)]
    pub exhaustive: bool,
    /// Merge points within this share of the front, as `1%`
    ///
    /// Points that are at most this share worse than a Pareto-optimal point in every objective are
    /// equal to it; the smallest machine of them remains on the front.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub epsilon: Option<f64>,
    /// Compile all layers only for points whose first layers do best
    ///
    /// Three rounds compile an eighth, a quarter and a half of the products; after each round the
    /// better half of the points remains. There is no proof that the dropped points are worse; they
    /// are listed separately.
    #[arg(long, hide_short_help = true)]
    pub halve: bool,
    /// Tokens of a language model's text; by default 2048
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub context: Option<u32>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    /// Samples on which each program runs, compared with float
    ///
    /// As for `npu run`. Without them, errors and accuracy are unknown.
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub costs: CostArgs,
    /// File for all points: `.csv`, or `.jsonl` (JSON lines)
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT, value_parser = named(&["csv", "jsonl"]))]
    pub output: Option<PathBuf>,
    /// Add each finished point to a file, and continue from it
    ///
    /// The exploration can be stopped at any time: with the same file it continues, and repeats
    /// nothing.
    // It is also an input: it grows, and never replaces another file.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub resume: Option<String>,
    /// Plot of the points by the first two objectives
    #[arg(long, value_name = "FILE.svg", help_heading = OUTPUT, value_parser = named(&["svg"]))]
    pub svg: Option<PathBuf>,
    /// Figure or parameter that colors points in plots
    #[arg(long, value_name = "NAME", help_heading = OUTPUT, hide_short_help = true)]
    pub color_by: Option<String>,
    /// Figure or parameter that labels the front in plots
    ///
    /// The default is the number of the point, as in the table.
    #[arg(long, value_name = "NAME", help_heading = OUTPUT, hide_short_help = true)]
    pub label_by: Option<String>,
    /// HTML page with all points, to select from in a browser
    #[arg(long, value_name = "FILE.html", help_heading = OUTPUT, value_parser = named(&["html", "htm"]))]
    pub html: Option<PathBuf>,
    /// Print the best point by a figure, as `latency`
    #[arg(long, value_name = "FIGURE", help_heading = OUTPUT)]
    pub best: Option<String>,
    /// Condition for the best point, as `bram <= 140`
    #[arg(long = "where", value_name = "CONDITION", help_heading = OUTPUT, requires = "best")]
    pub condition: Option<String>,
    /// Folder for the architecture file of the best point and for its programs
    #[arg(long, value_name = "DIR", help_heading = OUTPUT, requires = "best")]
    pub write: Option<PathBuf>,
}

pub fn run(args: &ExploreArgs) -> Result<Answer, Failure> {
    let context = context();
    let (request, space) = request(args, context)?;
    let condition = args.condition.as_deref().map(condition).transpose()?;
    let report = match &args.resume {
        Some(path) => resumed(&request, &space, path, context)?,
        None => explore(&request, Resume { known: Vec::new(), done: &|_| {} }, context)?,
    };
    let mut report = report.drawn_by(args.color_by.clone(), args.label_by.clone())?;
    let mut written: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    if let Some(path) = &args.output {
        let is_csv = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let text = if is_csv { report.csv() } else { report.lines() };
        written.push((path.clone(), text.into_bytes()));
    }
    if let Some(path) = &args.svg {
        written.push((path.clone(), report.svg(&request.space).into_bytes()));
    }
    if let Some(path) = &args.html {
        written.push((path.clone(), report.page().into_bytes()));
    }
    if let Some(objective) = &args.best {
        let best = report.best_by(objective, condition.as_ref())?.clone();
        report.best = Some(best.index);
        if let Some(folder) = &args.write {
            let files = files(&request, &best, context)?;
            written.extend(files.into_iter().map(|file| (folder.join(file.name), file.bytes)));
        }
    }
    let all: Vec<(PathBuf, &[u8])> =
        written.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice())).collect();
    write_all(&all)?;
    report.artifacts = written.iter().map(|(path, _)| path.display().to_string()).collect();
    let objectives: Vec<Metric> = request.space.objectives.iter().map(|one| one.metric).collect();
    let has_program = report.points.iter().any(|point| point.error.is_none());
    let is_comparison = args.space.is_none();
    Ok(Answer::new(text(&report, &objectives, is_comparison), &report).with_success(has_program))
}

/// Returns the request, and the text of the space.
fn request(args: &ExploreArgs, context: Context<'_>) -> Result<(Request, String), Failure> {
    let text = args.space.as_ref().map(|path| space(path, context)).transpose()?;
    if text.is_none() && args.targets.is_empty() {
        let reason = "is missing: give a file with a design space, or several --target to compare";
        return Err(Failure::setting("`--space`", reason));
    }
    // Default: a space of targets alone.
    let text = with_targets(&text.unwrap_or_default(), &args.targets).map_err(Error::from)?;
    let preprocess = preprocess(&args.preprocess);
    let request = Request {
        models: args.models.clone(),
        model: model_options(&args.reading),
        space: Space::from_toml(&text).map_err(Error::from)?,
        calibration: calibration(
            &args.calibration,
            of_calibration(&args.calibration, &args.inputs, &args.preprocess),
        ),
        inputs: input_files(&args.inputs),
        preprocess,
        context: args.context.map(|tokens| tokens as usize),
        sample: args.sample,
        seed: args.seed,
        epsilon: args.epsilon,
        // All targets of a comparison are shown.
        exhaustive: args.exhaustive || args.space.is_none(),
        halve: args.halve,
        costs: costs(&args.costs)?,
    };
    Ok((request, text))
}

/// Reads the text of a space.
fn space(path: &str, context: Context<'_>) -> Result<String, Failure> {
    let bytes = context.reader.read(path).map_err(Error::from)?;
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::NotText { path: path.to_owned(), offset: error.utf8_error().valid_up_to() });
    Ok(text?)
}

fn condition(text: &str) -> Result<Condition, Error> {
    Condition::parse(text).map_err(|error| npukit::explore::SpaceError::from(error).into())
}

/// Continues from the file at `path`, to which each new point is added.
fn resumed(request: &Request, space: &str, path: &str, context: Context<'_>) -> Result<Report, Failure> {
    let inputs = inputs(request, space, context)?;
    let (file, content) = Appended::open(path.as_ref())?;
    let Journal { points, bytes } = journal(path, &content, &inputs)?;
    file.keep(bytes);
    if bytes == 0 {
        file.add(&Journal::header(&inputs));
    }
    let done = |point: &Point| file.add(&Journal::line(point));
    let report = explore(request, Resume { known: points, done: &done }, context);
    // Known points are kept, whatever the result.
    file.finish()?;
    Ok(report?)
}

/// Formats the number of points that remained after each round.
fn halved(report: &Report) -> String {
    let Some(first) = report.rounds.first() else { return String::new() };
    let left = |round: &Round| {
        let (left, share) = (thousands(round.left as u64), percent(round.share));
        format!("{left} left after {share} of the products")
    };
    let left: Vec<String> = report.rounds.iter().map(left).collect();
    format!("{} points, {}", thousands(first.points as u64), left.join(", "))
}

/// Note on the times of different targets.
const COMPARED: &str =
    "times are calculated, not measured, and without the host's steps, which `npu time` lists for a target";

/// Formats a report. A comparison of targets has all points, otherwise there is the front.
fn text(report: &Report, objectives: &[Metric], is_comparison: bool) -> String {
    let count = |count: usize, what: &str| counted(count as u64, what);
    let feasible = report.points.iter().filter(|point| point.feasible).count();
    let pruned = match report.pruned {
        0 => String::new(),
        pruned => format!(", {} pruned by a bound", thousands(pruned as u64)),
    };
    let resumed = match report.resumed {
        0 => String::new(),
        resumed => format!(", {} known before", thousands(resumed as u64)),
    };
    let front: Vec<&Point> = report.points.iter().filter(|point| point.pareto).collect();
    let merged = match report.merged {
        0 => String::new(),
        merged => format!(", and {} nearly equal", thousands(merged as u64)),
    };
    let made = report.points.iter().filter(|point| point.error.is_none());
    let shown: Vec<&Point> = made.filter(|point| is_comparison || point.pareto).collect();
    let mark = |point: &Point| match report.best == Some(point.index) {
        true => "best",
        false if is_comparison && point.pareto => "front",
        false => "",
    };
    let Points { constant, unknown, table } = Points::new(&shown, objectives, &mark);
    let mut text = facts([
        ("halved", halved(report)),
        (
            "points",
            format!("{}, {feasible} feasible{pruned}{resumed}", thousands(report.points.len() as u64)),
        ),
        ("compiled", count(report.layers, "layer")),
        ("seconds", format!("{:.2}", report.seconds)),
        ("objectives", report.objectives.join(", ")),
        ("front", format!("{} not dominated by any other{merged}", count(front.len(), "point"))),
        ("same for all", constant),
        ("unknown", unknown),
    ]);
    text += &table;
    text += &networks(&shown);
    text.extend(report.artifacts.iter().map(|path| format!("wrote {path}\n")));
    let note = is_comparison.then(|| COMPARED.to_owned());
    text + &remarks(note.as_slice(), &report.warnings)
}
