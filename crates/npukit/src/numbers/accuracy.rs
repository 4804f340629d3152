//! Accuracy on labeled samples: compares [`Labels`] with the classes of an output, for `--labels`.

use std::collections::BTreeMap;

use npukit_numeric::Tensor;
use npukit_numeric::npy::{read_npy, read_npz};
use npukit_target::Reader;
use serde::Serialize;

use crate::error::{Error, text_of};
use crate::inputs::InputFile;
use crate::numbers::classes::{class_axis, may_be_positions, positions, score_axis};
use crate::run::stack::Stack;
use crate::targets::has_extension;

/// Options of an accuracy measurement.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// File of labels: `.npy`, `.npz` or a text file with one per line, for the output of its name
    /// or the only one.
    pub labels: InputFile,
    /// Number of largest scores among which the label is searched, in addition to 1 and 5.
    pub top: usize,
    /// Minimum share of correct labels for success, 0 to 1; `None` for no minimum.
    pub minimum: Option<f64>,
    /// Number of worst samples to list.
    pub worst: usize,
}

impl Options {
    /// Measures accuracy with the labels of a file, and default options.
    pub fn new(labels: InputFile) -> Self {
        Self { labels, top: TOP, minimum: None, worst: WORST }
    }
}

/// Default of `top`.
pub const TOP: usize = 5;
/// Default of `worst`, so that the list fits a screen.
pub const WORST: usize = 5;

/// Accuracy of an output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Name of the output.
    pub output: String,
    /// Number of labels: one per sample, or one per position of it.
    pub labels: usize,
    /// Number of classes of the output.
    pub classes: usize,
    /// Share of labels with the largest score, 0 to 1. Of equal scores, the first one is treated as
    /// the largest.
    pub top1: f64,
    /// Share of labels among the five largest scores, 0 to 1; 1 if there are at most five classes.
    pub top5: f64,
    /// Requested number of scores.
    pub top: usize,
    /// Share of labels among the `top` largest scores, 0 to 1.
    pub top_share: f64,
    /// Accuracy of the float reference, for a model on a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub float: Option<FloatAccuracy>,
    /// Predictions for each label, including the correct ones.
    pub confusion: Vec<Confusion>,
    /// Samples whose label's score is furthest below the largest other score, worst first.
    pub worst: Vec<Worst>,
}

/// Accuracy of the float reference, compared with the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FloatAccuracy {
    /// Share of labels with the largest score in float, 0 to 1.
    pub top1: f64,
    /// Share of labels among the five largest scores in float, 0 to 1.
    pub top5: f64,
    /// Number of labels that only the machine predicted correctly.
    pub only_machine: usize,
    /// Number of labels that only float predicted correctly.
    pub only_float: usize,
}

/// Number of predictions of a class for a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Confusion {
    /// Correct class, from 0.
    pub label: usize,
    /// Class with the largest score; `None` if scores are NaN.
    pub predicted: Option<usize>,
    /// Number of such predictions.
    pub count: usize,
}

/// Label that was predicted wrongly, or with a small margin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Worst {
    /// Index of the sample, from 0.
    pub sample: usize,
    /// Position in the sample, from 0; 0 if there is only one.
    pub position: usize,
    /// Correct class, from 0.
    pub label: usize,
    /// Class with the largest score; `None` if scores are NaN.
    pub predicted: Option<usize>,
    /// Score of the label minus the largest other score; `None` if scores are NaN.
    pub margin: Option<f64>,
}

/// Labels as stored in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Labels {
    path: String,
    output: Option<String>,
    values: Vec<f64>,
    /// Number of samples: size of the array's first axis, or number of lines.
    rows: usize,
}

impl Labels {
    /// Reads a file of labels.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, does not hold exactly one array, or has lines that are not
    /// numbers.
    pub fn read(file: &InputFile, reader: &dyn Reader) -> Result<Self, Error> {
        let InputFile { path, array, .. } = file;
        if let Some(array) = array {
            return Ok(Self::new(file, array));
        }
        let bytes = reader.read(path)?;
        // Standard input is recognized by its content.
        let tensor = if has_extension(path, "npy") || bytes.starts_with(b"\x93NUMPY") {
            read_npy(path, &bytes)?
        } else if has_extension(path, "npz") || bytes.starts_with(b"PK\x03\x04") {
            only_array(path, &bytes)?
        } else {
            let values = lines(path, &bytes)?;
            let rows = values.len();
            return Ok(Self { path: path.clone(), output: file.name.clone(), values, rows });
        };
        Ok(Self::new(file, &tensor))
    }

