//! [`Plan`]: the tensors that a model takes from its files, known before a weight is read.

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::language::{Description, Part, Rows, Weight};
use npukit_numeric::RowFormat;

use super::family::{Family, Name};
use super::table::{Place, Table};
use super::{LlmError, listed};
use crate::sidecar_files::ReadRange;

/// Layout of the files of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A folder of a model hub.
    Folder,
    /// A GGUF file.
    Gguf,
}

/// Ends of names of tensors that hold no weights: tables that follow from the configuration.
const NO_WEIGHTS: [&str; 5] =
    ["rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", "rope_freqs.weight", "lm_head.weight"];

/// Begins of names in place of the first word in the table of a family: none, and the begins for a
/// language model within a larger model.
const FIRST_WORDS: [&str; 3] = ["", "model.language_model.", "language_model.model."];

/// Tensors of a model in its files.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) path: String,
    pub(super) description: Description,
    pub(super) family: &'static Family,
    pub(super) layout: Layout,
    pub(super) table: Table,
    /// Parts that must have a bias.
    pub(super) biases: Vec<Part>,
}

/// Tensor of a part: its name without `.weight`, and the part's range of results in it.
struct Source {
    stem: String,
    /// Results of parts before this one in the tensor.
    first: usize,
    /// Results of the part.
    count: usize,
    /// Results of all parts in the tensor.
    all: usize,
    /// Whether the tensor has a matrix for each stream.
    is_stack: bool,
}

impl Plan {
    /// Checks that the files have all tensors of the description, of the right shapes and of
    /// supported types, and no others.
    ///
    /// # Errors
    ///
    /// [`LlmError::Model`], [`LlmError::Missing`], [`LlmError::Shape`], [`LlmError::Elements`] or
    /// [`LlmError::Unused`].
    pub(super) fn check(&self) -> Result<(), LlmError> {
        let invalid = |source| LlmError::Model { path: self.path.clone(), source: Box::new(source) };
        self.description.check().map_err(invalid)?;
        let mut expected = BTreeMap::new();
        for (part, layer) in self.description.parts() {
            expected.extend(self.expected(part, layer));
        }
        let missing: Vec<&String> = expected.keys().filter(|name| self.table.get(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(LlmError::Missing { path: self.path.clone(), names: listed(missing) });
        }
        for (name, place) in &self.table.places {
            let Some(expected) = expected.get(name) else { continue };
            if place.shape != *expected {
                let (found, expected) = (place.shape.clone(), expected.clone());
                return Err(LlmError::Shape {
                    path: place.path.clone(),
                    name: name.clone(),
                    found,
                    expected,
                });
            }
            place.format(name)?;
        }
        let is_unused = |name: &&String| !expected.contains_key(*name) && !self.is_left_out(name);
        let unused: BTreeSet<&String> = self.table.places.keys().filter(is_unused).collect();
        if unused.is_empty() {
            return Ok(());
        }
        Err(LlmError::Unused { path: self.path.clone(), names: listed(unused) })
    }

    /// Whether the computation does not need the tensor called `name`. Names may begin with the
    /// name of the family.
    fn is_left_out(&self, name: &str) -> bool {
        let rest = name.split_once('.').map_or("", |(_, rest)| rest);
        let begins = |begin: &&str| name.starts_with(begin) || rest.starts_with(begin);
        NO_WEIGHTS.iter().any(|end| name.ends_with(end))
            || self.layout == Layout::Folder && self.family.unused.iter().any(begins)
            || self.is_of_shared_keys(name)
    }

    /// Whether a tensor would compute keys or values of a layer that reads another layer's.
    fn is_of_shared_keys(&self, name: &str) -> bool {
        let of = &self.description;
        let mut layers = (0..of.layers.len()).filter(|&layer| !of.has_keys(layer));
        layers.any(|layer| {
            [Part::Key, Part::Value, Part::KeyNorm]
                .into_iter()
                .any(|part| name == self.weight_name(part, &self.source(part, Some(layer)).stem))
        })
    }

    /// Returns the names and shapes of a part's tensors.
    fn expected(&self, part: Part, layer: Option<usize>) -> Vec<(String, Vec<usize>)> {
        let source = self.source(part, layer);
        let columns = part.shape(&self.description)[1];
        let shape = match part {
            _ if part.is_norm() => vec![columns],
            _ if self.is_transposed(part) => vec![columns, source.all],
            _ if source.is_stack => vec![source.all / source.count, source.count, columns],
            _ => vec![source.all, columns],
        };
        let bias = format!("{}.bias", source.stem);
        let has_bias = self.biases.contains(&part) || self.table.get(&bias).is_some();
        let weight = (self.weight_name(part, &source.stem), shape);
        let bias = has_bias.then(|| (bias, vec![source.all]));
        [Some(weight), bias].into_iter().flatten().collect()
    }

    fn names(&self) -> &'static [Name] {
        match self.layout {
            Layout::Folder => self.family.folder_names,
            Layout::Gguf => self.family.gguf_names,
        }
    }

    fn is_transposed(&self, part: Part) -> bool {
        self.layout == Layout::Folder
            && self.family.folder_transposed
            && !part.is_norm()
            && Part::LAYER.contains(&part)
    }

