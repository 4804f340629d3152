//! State between calls of a network: inputs that are fed from outputs of the previous call
//! ([`States`]).
//!
//! Samples are successive calls then, in the given order. The first call starts with the given
//! values of such an input, or with zeros.

use npukit_import::State;
use npukit_numeric::Tensor;
use npukit_target::{Port, PortError, as_element};

use crate::error::Error;
use crate::inputs::Sample;

/// Options for state, as given by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stateful {
    /// Whether samples are successive calls.
    pub enabled: bool,
    /// Inputs, each with the output that feeds it; if empty, pairs are found by names and shapes.
    pub pairs: Vec<(String, String)>,
}

impl Stateful {
    /// Adds the pairs that the model declares, if the caller gives none.
    pub(crate) fn with_states(&self, states: &[State]) -> Self {
        let mut stateful = self.clone();
        if stateful.pairs.is_empty() {
            let pairs = states.iter().filter_map(|state| Some((state.input.clone(), state.output.clone()?)));
            stateful.pairs = pairs.collect();
        }
        stateful
    }
}

/// Indices of inputs, and of the outputs of the previous call that feed them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct States {
    pairs: Vec<Pair>,
}

#[derive(Debug, PartialEq, Eq)]
struct Pair {
    input: String,
    shape: Vec<usize>,
    output: String,
    /// Index of the output.
    place: usize,
}

impl States {
    /// Returns the requested state, or `None` if samples are independent.
    ///
    /// # Errors
    ///
    /// Returns [`Error::State`] for an invalid pair, and if no pair is found.
    pub(crate) fn of(stateful: &Stateful, inputs: &[Port], outputs: &[Port]) -> Result<Option<Self>, Error> {
        if !stateful.enabled {
            return Ok(None);
        }
        let mut pairs = Vec::new();
        for (input, output) in &stateful.pairs {
            let fed = inputs.iter().find(|port| port.name == *input);
            let feeds = outputs.iter().position(|port| port.name == *output);
            let (Some(fed), Some(place)) = (fed, feeds) else {
                return Err(refused(
                    format!("`{input}={output}` does not name an input and an output"),
                    inputs,
                    outputs,
                ));
            };
            if fed.shape != outputs[place].shape {
                let (left, right) = (&fed.shape, &outputs[place].shape);
                let reason = format!("`{input}` has shape {left:?}, but `{output}` has {right:?}");
                return Err(refused(reason, inputs, outputs));
            }
            pairs.push(pair(fed, outputs, place));
        }
        if pairs.is_empty() {
            pairs = found(inputs, outputs);
        }
        if pairs.is_empty() {
            return Err(refused("no output matches an input by name and shape".to_owned(), inputs, outputs));
        }
        Ok(Some(Self { pairs }))
    }

    /// Whether an output feeds the input.
    pub(crate) fn feeds(&self, input: &str) -> bool {
        self.pairs.iter().any(|pair| pair.input == input)
    }

    /// Describes the pairs, for notes.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.pairs.iter().map(|Pair { input, output, .. }| {
            format!("samples are successive calls: `{input}` is `{output}` of the previous call")
        })
    }

    /// Replaces a sample's state by the outputs of the previous call.
    pub(crate) fn feed<'a>(
        &self,
        sample: &mut Sample,
        output: impl Fn(usize) -> Option<&'a Tensor>,
    ) -> Result<(), Error> {
        for pair in &self.pairs {
            let Some(tensor) = output(pair.place) else { continue };
            let slot = sample.iter_mut().find(|(name, _)| *name == pair.input);
            let missing = || PortError::Missing { name: pair.input.clone(), shape: pair.shape.clone() };
            let (_, before) = slot.ok_or_else(missing)?;
            *before = as_element(tensor, before.element());
        }
        Ok(())
    }
}

fn pair(input: &Port, outputs: &[Port], place: usize) -> Pair {
    let (input, shape) = (input.name.clone(), input.shape.clone());
    Pair { input, shape, output: outputs[place].name.clone(), place }
}

/// Pairs inputs and outputs with equal shapes and name stems. Otherwise pairs the only input and
/// output with a unique shape, if there is another input.
fn found(inputs: &[Port], outputs: &[Port]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for input in inputs {
        let says = stem(&input.name);
        let fits = |port: &Port| port.shape == input.shape && stem(&port.name) == says;
        let mut fitting = (0..outputs.len()).filter(|&place| fits(&outputs[place]));
        if let (Some(place), None) = (fitting.next(), fitting.next())
            && pairs.iter().all(|pair| pair.place != place)
        {
            pairs.push(pair(input, outputs, place));
        }
    }
    if !pairs.is_empty() || inputs.len() < 2 {
        return pairs;
    }
    let alone =
        |ports: &[Port], port: &Port| ports.iter().filter(|other| other.shape == port.shape).count() == 1;
    let mut possible = inputs.iter().filter(|input| alone(inputs, input)).filter_map(|input| {
        let place = outputs.iter().position(|output| output.shape == input.shape)?;
        alone(outputs, &outputs[place]).then(|| pair(input, outputs, place))
    });
    match (possible.next(), possible.next()) {
        (Some(pair), None) => vec![pair],
        _ => Vec::new(),
    }
}