    fn new(file: &InputFile, array: &Tensor) -> Self {
        let (path, output, values) = (file.path.clone(), file.name.clone(), array.reals());
        let rows = array.shape().first().copied().unwrap_or(1); // Default: a scalar is one label.
        Self { path, output, values, rows }
    }

    /// Keeps the labels of the first `samples`: rows of an array, or lines of a text.
    pub fn first(mut self, samples: Option<usize>) -> Self {
        let Some(samples) = samples.filter(|&samples| samples < self.rows) else { return self };
        self.values.truncate(self.values.len() / self.rows * samples);
        self.rows = samples;
        self
    }

    fn wrong(&self, reason: String) -> Error {
        Error::Labels { path: self.path.clone(), reason }
    }

    /// Finds the output that the labels are for: the named one, or the only one that looks like
    /// classes. Otherwise, the only output of wide integers.
    fn stack<'a>(&self, stacks: &'a [Stack]) -> Result<(&'a Stack, Answers), Error> {
        if let Some(Stack { name, shape, .. }) = stacks.iter().find(|stack| stack.is_rows) {
            return Err(Error::UnknownClasses { output: name.clone(), shape: shape.clone() });
        }
        let names = || stacks.iter().map(|stack| format!("`{}`", stack.name)).collect::<Vec<_>>().join(", ");
        if let Some(name) = &self.output {
            let stack = stacks.iter().find(|stack| stack.name == *name);
            let stack = stack
                .ok_or_else(|| self.wrong(format!("unknown output `{name}`; the outputs are {}", names())))?;
            let answers = self.wide(stack).or_else(|| score_axis(stack).map(Answers::Scores));
            let answers = answers.ok_or_else(|| {
                self.wrong(format!("output `{name}` of shape {:?} does not look like classes", stack.shape))
            })?;
            return Ok((stack, answers));
        }
        let scores = stacks.iter().filter_map(|stack| Some((stack, Answers::Scores(class_axis(stack)?))));
        let mut classes: Vec<_> = scores.collect();
        if classes.is_empty() {
            classes = stacks.iter().filter_map(|stack| Some((stack, self.wide(stack)?))).collect();
        }
        match classes[..] {
            [found] => Ok(found),
            [] => Err(self.wrong(format!("no output looks like classes; the outputs are {}", names()))),
            _ => Err(self.wrong(format!(
                "several outputs look like classes; give NAME=FILE with one of the names {}",
                names()
            ))),
        }
    }

    /// Interprets an output of wide integers: as classes if their number equals the number of
    /// labels, otherwise as scores.
    fn wide(&self, stack: &Stack) -> Option<Answers> {
        let elements: usize = stack.samples.iter().map(|sample| sample.data().len()).sum();
        match may_be_positions(stack) {
            true if elements == self.values.len() => Some(Answers::Classes),
            true => score_axis(stack).map(Answers::Scores),
            false => None,
        }
    }

    /// Returns a label for each of `count` positions, below `classes`.
    fn classes(&self, count: usize, classes: usize) -> Result<Vec<usize>, Error> {
        let values = &self.values;
        let label = |(place, &value): (usize, &f64)| {
            let is_class = value.fract() == 0.0 && value >= 0.0 && value < classes as f64;
            is_class.then_some(value as usize).ok_or_else(|| {
                self.wrong(format!(
                    "label {place} is {value}; classes are integers from 0 to {}",
                    classes - 1
                ))
            })
        };
        if values.len() == count {
            return values.iter().enumerate().map(label).collect();
        }
        let one_hot = |row: &[f64]| {
            let place = row.iter().position(|value| *value == 1.0)?;
            row.iter().enumerate().all(|(i, value)| i == place || *value == 0.0).then_some(place)
        };
        let rows: Option<Vec<usize>> = if values.len() == count * classes {
            values.chunks(classes).map(one_hot).collect()
        } else {
            None
        };
        rows.ok_or_else(|| {
            let found = values.len();
            self.wrong(format!(
                "{found} labels for {count} results of {classes} classes; give one label per result, or one-hot rows"
            ))
        })
    }

    /// Measures the accuracy of `ours`, and of `float` for comparison.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Labels`] if labels and outputs do not fit.
    pub fn judge(&self, options: &Options, ours: &[Stack], float: Option<&[Stack]>) -> Result<Report, Error> {
        let (stack, answers) = self.stack(ours)?;
        let Answers::Scores(axis) = answers else { return self.judge_classes(options, stack, float) };
        let scores = Scores::of(stack, axis);
        let labels = self.classes(scores.rows.len(), scores.classes)?;
        if labels.is_empty() {
            return Err(self.wrong("it contains no labels".to_owned()));
        }
        let ranks = scores.ranks(&labels);
        let float = float.and_then(|float| float.iter().find(|other| other.name == stack.name));
        let theirs = float.map(|other| Scores::of(other, axis).ranks(&labels));
        Ok(Report {
            output: stack.name.clone(),
            labels: labels.len(),
            classes: scores.classes,
            top1: share(&ranks, 1),
            top5: share(&ranks, 5),
            top: options.top,
            top_share: share(&ranks, options.top),
            float: theirs.map(|theirs| FloatAccuracy::new(&ranks, &theirs)),
            confusion: scores.confusion(&labels),
            worst: scores.worst(&labels, options.worst),
        })
    }
}

