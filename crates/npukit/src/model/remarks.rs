//! [`Remarks`]: notes and warnings on the model and the instance, reported with a result.

use npukit_import::Remark;
use npukit_target::Instance;

use crate::targets::default_spec;

/// Notes and warnings that accompany a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remarks {
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings about likely mistakes.
    pub warnings: Vec<String>,
}

impl Remarks {
    /// Collects the remarks of a model's import.
    pub fn of_model(remarks: &[Remark]) -> Self {
        let texts = |is_note: bool| {
            let wanted = remarks.iter().filter(move |remark| remark.is_note() == is_note);
            wanted.map(|remark| format!("{remark}: {}", option(remark))).collect()
        };
        Self { notes: texts(true), warnings: texts(false) }
    }

    /// Appends the notes that are not in the list yet.
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self
    }

    /// Adds a note on the instance that a target's name alone stands for.
    pub fn with_default_instance(self, spec: Option<&str>) -> Self {
        let note = |spec: &str| {
            let instance = default_spec(spec)?;
            Some(format!(
                "target `{spec}` names no instance: `{instance}` is used; `npu targets` lists others"
            ))
        };
        self.with_notes(spec.and_then(note).into_iter().collect())
    }

    /// Prepends the remarks of an instance.
    pub fn with_instance(mut self, instance: &dyn Instance) -> Self {
        self.warnings.splice(0..0, instance.info().warnings.clone());
        self
    }
}

/// Returns the advice for a remark: the option that changes the assumption.
fn option(remark: &Remark) -> &'static str {
    match remark {
        Remark::OpenBatch { .. } => "`--batch` sets another size",
        Remark::UnusedBatch { .. } => "`--input-shape` changes a fixed batch",
        Remark::UnusedDimension { .. } => "leave `--dim` or `--input-shape` out",
        Remark::Coordinates { .. } => {
            "give `--resize-mode half-pixel` for what TensorFlow's exporter meant, or `--resize-mode asymmetric`"
        }
        Remark::States { .. } => "`--stateful` passes them from sample to sample",
        Remark::Beginnings { .. } => "export the states as inputs and outputs to pass them on",
        Remark::Signatures { .. } => "to read the other one, save a file that contains only that one",
        _ => "",
    }
}
