//! What a user should know of beside a result: [`Remarks`], of the model and of the instance.

use npukit_import::Remark;
use npukit_target::Instance;

/// What a user should know of beside a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remarks {
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// What may not be as meant.
    pub warnings: Vec<String>,
}

impl Remarks {
    /// Of a model's import.
    pub fn of_model(remarks: &[Remark]) -> Self {
        let texts = |is_note: bool| {
            let wanted = remarks.iter().filter(move |remark| remark.is_note() == is_note);
            wanted.map(|remark| format!("{remark}: {}", option(remark))).collect()
        };
        Self { notes: texts(true), warnings: texts(false) }
    }

    /// These, and notes after them that are not there yet.
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self
    }

    /// These, and those of an instance before them.
    pub fn with_instance(mut self, instance: &dyn Instance) -> Self {
        self.warnings.splice(0..0, instance.info().warnings.clone());
        self
    }
}

/// The option that decides what is remarked.
fn option(remark: &Remark) -> &'static str {
    match remark {
        Remark::OpenBatch { .. } => "`--batch` gives another size",
        Remark::UnusedBatch { .. } => "`--input-shape` gives an input of a fixed batch another one",
        Remark::UnusedDimension { .. } => "leave `--dim` or `--input-shape` out",
        Remark::Coordinates { .. } => {
            "give `--resize half-pixel` for what TensorFlow's exporter meant, or `--resize asymmetric`"
        }
        Remark::States { .. } => "`--stateful` hands them on from sample to sample",
        Remark::Beginnings { .. } => "export states as inputs and outputs to hand them on",
        Remark::Signatures { .. } => "save the file with the other one alone to read that",
        _ => "",
    }
}