/// Meaning of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    /// Scores of classes along this axis.
    Scores(usize),
    /// Classes, as returned by ArgMax.
    Classes,
}

impl Labels {
    /// Like [`Self::judge`], for an output that holds the classes themselves: top-5 equals top-1.
    fn judge_classes(
        &self,
        options: &Options,
        stack: &Stack,
        float: Option<&[Stack]>,
    ) -> Result<Report, Error> {
        let labels = self.classes(self.values.len(), usize::MAX)?;
        if labels.is_empty() {
            return Err(self.wrong("it contains no labels".to_owned()));
        }
        let found = predictions(stack);
        let ranks = hits(&found, &labels);
        let float = float.and_then(|float| float.iter().find(|other| other.name == stack.name));
        let theirs = float.map(|other| hits(&predictions(other), &labels));
        let positions = labels.len() / stack.samples.len().max(1);
        let all = labels.iter().chain(found.iter().flatten());
        let top1 = share(&ranks, 1);
        let wrong = |(place, (&label, &predicted)): (usize, (&usize, &Option<usize>))| {
            let (sample, position) = (place / positions, place % positions);
            (predicted != Some(label)).then_some(Worst { sample, position, label, predicted, margin: None })
        };
        let pairs = || labels.iter().zip(&found);
        Ok(Report {
            output: stack.name.clone(),
            labels: labels.len(),
            classes: all.max().map_or(0, |largest| largest.saturating_add(1)),
            top1,
            top5: top1,
            top: options.top,
            top_share: top1,
            float: theirs.map(|theirs| FloatAccuracy::new(&ranks, &theirs)),
            confusion: confusion(pairs().map(|(&label, &predicted)| (label, predicted))),
            worst: pairs().enumerate().filter_map(wrong).take(options.worst).collect(),
        })
    }
}

/// Returns the classes in an output; `None` for an element that is not a class.
fn predictions(stack: &Stack) -> Vec<Option<usize>> {
    let class = |value: f64| (value >= 0.0).then_some(value as usize);
    stack.samples.iter().flat_map(Tensor::reals).map(class).collect()
}

/// Returns rank 0 for every correct label, and `None` for the others.
fn hits(found: &[Option<usize>], labels: &[usize]) -> Vec<Option<usize>> {
    found.iter().zip(labels).map(|(found, label)| (*found == Some(*label)).then_some(0)).collect()
}

/// Counts the predictions of each class for each label.
fn confusion(pairs: impl Iterator<Item = (usize, Option<usize>)>) -> Vec<Confusion> {
    let mut counts = BTreeMap::new();
    pairs.for_each(|pair| *counts.entry(pair).or_insert(0) += 1);
    let one = |((label, predicted), count)| Confusion { label, predicted, count };
    counts.into_iter().map(one).collect()
}

impl FloatAccuracy {
    fn new(ours: &[Option<usize>], theirs: &[Option<usize>]) -> Self {
        let only = |a: &[Option<usize>], b: &[Option<usize>]| {
            a.iter().zip(b).filter(|(a, b)| **a == Some(0) && **b != Some(0)).count()
        };
        Self {
            top1: share(theirs, 1),
            top5: share(theirs, 5),
            only_machine: only(ours, theirs),
            only_float: only(theirs, ours),
        }
    }
}

