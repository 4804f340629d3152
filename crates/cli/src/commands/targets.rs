//! `npu targets`

use npukit::verbs::list::list;

use crate::answer::Answer;
use crate::table::{Column, table};

pub fn run() -> Answer {
    let targets = list();
    let mut text = String::new();
    for target in &targets {
        text += &format!("{}: {}\n\n", target.name, target.summary);
        let rows = target
            .presets
            .iter()
            .map(|preset| vec![format!("{}:{}", target.name, preset.name), preset.summary.clone()]);
        text += &table(&[Column::Left("--target"), Column::Left("instance")], rows);
    }
    Answer::new(text, &targets)
}
