//! [`LanguageModel`]: a language model in use, and [`Answer`], a text that it continues.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use npukit::verbs::generate::{Continuation, End, Message, Request, Sampling, Session, Text};
use pyo3::prelude::*;

use crate::arrays;
use crate::context::Files;
use crate::work::run;

/// A language model in use.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct LanguageModel {
    session: Arc<Mutex<Session>>,
}

/// A text that a model continues, token by token.
#[pyclass(frozen, module = "npukit._npukit")]
pub struct Answer {
    session: Arc<Mutex<Session>>,
    text: Arc<Mutex<Text>>,
}

/// Arguments of `LanguageModel.generate`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Choice {
    tokens: Option<usize>,
    stop: Vec<String>,
    temperature: Option<f64>,
    top_k: Option<usize>,
    top_p: Option<f64>,
    min_p: Option<f64>,
    repetition_penalty: Option<f64>,
    seed: u64,
}

impl From<Choice> for Continuation {
    fn from(choice: Choice) -> Self {
        let Choice { tokens, stop, temperature, top_k, top_p, min_p, repetition_penalty, seed } = choice;
        let sampling = Sampling { temperature, top_k, top_p, min_p, repetition_penalty, seed };
        Self { tokens, sampling, stop }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl LanguageModel {
    /// Opens a model for texts of at most `context` tokens. Paths are of the model, or `None` for
    /// the embedded one, of a smaller model that proposes tokens, and of a text for which weights
    /// of few bits are chosen.
    #[new]
    fn new(
        py: Python<'_>,
        paths: [Option<String>; 3],
        target: Option<String>,
        options: BTreeMap<String, String>,
        context: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let [model, draft, calibrate] = paths;
        let request = Request { model, target, options, context, draft, calibrate, ..Request::default() };
        let session = run(py, progress, move || Session::open(&request, Files::of_disk().context()))?;
        Ok(Self { session: Arc::new(Mutex::new(session)) })
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> String {
        py.detach(|| locked(&self.session).name().to_owned())
    }

    #[getter]
    fn target(&self, py: Python<'_>) -> String {
        py.detach(|| locked(&self.session).target().to_owned())
    }

    #[getter]
    fn context(&self, py: Python<'_>) -> usize {
        py.detach(|| locked(&self.session).context())
    }

    fn encode(&self, py: Python<'_>, text: String) -> PyResult<Vec<usize>> {
        let session = Arc::clone(&self.session);
        run(py, None, move || locked(&session).encode(&text))
    }

    /// Converts messages, as pairs of role and content.
    fn encode_chat(&self, py: Python<'_>, messages: Vec<(String, String)>) -> PyResult<Vec<usize>> {
        let messages: Vec<Message> =
            messages.into_iter().map(|(role, content)| Message::new(&role, content)).collect();
        let session = Arc::clone(&self.session);
        run(py, None, move || locked(&session).encode_chat(&messages))
    }

    fn decode(&self, py: Python<'_>, ids: Vec<usize>) -> String {
        py.detach(|| locked(&self.session).decode(&ids))
    }

    /// Returns the logits after each token, `[tokens, vocabulary]`.
    fn logits<'py>(&self, py: Python<'py>, ids: Vec<usize>) -> PyResult<Bound<'py, PyAny>> {
        let session = Arc::clone(&self.session);
        let logits = run(py, None, move || locked(&session).logits(&ids))?;
        arrays::array(py, logits)
    }

    /// Begins to continue a prompt.
    fn generate(&self, py: Python<'_>, ids: Vec<usize>, choice: Choice) -> PyResult<Answer> {
        let (session, continuation) = (Arc::clone(&self.session), choice.into());
        let text = run(py, None, move || locked(&session).begin(ids, &continuation))?;
        Ok(Answer { session: Arc::clone(&self.session), text: Arc::new(Mutex::new(text)) })
    }
}

#[pymethods]
impl Answer {
    /// Returns the number of the next token, and the text that is complete with it; `None` after
    /// the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<(usize, String)>> {
        let (session, text) = (Arc::clone(&self.session), Arc::clone(&self.text));
        let token = run(py, None, move || locked(&session).next(&mut locked(&text)))?;
        Ok(token.map(|token| (token.id, token.text)))
    }

    #[getter]
    fn prompt_ids(&self, py: Python<'_>) -> Vec<usize> {
        py.detach(|| locked(&self.text).prompt_ids().to_vec())
    }

    #[getter]
    fn ids(&self, py: Python<'_>) -> Vec<usize> {
        py.detach(|| locked(&self.text).ids().to_vec())
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| locked(&self.text).answer().to_owned())
    }

    #[getter]
    fn end(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| {
            locked(&self.text).end().map(|end| match end {
                End::Length => "length".to_owned(),
                End::Stop(text) => text.clone(),
                _ => "token".to_owned(),
            })
        })
    }

    /// Cycles of the machine: for the prompt, and for the further tokens.
    #[getter]
    fn cycles(&self, py: Python<'_>) -> Option<(u64, u64)> {
        py.detach(|| locked(&self.text).cycles())
    }
}