    /// Returns the tensor of a part. A name that the family's table lacks becomes a missing tensor.
    fn source(&self, part: Part, layer: Option<usize>) -> Source {
        let (of, names) = (&self.description, self.names());
        let results = |part: Part| part.shape(of)[usize::from(part.is_norm())];
        let own = names.iter().find(|(own, _)| *own == part);
        let name = own.map_or_else(|| format!("{part:?}"), |(_, name)| (*name).to_owned());
        let shared = || names.iter().filter(|(_, other)| *other == name).map(|(part, _)| *part);
        let count = results(part);
        let first: usize = shared().take_while(|&other| other != part).map(results).sum();
        let all = shared().map(results).sum::<usize>().max(count);
        let stem = layer.map_or_else(|| name.clone(), |layer| name.replace("{}", &layer.to_string()));
        let stem = self.as_in_file(part, stem);
        if let (Some(stream), Some(streams)) = (layer, &of.streams)
            && Part::STREAM.contains(&part)
            && !name.contains("{}")
        {
            return Source {
                stem,
                first: stream * count,
                count,
                all: (streams.count - 1) * count,
                is_stack: true,
            };
        }
        Source { stem, first, count, all, is_stack: false }
    }

    /// Returns the name with another first word, or without one, if the file has its names so.
    fn as_in_file(&self, part: Part, stem: String) -> String {
        let has = |stem: &str| self.table.get(&self.weight_name(part, stem)).is_some();
        match stem.split_once('.') {
            Some((_, rest)) if self.layout == Layout::Folder && !has(&stem) => {
                let mut others = FIRST_WORDS.iter().map(|first| format!("{first}{rest}"));
                others.find(|other| has(other)).unwrap_or(stem)
            }
            _ => stem,
        }
    }

    /// Returns the name of a tensor. The factors of a stream have no end in a folder.
    fn weight_name(&self, part: Part, stem: &str) -> String {
        let has_end = part != Part::ActiveScale || self.layout == Layout::Gguf;
        if has_end { format!("{stem}.weight") } else { stem.to_owned() }
    }

    /// Reads the weights of a part. `fused` holds the tensors of several parts.
    pub(super) fn weight(
        &self,
        part: Part,
        layer: Option<usize>,
        fused: &mut BTreeMap<String, Rows>,
        files: &ReadRange<'_>,
    ) -> Result<Weight, LlmError> {
        let source = self.source(part, layer);
        let name = self.weight_name(part, &source.stem);
        let (shape, place) = (part.shape(&self.description), self.place(&name)?);
        let cut = || self.cut(&name, place, &shape);
        let rows = if part.is_norm() {
            let rows = place.read(&name, files)?;
            if self.layout == Layout::Folder && self.family.folder_gains_lack_1 {
                let gains: Vec<f32> = rows.to_floats().iter().map(|gain| 1.0 + gain).collect();
                Rows::from_floats(rows.shape(), &gains).ok_or_else(cut)?
            } else {
                rows
            }
        } else {
            let whole = match fused.get(&name) {
                Some(whole) => whole.clone(),
                None => self.matrix(part, &name, place, files)?,
            };
            if source.all > source.count {
                fused.insert(name.clone(), whole.clone());
            }
            whole.part(source.first, source.count).ok_or_else(cut)?
        };
        let bias = format!("{}.bias", source.stem);
        let bias = self.table.get(&bias).map(|place| place.read(&bias, files)).transpose()?;
        let bias = bias.map(|rows| rows.to_floats());
        let own = bias.map(|bias| bias[source.first..][..source.count].to_vec());
        Ok(Weight { rows, bias: own })
    }

    /// Returns zeros of the shape and format that [`Self::weight`] reads.
    pub(super) fn zeros(&self, part: Part, layer: Option<usize>) -> Result<Weight, LlmError> {
        let source = self.source(part, layer);
        let (name, bias) = (self.weight_name(part, &source.stem), format!("{}.bias", source.stem));
        let (shape, place) = (part.shape(&self.description), self.place(&name)?);
        let floats = self.is_transposed(part) || part.is_norm();
        let format = if floats { RowFormat::F32 } else { place.format(&name)? };
        let rows = Rows::zeros(format, shape).ok_or_else(|| self.cut(&name, place, &shape))?;
        let has_bias = self.table.get(&bias).is_some();
        Ok(Weight { rows, bias: has_bias.then(|| vec![0.0; source.count]) })
    }

    /// Adds a place without a file for each tensor of the description.
    pub(super) fn add_places(&mut self, format: RowFormat) {
        let names: Vec<_> =
            self.description.parts().flat_map(|(part, layer)| self.expected(part, layer)).collect();
        let path = self.path.clone();
        let places = names.into_iter().map(|(name, shape)| (name, Place::absent(&path, shape, format)));
        self.table.places.extend(places);
    }

    fn matrix(&self, part: Part, name: &str, place: &Place, files: &ReadRange<'_>) -> Result<Rows, LlmError> {
        let rows = place.read(name, files)?;
        if !self.is_transposed(part) {
            return Ok(rows);
        }
        let ([operands, results], floats) = (rows.shape(), rows.to_floats());
        let columns = (0..results).flat_map(|result| floats.iter().skip(result).step_by(results));
        let transposed: Vec<f32> = columns.copied().collect();
        let cut = || self.cut(name, place, &[results, operands]);
        Rows::from_floats([results, operands], &transposed).ok_or_else(cut)
    }

    fn place(&self, name: &str) -> Result<&Place, LlmError> {
        let missing = || LlmError::Missing { path: self.path.clone(), names: name.to_owned() };
        self.table.get(name).ok_or_else(missing)
    }

    fn cut(&self, name: &str, place: &Place, expected: &[usize]) -> LlmError {
        let (path, name, found) = (place.path.clone(), name.to_owned(), place.shape.clone());
        LlmError::Shape { path, name, found, expected: expected.to_vec() }
    }
}