impl Report {
    /// Returns the reason why the accuracy is below the minimum, if it is.
    pub(crate) fn failure(&self, minimum: Option<f64>) -> Option<String> {
        let minimum = minimum.filter(|minimum| self.top1 < *minimum)?;
        let (found, least) = (self.top1 * 100.0, minimum * 100.0);
        Some(format!("an accuracy of {found:.2} % is below the {least:.2} % of --min-accuracy"))
    }
}

/// Scores of an output at each position of each sample.
struct Scores {
    rows: Vec<Vec<f64>>,
    /// Number of positions per sample.
    positions: usize,
    classes: usize,
}

impl Scores {
    fn of(stack: &Stack, axis: usize) -> Self {
        let rows: Vec<_> = stack.samples.iter().flat_map(|sample| positions(sample, axis)).collect();
        let positions = rows.len() / stack.samples.len().max(1);
        Self { rows, positions, classes: stack.shape[axis] }
    }

    /// Returns the number of scores above the score of each label; `None` if one is NaN.
    fn ranks(&self, labels: &[usize]) -> Vec<Option<usize>> {
        self.rows.iter().zip(labels).map(|(row, &label)| rank(row, label)).collect()
    }

    fn confusion(&self, labels: &[usize]) -> Vec<Confusion> {
        confusion(self.rows.iter().zip(labels).map(|(row, &label)| (label, predicted(row))))
    }

    fn worst(&self, labels: &[usize], count: usize) -> Vec<Worst> {
        let worst = |(place, (row, &label)): (usize, (&Vec<f64>, &usize))| Worst {
            sample: place / self.positions,
            position: place % self.positions,
            label,
            predicted: predicted(row),
            margin: margin(row, label),
        };
        let mut all: Vec<Worst> = self.rows.iter().zip(labels).enumerate().map(worst).collect();
        // Samples with NaN scores are the worst.
        let key = |worst: &Worst| worst.margin.map_or(f64::NEG_INFINITY, |margin| margin);
        all.sort_by(|a, b| key(a).total_cmp(&key(b)));
        all.truncate(count);
        all
    }
}

/// Returns the number of scores before that of `label`: larger ones, and equal ones before it.
/// `None` if one is NaN.
fn rank(row: &[f64], label: usize) -> Option<usize> {
    let own = *row.get(label)?;
    let before = |(class, score): &(usize, &f64)| **score > own || (**score == own && *class < label);
    row.iter().all(|score| !score.is_nan()).then(|| row.iter().enumerate().filter(before).count())
}

fn predicted(row: &[f64]) -> Option<usize> {
    (0..row.len()).find(|&class| rank(row, class) == Some(0))
}

/// Returns the score of `label` minus the largest other score.
fn margin(row: &[f64], label: usize) -> Option<f64> {
    let own = *row.get(label)?;
    let others = row.iter().enumerate().filter(|(class, _)| *class != label).map(|(_, score)| *score);
    let margin = own - others.reduce(f64::max)?;
    (row.iter().all(|score| !score.is_nan()) && !margin.is_nan()).then_some(margin)
}

/// Returns the share of labels among the `top` largest scores.
fn share(ranks: &[Option<usize>], top: usize) -> f64 {
    ranks.iter().filter(|rank| rank.is_some_and(|rank| rank < top)).count() as f64 / ranks.len() as f64
}

fn only_array(path: &str, bytes: &[u8]) -> Result<Tensor, Error> {
    let arrays: Vec<(String, Tensor)> = read_npz(path, bytes)?;
    match &arrays[..] {
        [(_, tensor)] => Ok(tensor.clone()),
        _ => {
            let names = arrays.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let reason = format!("it holds {} arrays ({names}); give one", arrays.len());
            Err(Error::Labels { path: path.to_owned(), reason })
        }
    }
}