/// Words of names that mark the direction of a state, not its identity.
const WAYS: &[&str] = &[
    "in", "out", "input", "output", "past", "present", "prev", "previous", "next", "new", "old", "initial",
    "init", "last", "final", "updated", "n", "0", "y", "values",
];

/// Returns the words of a name that are not in [`WAYS`]: `h` for `hn` and `h0`, `state` for
/// `stateN`.
fn stem(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = None;
    for c in name.chars() {
        let begins = match before {
            Some(before) => kind(before) != kind(c) || c.is_uppercase() && !char::is_uppercase(before),
            None => false,
        };
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    let is_way = |word: &str| word.is_empty() || WAYS.contains(&word);
    let plain: Vec<String> = words.into_iter().filter(|word| !is_way(word)).collect();
    let short = |word: String| match word.as_str() {
        "hn" => "h".to_owned(),
        "cn" => "c".to_owned(),
        _ => word,
    };
    plain.into_iter().map(short).collect()
}

/// Kind of a character: letter, digit or separator.
fn kind(c: char) -> u8 {
    if c.is_alphabetic() { 0 } else { 1 + u8::from(c.is_numeric()) }
}

fn refused(reason: String, inputs: &[Port], outputs: &[Port]) -> Error {
    let listed = |ports: &[Port]| {
        let shown = ports.iter().map(|port| format!("`{}` {:?}", port.name, port.shape));
        shown.collect::<Vec<_>>().join(", ")
    };
    Error::State { reason, inputs: listed(inputs), outputs: listed(outputs) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn ports(ports: &[(&str, &[usize])]) -> Vec<Port> {
        let port = |&(name, shape): &(&str, &[usize])| Port {
            name: name.to_owned(),
            shape: shape.to_vec(),
            vectors: None,
            element: None,
        };
        ports.iter().map(port).collect()
    }

    fn pairs(inputs: &[(&str, &[usize])], outputs: &[(&str, &[usize])]) -> Vec<(String, String)> {
        let found = found(&ports(inputs), &ports(outputs));
        found.into_iter().map(|pair| (pair.input, pair.output)).collect()
    }

    #[test]
    fn names_and_shapes_tell_which_output_feeds_which_input() {
        let (wide, state) = (&[1, 512][..], &[2, 1, 128][..]);
        for (input, output) in [
            ("state", "stateN"),
            ("h0", "hn"),
            ("h", "hn"),
            ("initial_h", "Y_h"),
            ("past_key_values.1.key", "present.1.key"),
            ("cache_in", "cache_out"),
            ("lstm1_state", "lstm1_state_next"),
        ] {
            let found = pairs(&[("input", wide), (input, state)], &[("output", &[1, 1]), (output, state)]);
            assert_eq!(found, [(input.to_owned(), output.to_owned())]);
        }
        let both = pairs(&[("x", wide), ("h", state), ("c", state)], &[("hn", state), ("cn", state)]);
        assert_eq!(both, [("h".to_owned(), "hn".to_owned()), ("c".to_owned(), "cn".to_owned())]);
    }

    #[test]
    fn a_shape_of_its_own_tells_too_and_others_do_not() {
        let (wide, state) = (&[1, 512][..], &[2, 1, 128][..]);
        let alone = pairs(&[("x", wide), ("memory", state)], &[("p", &[1, 1]), ("carry", state)]);
        assert_eq!(alone, [("memory".to_owned(), "carry".to_owned())]);
        assert_eq!(pairs(&[("x", wide), ("a", state), ("b", state)], &[("p", state), ("q", state)]), []);
        // The only input is not a state.
        assert_eq!(pairs(&[("x", wide)], &[("p", wide)]), []);
    }

    #[test]
    fn pairs_that_cannot_be_are_refused() {
        let (inputs, outputs) = (ports(&[("x", &[1]), ("s", &[2])]), ports(&[("y", &[1]), ("t", &[2])]));
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|&(input, output)| (input.to_owned(), output.to_owned())).collect();
            States::of(&Stateful { enabled: true, pairs }, &inputs, &outputs)
        };
        assert!(of(&[("s", "t")]).unwrap().unwrap().feeds("s"));
        assert!(of(&[("s", "y")]).unwrap_err().to_string().contains("[2], but `y` has [1]"));
        assert!(of(&[("s", "z")]).unwrap_err().to_string().contains("does not name an input and an output"));
        assert_eq!(States::of(&Stateful::default(), &inputs, &outputs).unwrap(), None);
    }
}
