//! The verb `npu diff` for reports; `values` has the one for tensors.

pub(super) mod values;

use clap::{Arg, Args, ValueHint};
use npukit::verbs::diff::values::Request;
use npukit::verbs::diff::{Figure, Report, TextChange, diff};

use crate::answer::Answer;
use crate::args::values::percentage;
use crate::args::{CalibrationArgs, INPUTS, MODEL, ModelArgs, PreprocessArgs};
use crate::color::Mark;
use crate::failure::Failure;
use crate::options::CompileOptions;
use crate::printable::line;
use crate::requests::context;
use crate::table::{Cell, Column, Row, TableArgs, View, percent, thousands, viewed};

/// Arguments of `npu diff`.
#[derive(Debug, Args)]
#[command(mut_args(of_values))]
pub struct DiffArgs {
    /// Report, or source of values
    ///
    /// A report is the output of a command with --json (`.json`); two reports of the same command
    /// are compared figure by figure. Sources of values are: a model in float (`m.onnx`), a model
    /// compiled for a target (`m.onnx@TARGET`), an artifact (`m.tmodel`), arrays by tensor name
    /// (`.npz`, from `npu run --dump` or a board; `y=FILE.npy`, or `FILE.npy` if the other side has
    /// one output), and a memory of a board as bytes (`dram0=board.bin`). Two of these are compared
    /// tensor by tensor, in the order of layers.
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub before: String,
    /// Second report or source, which is compared with the first
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub after: String,
    /// How much worse a figure may become, in percent of the first
    ///
    /// The exit status is 1 if one of the --figures becomes worse by more. Lower is better for
    /// cycles, times, bytes, errors and saturation; higher is better for accuracy, utilization and
    /// signal-to-noise ratio. Other figures, such as the number of layers, are shown but not
    /// judged.
    ///
    /// For values: how far a tensor may differ, in percent of its range. Without the option, the
    /// exit status is 1 if a tensor saturates or differs by more than rounding explains, and if
    /// arrays or a memory differ from the other side at all.
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub threshold: Option<f64>,
    /// Figures that --threshold judges, by default `latency,accuracy,memory`
    ///
    /// These are groups: cycles and times of the whole program; accuracy, errors and saturations of
    /// its outputs; and the use of memories. Keys of the report are legal too, as `instructions` or
    /// `utilization`, and `all` for every figure of every layer and unit.
    #[arg(long, value_name = "NAME[,NAME..]", value_delimiter = ',', requires = "threshold")]
    pub figures: Vec<String>,
    /// Inputs for sides that are computed, as for `npu run`
    #[arg(long = "input", value_name = "[NAME=]FILE", help_heading = INPUTS, num_args = 1..)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub preprocess: PreprocessArgs,
    /// Model from which an artifact was compiled
    ///
    /// It gives the names of the layers' results. Not needed if the other side is the model.
    #[arg(long = "model", value_name = "MODEL", help_heading = MODEL)]
    pub of: Option<String>,
    /// Program whose memory is in `MEMORY=FILE`
    ///
    /// An artifact, or MODEL@TARGET. Not needed if the other side is the program.
    #[arg(long, value_name = "ARTIFACT", help_heading = INPUTS)]
    pub program: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub reading: ModelArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub calibration: CalibrationArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub lowering: CompileOptions,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub view: TableArgs,
}

/// Hides options that only apply to values in the short help, except the most important ones.
fn of_values(arg: Arg) -> Arg {
    const SHOWN: [&str; 10] =
        ["before", "after", "threshold", "figures", "inputs", "of", "program", "columns", "sort", "rows"];
    let is_shown = SHOWN.contains(&arg.get_id().as_str());
    arg.hide_short_help(!is_shown)
}

pub fn run(args: &DiffArgs) -> Result<Answer, Failure> {
    if Request::is_of_values(&args.before, &args.after) {
        return values::run(args);
    }
    let view = args.view.view(&FIGURES)?;
    let report = diff(&args.before, &args.after, args.threshold, &args.figures, context())?;
    Ok(Answer::new(text(&report, &view), &report).with_success(report.failures.is_empty()))
}

fn text(report: &Report, view: &View) -> String {
    let mut text = figures(&report.figures, view) + &texts(&report.texts);
    for (path, places) in [(&report.before, &report.only_before), (&report.after, &report.only_after)] {
        text.extend(places.iter().map(|place| line(&format!("only in {path}: {place}"))));
    }
    let (same, differ) = (thousands(report.same as u64), thousands(report.figures.len() as u64));
    text += &format!("{same} figures are the same, {differ} differ\n");
    if !report.failures.is_empty() {
        text += &line(&format!("worse than the threshold allows: {}", report.failures.join(", ")));
    }
    text
}

/// Columns of the table of differences.
const FIGURES: [Column<'_>; 5] = [
    Column::left("figure"),
    Column::right("before").minor(2),
    Column::right("after").minor(1),
    Column::right("change").leads(),
    Column::left("").named("verdict"),
];

fn figures(figures: &[Figure], view: &View) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let row = |figure: &Figure| {
        let change =
            figure.change.map_or_else(|| "new".into(), |change| Cell::figure(signed(change), change));
        let verdict = match figure.is_better {
            Some(true) => "better",
            Some(false) => "worse",
            None => "",
        };
        let [before, after] = [figure.before, figure.after].map(|value| Cell::figure(number(value), value));
        let cells = vec![figure.place.as_str().into(), before, after, change, verdict.into()];
        Row::new(cells, (figure.is_better == Some(false)).then_some(Mark::Fault))
    };
    viewed(&FIGURES, figures.iter().map(row), view)
}

fn texts(texts: &[TextChange]) -> String {
    let change = |text: &TextChange| line(&format!("{}: {} became {}", text.place, text.before, text.after));
    texts.iter().map(change).collect()
}

/// Formats a change, such as `+2.5 %`.
fn signed(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(change))
}

/// Formats whole numbers in groups of three digits, others with their significant digits.
fn number(number: f64) -> String {
    if number.fract() == 0.0 && (0.0..9e15).contains(&number) {
        return thousands(number as u64);
    }
    format!("{number:.6}")
}