/// Reads one label per line; empty lines are skipped.
fn lines(path: &str, bytes: &[u8]) -> Result<Vec<f64>, Error> {
    let wrong = |reason| Error::Labels { path: path.to_owned(), reason };
    let lines = text_of(path, bytes)?.trim_start_matches('\u{feff}').lines().enumerate();
    let lines = lines.map(|(place, line)| (place + 1, line.trim())).filter(|(_, line)| !line.is_empty());
    let label = |(place, line): (usize, &str)| {
        line.parse().map_err(|_| wrong(format!("line {place}, `{line}`, is not a number")))
    };
    lines.map(label).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use npukit_numeric::npy::{NpyArray, write_npy};

    fn stack(name: &str, rows: &[[f32; 3]]) -> Stack {
        let tensor = |row: &[f32; 3]| Tensor::from_f32(vec![1, 3], row.to_vec()).unwrap();
        let samples = rows.iter().map(tensor).collect();
        Stack { name: name.into(), shape: vec![1, 3], samples, ..Stack::default() }
    }

    #[test]
    fn labels_without_a_name_are_known_by_their_content() {
        let array = Tensor::from_f32(vec![2], vec![7.0, 3.0]).unwrap();
        for bytes in [write_npy(NpyArray::from(&array)), b"7\n3\n".to_vec()] {
            let reader = BTreeMap::from([("-".to_owned(), bytes)]);
            let found = Labels::read(&InputFile::parse("-"), &reader).unwrap();
            assert_eq!(found.values, [7.0, 3.0]);
        }
    }

    fn labels(values: &[f64]) -> Labels {
        Labels { path: "y.npy".to_owned(), output: None, values: values.to_vec(), rows: values.len() }
    }

    fn options(top: usize) -> Options {
        Options { top, ..Options::new(InputFile::parse("y.npy")) }
    }

    #[test]
    fn labels_are_found_by_rank() {
        let ours = stack("y", &[[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 1.0, f32::NAN]]);
        let report = labels(&[0.0, 1.0, 2.0, 0.0]).judge(&options(2), &[ours], None).unwrap();
        assert_eq!((report.top1, report.top_share, report.top5), (0.25, 0.5, 0.75));
        let confused: Vec<_> = report.confusion.iter().map(|c| (c.label, c.predicted, c.count)).collect();
        assert_eq!(confused, [(0, None, 1), (0, Some(0), 1), (1, Some(0), 1), (2, Some(0), 1)]);
        let worst: Vec<_> = report.worst.iter().map(|worst| (worst.sample, worst.margin)).collect();
        assert_eq!(worst, [(3, None), (2, Some(-2.0)), (1, Some(-1.0)), (0, Some(1.0))]);
        assert_eq!(report.failure(Some(0.25)), None);
        assert!(report.failure(Some(0.26)).unwrap().contains("25.00 % is below the 26.00 %"));
    }

    #[test]
    fn of_equal_scores_the_first_is_the_largest() {
        let report = labels(&[0.0, 1.0]).judge(&options(5), &[stack("y", &[[1.0; 3]; 2])], None).unwrap();
        assert_eq!(report.top1, 0.5);
    }

    #[test]
    fn float_stands_beside() {
        let ours = stack("y", &[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]);
        let float = stack("y", &[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]);
        let report = labels(&[0.0, 1.0]).judge(&options(5), &[ours], Some(&[float])).unwrap();
        let beside = report.float.unwrap();
        assert_eq!((report.top1, beside.top1, beside.only_machine, beside.only_float), (0.5, 0.0, 1, 0));
    }

    #[test]
    fn one_hot_rows_are_labels() {
        let ours = stack("y", &[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]);
        let one_hot = labels(&[0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(one_hot.judge(&options(5), &[ours], None).unwrap().top1, 0.5);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let two = || [stack("y", &[[0.0; 3]; 2])];
        let text = |values: &[f64]| labels(values).judge(&options(5), &two(), None).unwrap_err().to_string();
        assert!(text(&[0.0]).contains("1 labels for 2 results of 3 classes"), "{}", text(&[0.0]));
        assert!(text(&[0.0, 3.0]).contains("label 1 is 3; classes are integers from 0 to 2"));
        assert!(text(&[-1.0, 0.0]).contains("label 0 is -1"));
        let several = [stack("y", &[[0.0; 3]]), stack("z", &[[0.0; 3]])];
        let error = labels(&[0.0]).judge(&options(5), &several, None).unwrap_err().to_string();
        assert!(error.contains("several outputs look like classes"), "{error}");
        let named = Labels { output: Some("q".to_owned()), ..labels(&[0.0]) };
        assert!(
            named.judge(&options(5), &several, None).unwrap_err().to_string().contains("unknown output `q`")
        );
        assert!(lines("y.txt", b"1\n\nx\n").unwrap_err().to_string().contains("line 3, `x`"));
        assert_eq!(lines("y.txt", b"\xef\xbb\xbf1\r\n2\n").unwrap(), [1.0, 2.0]);
    }
}
