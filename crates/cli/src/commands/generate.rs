//! The verb `npu generate`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::generate::{Accuracy, Report, Request, accuracy, generate};

use super::time;
use crate::answer::Answer;
use crate::args::{ACCURACY, MODEL, OUTPUT, TARGET};
use crate::candidates::targets;
use crate::disk::write_all;
use crate::failure::Failure;
use crate::options::key_and_value;
use crate::printable::printable;
use crate::requests::context;
use crate::table::{View, facts, percent, thousands};
use crate::text::remarks;

/// Arguments of `npu generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Text to continue, as `123+456=`
    #[arg(required_unless_present_any = ["accuracy", "ids"], conflicts_with = "accuracy")]
    pub prompt: Option<String>,
    /// Prompt as token numbers, separated by commas
    #[arg(long, value_name = "N,N", help_heading = MODEL, value_delimiter = ',', conflicts_with_all = ["prompt", "accuracy"])]
    pub ids: Option<Vec<usize>>,
    /// Model: a GGUF file, a folder of a model hub, or a description; by default the embedded adder
    ///
    /// A folder has `config.json`, `model.safetensors` or shards with an index, and
    /// `tokenizer.json`. A description is a `.toml` file with its weights next to it.
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub model: Option<String>,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE; by default float
    ///
    /// `npu targets` lists them. `NPU_TARGET` and npu.toml are ignored here.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    /// Option of the target; `npu targets TARGET --options` lists all
    ///
    /// May be given several times.
    #[arg(long = "option", value_name = "KEY=VALUE", help_heading = TARGET, value_parser = key_and_value)]
    pub options: Vec<(String, String)>,
    /// Maximum tokens to generate, limited by the model's context; by default 256
    #[arg(long, value_name = "N", help_heading = OUTPUT)]
    pub tokens: Option<usize>,
    /// Show where the time of the last token goes
    #[arg(long, help_heading = OUTPUT, conflicts_with = "accuracy")]
    pub profile: bool,
    /// File for the logits after each token of the prompt, float32
    #[arg(long, value_name = "FILE.npy", help_heading = OUTPUT, conflicts_with = "accuracy")]
    pub logits: Option<PathBuf>,
    /// Folder for the files of the last token's program
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT, conflicts_with = "accuracy")]
    pub output: Option<PathBuf>,
    /// Use held-out texts instead, and report how many answers are exactly right
    #[arg(long, help_heading = ACCURACY)]
    pub accuracy: bool,
    /// Held-out texts; by default the embedded model's
    ///
    /// Each line has a prompt, a tab and the answer.
    #[arg(long, alias = "held-out", value_name = "FILE", help_heading = ACCURACY, requires = "accuracy")]
    pub eval_set: Option<String>,
}

/// Runs the verb. Tokens are printed as they are generated, unless the answer is JSON.
pub fn run(args: &GenerateArgs, json: bool) -> Result<Answer, Failure> {
    let request = Request {
        model: args.model.clone(),
        ids: args.ids.clone(),
        logits: args.logits.is_some(),
        target: args.target.clone(),
        tokens: args.tokens,
        options: args.options.iter().cloned().collect(),
        files: args.output.is_some(),
    };
    if args.accuracy {
        let report = accuracy(&request, args.eval_set.as_deref(), context())?;
        return Ok(Answer::new(accuracy_text(&report), &report));
    }
    // Default: without a text, the prompt is given as tokens.
    let prompt = args.prompt.as_deref().unwrap_or_default();
    let mut show = |text: &str| {
        if !json {
            // A closed pipe is not an error.
            let mut out = io::stdout().lock();
            let _ = out.write_all(printable(text).as_bytes()).and_then(|()| out.flush());
        }
    };
    let (report, files) = generate(&request, prompt, &mut show, context())?;
    let mut answer = format!("\n{}", text(&report));
    if let Some(step) = report.step.as_ref().filter(|_| args.profile) {
        answer += &format!("\nThe last step\n{}", time::text(step, &View::default()));
    }
    let mut contents: Vec<(PathBuf, &[u8])> =
        args.logits.iter().cloned().zip(report.logits.as_deref()).collect();
    if let Some(folder) = &args.output {
        contents.extend(files.iter().map(|file| (folder.join(&file.name), &file.bytes[..])));
    }
    if !contents.is_empty() {
        write_all(&contents)?;
        answer.extend(contents.iter().map(|(path, _)| format!("wrote {}\n", path.display())));
    }
    Ok(Answer::new(answer, &report))
}

pub(super) fn text(report: &Report) -> String {
    let speed = |speed: f64| {
        let clock = report.clock_mhz.map(|clock| format!(" at {clock} MHz")).unwrap_or_default();
        format!("{speed:.1} tokens per second{clock}")
    };
    let cycles = |cycles: Option<u64>| cycles.map(thousands);
    let lines = [
        ("model", Some(report.model.clone())),
        ("target", Some(report.target.clone())),
        ("tokens", Some(format!("{} of the prompt, {} generated", report.prompt_tokens, report.tokens))),
        ("cycles, prompt", cycles(report.prompt_cycles)),
        ("cycles, further tokens", cycles(report.cycles)),
        ("speed", report.tokens_per_second.map(speed)),
    ];
    facts(lines.into_iter().filter_map(|(name, value)| Some((name, value?))))
        + &remarks(&[], &report.warnings)
}

pub(super) fn accuracy_text(report: &Accuracy) -> String {
    let lines = [
        ("model", Some(report.model.clone())),
        ("held-out texts", Some(report.texts.to_string())),
        ("exactly right, float", Some(percent(report.exact_float))),
        ("target", report.target.clone()),
        ("exactly right, target", report.exact.map(percent)),
        ("answers agree with float", report.alike.map(percent)),
        ("seconds", Some(format!("{:.2}", report.seconds))),
    ];
    facts(lines.into_iter().filter_map(|(name, value)| Some((name, value?))))
        + &remarks(&[], &report.warnings)
}
