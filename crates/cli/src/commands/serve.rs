//! The verb `npu serve`.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::generate::{Request, Session};
use serde_json::json;

use crate::answer::Answer;
use crate::args::{MODEL, TARGET};
use crate::candidates::targets;
use crate::failure::Failure;
use crate::options::key_and_value;
use crate::parts::{Parts, ServeSettings, hand_over, missing, program};
use crate::requests::context;

/// Heading for the options of the connection.
const CONNECTION: &str = "Connection";

/// Arguments of `npu serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Model: a GGUF file, a folder of a model hub, or a description
    ///
    /// `npu generate --help` describes them.
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub model: String,
    /// Maximum tokens of a text with its prompt, limited by the model; by default 2048
    #[arg(long, value_name = "N", help_heading = MODEL)]
    pub context: Option<usize>,
    /// Smaller model that proposes tokens, for speed
    ///
    /// It must have the same tokens, and does not change the answers.
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub draft: Option<String>,
    /// Typical text, for which weights of few bits change the results least
    #[arg(long, value_name = "FILE", help_heading = MODEL, requires = "target")]
    pub calibrate: Option<String>,
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
    /// Port to listen on; 0 for a free one
    #[arg(long, value_name = "N", help_heading = CONNECTION, default_value_t = 8080)]
    pub port: u16,
    /// Address to listen on; others than the default can be reached from other computers
    ///
    /// Only programs of this computer reach 127.0.0.1 and ::1. With the computer's address in a
    /// network, or with 0.0.0.0 for all of them, every program that reaches that address can use the
    /// model and read what it answers: there is no password and no encryption.
    #[arg(long, value_name = "ADDRESS", help_heading = CONNECTION, default_value = "127.0.0.1")]
    pub address: IpAddr,
    /// Name of this computer in requests; addresses and `localhost` are always known
    ///
    /// Requests for other names are refused, because a web page could have sent them. May be given
    /// several times.
    #[arg(long = "host", value_name = "NAME", help_heading = CONNECTION)]
    pub hosts: Vec<String>,
    /// Web pages that may use the model, as `http://localhost:3000`
    ///
    /// Web pages of other origins are refused. May be given several times.
    #[arg(long = "origin", value_name = "ORIGIN", help_heading = CONNECTION)]
    pub origins: Vec<String>,
    /// Maximum requests that wait; more are refused
    #[arg(long, value_name = "N", help_heading = CONNECTION, default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub queue: u16,
}

/// Runs the verb until the process ends. The address is printed when the model is ready.
pub fn run(args: &ServeArgs, json: bool, parts: Option<&Parts>) -> Result<Answer, Failure> {
    let Some(parts) = parts else {
        return hand_over(program().ok_or_else(|| Failure::Serve { reason: missing() })?);
    };
    let request = Request {
        model: Some(args.model.clone()),
        target: args.target.clone(),
        options: args.options.iter().cloned().collect(),
        context: args.context,
        draft: args.draft.clone(),
        calibrate: args.calibrate.clone(),
        ..Request::default()
    };
    let session = Session::open(&request, context())?;
    let settings = ServeSettings {
        address: args.address,
        port: args.port,
        hosts: args.hosts.clone(),
        origins: args.origins.clone(),
        queue: usize::from(args.queue),
    };
    let (model, target) = (session.name().to_owned(), session.target().to_owned());
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/v1");
        let line = match json {
            true => json!({ "model": model, "target": target, "url": url }).to_string(),
            false => format!("serving {model} ({target}) on {url}; Ctrl-C ends"),
        };
        // Without a reader of standard output, the model is served nevertheless.
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    let served = (parts.serve)(session, &settings, &ready);
    let place = SocketAddr::new(args.address, args.port);
    served.map_err(|error| Failure::Serve { reason: format!("cannot serve on {place}: {error}") })?;
    Ok(Answer::new(String::new(), &json!({})))
}
