//! The verb `npu embed`.

use std::path::PathBuf;

use clap::Args;
use npukit::verbs::embed::{Report, Request, Text, embed};

use crate::answer::Answer;
use crate::args::{MODEL, OUTPUT};
use crate::disk::write_all;
use crate::endings::named;
use crate::failure::Failure;
use crate::requests::context;
use crate::table::{Column, facts, table};

/// Arguments of `npu embed`.
#[derive(Debug, Args)]
pub struct EmbedArgs {
    /// Texts; each becomes a vector
    #[arg(required = true, value_name = "TEXT")]
    pub texts: Vec<String>,
    /// Encoder like BERT: a folder of a model hub, or a GGUF file
    ///
    /// A folder has `config.json`, `model.safetensors` or shards with an index, and
    /// `tokenizer.json`. Its `modules.json` decides how the vectors of the tokens become one; by
    /// default their mean is divided by its length.
    #[arg(long, required = true, value_name = "MODEL", help_heading = MODEL)]
    pub model: String,
    /// Leave out the end of texts that are longer than the model is made for
    #[arg(long, help_heading = MODEL)]
    pub truncate: bool,
    /// File for the vectors, float32 of shape [texts, features]
    #[arg(short, long, value_name = "FILE.npy", help_heading = OUTPUT, value_parser = named(&["npy"]))]
    pub output: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: &EmbedArgs) -> Result<Answer, Failure> {
    let request = Request { model: args.model.clone(), texts: args.texts.clone(), truncate: args.truncate };
    let report = embed(&request, context())?;
    let mut answer = text(&report);
    if let Some(path) = &args.output {
        write_all(&[(path.clone(), &report.array[..])])?;
        answer += &format!("wrote {}\n", path.display());
    }
    Ok(Answer::new(answer, &report))
}

fn text(report: &Report) -> String {
    let lines = [
        ("model", report.model.clone()),
        ("features", report.features.to_string()),
        ("seconds", format!("{:.2}", report.seconds)),
    ];
    let row = |text: &Text| {
        let left_out =
            if text.left_out > 0 { format!(", {} left out", text.left_out) } else { String::new() };
        let tokens = format!("{}{left_out}", text.ids.len());
        vec![format!("{:.4}", text.similarity), tokens, text.text.clone()]
    };
    let columns = [Column::right("similarity to the first"), Column::right("tokens"), Column::text("text")];
    facts(lines) + "\n" + &table(&columns, report.texts.iter().map(row))
}
