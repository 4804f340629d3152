//! Paths of the interface, and checks of hosts and origins: [`Server`].

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, channel};
use std::time::SystemTime;

use npukit::percent_decoded;
use npukit::verbs::generate::Session;
use npukit_cli::ServeSettings;
use serde_json::{Value, json};

use super::body::Body;
use super::choices::{Failed, Form, Heading, Progress, Received};
use super::queue::Job;
use super::request::Request;
use super::response::Response;

/// State of all connections.
pub(super) struct Server {
    /// Name of the model.
    model: String,
    /// Maximum number of tokens of a text.
    context: usize,
    /// Names of this computer, in addition to `localhost` and addresses.
    hosts: Vec<String>,
    /// Origins of web pages that may use the model.
    origins: Vec<String>,
    jobs: SyncSender<Job>,
    /// Seconds since the begin of 1970 at the start.
    created: u64,
    answers: AtomicU64,
}

/// Result of a request so far.
pub(super) enum Started {
    Answered(Response),
    Waiting(Progress),
}

impl Server {
    pub(super) fn new(session: &Session, settings: &ServeSettings, jobs: SyncSender<Job>) -> Self {
        Self {
            model: session.name().to_owned(),
            context: session.context(),
            hosts: settings.hosts.clone(),
            origins: settings.origins.clone(),
            jobs,
            created: now(),
            answers: AtomicU64::new(0),
        }
    }

    /// Answers a request, or adds it to the queue.
    pub(super) fn start(&self, request: &Request) -> Started {
        let origin = match self.origin(request) {
            Ok(origin) => origin,
            Err(failed) => return Started::Answered(Response::failed(&failed)),
        };
        let started = self.answer(request, origin.clone());
        started.unwrap_or_else(|failed| Started::Answered(Response { origin, ..Response::failed(&failed) }))
    }

    fn answer(&self, request: &Request, origin: Option<String>) -> Result<Started, Failed> {
        let is = |method: &str| request.method == method;
        let answered =
            |body: String| Ok(Started::Answered(Response { status: 200, origin: origin.clone(), body }));
        let path = request.path.as_str();
        match path {
            "/v1/models" | "/v1/completions" | "/v1/chat/completions" if is("OPTIONS") => {
                answered(String::new())
            }
            "/v1/models" if is("GET") => {
                answered(json!({ "object": "list", "data": [self.described()] }).to_string())
            }
            "/v1/completions" if is("POST") => self.add(Form::Completion, request, origin),
            "/v1/chat/completions" if is("POST") => self.add(Form::Chat, request, origin),
            "/v1/models" | "/v1/completions" | "/v1/chat/completions" => {
                Err(Failed::new(405, format!("`{path}` does not take {}", request.method)))
            }
            _ => match path.strip_prefix("/v1/models/") {
                Some(name) if is("GET") && percent_decoded(name) == self.model => {
                    answered(self.described().to_string())
                }
                _ => Err(Failed::new(
                    404,
                    format!(
                        "there is no `{path}`; there are /v1/models, /v1/completions and /v1/chat/completions"
                    ),
                )),
            },
        }
    }

    fn described(&self) -> Value {
        json!({
            "id": self.model,
            "object": "model",
            "created": self.created,
            "owned_by": "npukit",
            "max_model_len": self.context,
        })
    }

    /// Adds a text to the queue.
    fn add(&self, form: Form, request: &Request, origin: Option<String>) -> Result<Started, Failed> {
        let mut body = Body::read(&request.body)?;
        if let Some(other) = body.model.as_ref().filter(|name| **name != self.model) {
            let message = format!("there is no model `{other}`; there is `{}`", self.model);
            return Err(Failed { status: 404, parameter: Some("model"), message });
        }
        let (sender, events) = channel();
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let (prompt, continuation) = (body.prompt(form)?, body.continuation()?);
        let job = Job { prompt, continuation, events: sender, is_cancelled: Arc::clone(&is_cancelled) };
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Failed::new(503, "the queue is full; try again later"),
            TrySendError::Disconnected(_) => Failed::new(500, "the model has failed"),
        })?;
        let number = self.answers.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Started::Waiting(Progress {
            heading: Heading { form, number, created: now(), model: self.model.clone() },
            events,
            is_cancelled,
            origin,
            is_stream: body.stream == Some(true),
            has_usage: body.has_usage(),
            has_sent: false,
            received: Received::default(),
        }))
    }

    /// Checks that a request is meant for this server, and returns the origin of the web page that
    /// sends it; `None` if it is not a web page.
    ///
    /// Without this check, any web page could use the model through its reader's browser: directly,
    /// or through a name of its own that stands for this computer's address.
    fn origin(&self, request: &Request) -> Result<Option<String>, Failed> {
        // Default: an empty name, which is refused.
        let host = request.header("host").unwrap_or_default();
        let name = name_of(host);
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_known = self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !is_address && !is_known && !name.eq_ignore_ascii_case("localhost") {
            let message = format!("the host `{host}` is not known; `--host` makes it known");
            return Err(Failed::new(421, message));
        }
        match request.header("origin") {
            Some(origin) if !self.origins.iter().any(|known| known == origin) => {
                let message = format!("web pages of `{origin}` may not use the model; `--origin` allows it");
                Err(Failed::new(403, message))
            }
            origin => Ok(origin.map(str::to_owned)),
        }
    }
}

/// Returns the name of a host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn now() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // Default: a clock before 1970 is wrong, and any time is.
    time.map_or(0, |time| time.as_secs())
}
