//! [`OpenInput`]: an input whose shape may be partly known.

/// A dimension of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Size, or `None` if it is open.
    pub size: Option<usize>,
    /// Name that the model gives the dimension in place of a size.
    pub name: Option<String>,
}

/// An input whose shape may be partly known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInput {
    /// Name of the input.
    pub name: String,
    /// Dimensions, outermost first. `None` if the model does not state the rank.
    pub dimensions: Option<Vec<Dimension>>,
}

impl OpenInput {
    /// Iterates over the open axes, with their names.
    pub fn open(&self) -> impl Iterator<Item = (usize, Option<&str>)> {
        let open = self.known().iter().enumerate().filter(|(_, dimension)| dimension.size.is_none());
        open.map(|(axis, dimension)| (axis, dimension.name.as_deref()))
    }

    /// Whether the rank or any size is unknown.
    pub fn is_open(&self) -> bool {
        self.dimensions.is_none() || self.open().next().is_some()
    }

    /// Known part of the dimensions.
    pub(crate) fn known(&self) -> &[Dimension] {
        // Default: a shape of unknown rank has no known dimension.
        self.dimensions.as_deref().unwrap_or_default()
    }

    /// Sizes of a shape that is completely known.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.known().iter().filter_map(|dimension| dimension.size).collect()
    }
}

impl Dimension {
    /// Creates a dimension of a known size.
    pub(crate) fn sized(size: usize) -> Self {
        Self { size: Some(size), name: None }
    }

    /// Creates an open dimension. A placeholder that exporters write instead of a name is dropped.
    pub(crate) fn open(name: Option<&str>) -> Self {
        let name = name.map(str::trim).filter(|name| !matches!(*name, "" | "?"));
        Self { size: None, name: name.map(str::to_owned) }
    }
}

/// Describes every open dimension by axis, name (if any) and input, and every input of unknown
/// rank.
pub fn open_dimensions(inputs: &[OpenInput]) -> String {
    let one = |input: &OpenInput, axis: usize, name: Option<&str>| {
        let named = name.map_or_else(String::new, |name| format!(" ({name:?})"));
        format!("axis {axis}{named} of {:?}", input.name)
    };
    let of = |input: &OpenInput| match input.dimensions {
        Some(_) => input.open().map(|(axis, name)| one(input, axis, name)).collect(),
        None => vec![format!("all axes of {:?}, whose rank is unknown", input.name)],
    };
    inputs.iter().flat_map(of).collect::<Vec<_>>().join(", ")
}
