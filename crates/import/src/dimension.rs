//! [`OpenInput`]: an input as far as its shape is known.

/// A dimension of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its size; none when it is open.
    pub size: Option<usize>,
    /// The name that the model gives it in place of a size.
    pub name: Option<String>,
}

/// An input as far as its shape is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInput {
    /// Name of the input.
    pub name: String,
    /// Its dimensions, outermost first; none when their number is not stated.
    pub dimensions: Option<Vec<Dimension>>,
}

impl OpenInput {
    /// Axes that are open, with their names.
    pub fn open(&self) -> impl Iterator<Item = (usize, Option<&str>)> {
        let open = self.known().iter().enumerate().filter(|(_, dimension)| dimension.size.is_none());
        open.map(|(axis, dimension)| (axis, dimension.name.as_deref()))
    }

    /// Whether sizes of it, or how many it has, are not known.
    pub fn is_open(&self) -> bool {
        self.dimensions.is_none() || self.open().next().is_some()
    }

    /// Its dimensions as far as they are known.
    pub(crate) fn known(&self) -> &[Dimension] {
        // Default: of a shape that is open altogether, no dimension is known.
        self.dimensions.as_deref().unwrap_or_default()
    }

    /// The sizes of a shape that is known.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.known().iter().filter_map(|dimension| dimension.size).collect()
    }
}

impl Dimension {
    /// One of a size.
    pub(crate) fn sized(size: usize) -> Self {
        Self { size: Some(size), name: None }
    }

    /// One without a size. What exporters write for want of a name is none.
    pub(crate) fn open(name: Option<&str>) -> Self {
        let name = name.map(str::trim).filter(|name| !matches!(*name, "" | "?"));
        Self { size: None, name: name.map(str::to_owned) }
    }
}

/// Every open dimension: its axis, its name if it has one, and whose it is; and every input of unknown axes.
pub fn open_dimensions(inputs: &[OpenInput]) -> String {
    let one = |input: &OpenInput, axis: usize, name: Option<&str>| {
        let named = name.map_or_else(String::new, |name| format!(" ({name:?})"));
        format!("axis {axis}{named} of {:?}", input.name)
    };
    let of = |input: &OpenInput| match input.dimensions {
        Some(_) => input.open().map(|(axis, name)| one(input, axis, name)).collect(),
        None => vec![format!("all axes of {:?}, whose number the model does not say", input.name)],
    };
    inputs.iter().flat_map(of).collect::<Vec<_>>().join(", ")
}
