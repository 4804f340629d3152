//! Parts of reports that several commands print.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use npukit::report::{HostStepReport, LayerTime, Roofline, Saturation};
use npukit::verbs::OutputReport;

use crate::table::{Column, percent, table, thousands};

/// Where the cycles go, by layer; nothing when no layers are known.
pub fn layers(layers: &[LayerTime]) -> String {
    if layers.is_empty() {
        return String::new();
    }
    let row = |layer: &LayerTime| {
        vec![
            layer.name.clone(),
            thousands(layer.instructions as u64),
            thousands(layer.cycles),
            percent(layer.share),
            thousands(layer.macs),
            percent(layer.utilisation),
            above(&layer.roofline),
        ]
    };
    let columns = [
        Column::Left("layer"),
        Column::Right("instructions"),
        Column::Right("cycles"),
        Column::Right("share"),
        Column::Right("MACs"),
        Column::Right("utilisation"),
        Column::Right("above its bound"),
    ];
    format!("\n{}", table(&columns, layers.iter().map(row)))
}

/// How far above the roofline, and which side of it.
pub fn above(roofline: &Roofline) -> String {
    match roofline.distance {
        Some(distance) => format!("{distance:.2} x {}", roofline.bound.name()),
        None => "no bound".to_owned(),
    }
}

/// Cycles by cost model, as facts.
pub fn cycles(cycles: &BTreeMap<String, u64>) -> String {
    let one =
        |(model, cycles): (&String, &u64)| format!("{} ({})", thousands(*cycles), model.replace('_', ", "));
    cycles.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Milliseconds at a clock, as a fact.
pub fn latency(milliseconds: Option<f64>, clock_mhz: Option<f64>, source: Option<&str>) -> String {
    match (milliseconds, clock_mhz) {
        (Some(ms), Some(mhz)) => {
            format!("{ms:.3} ms at {mhz} MHz ({})", source.unwrap_or("source not given"))
        }
        _ => "unknown: no clock is published for this instance".to_owned(),
    }
}

/// What the host has to do; nothing when it has nothing to do.
pub fn host_steps(steps: &[HostStepReport]) -> String {
    let mut text = String::new();
    for step in steps {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "left to the host: {} ({}) on output {}: {}",
            step.node, step.op, step.output, step.reason
        );
    }
    text
}

/// Saturated results by layer; nothing when there are none.
pub fn saturations(layers: &[Saturation]) -> String {
    if layers.is_empty() {
        return String::new();
    }
    let rows = layers.iter().map(|layer| vec![layer.layer.clone(), thousands(layer.count)]);
    format!("\n{}", table(&[Column::Left("saturated in"), Column::Right("results")], rows))
}

/// Outputs and the places of their largest values.
pub fn outputs(outputs: &[OutputReport]) -> String {
    const SHOWN: usize = 20;
    let row = |output: &OutputReport| {
        let mut argmax: Vec<String> = output.argmax.iter().take(SHOWN).map(ToString::to_string).collect();
        if output.argmax.len() > SHOWN {
            argmax.push(format!("... {} more", output.argmax.len() - SHOWN));
        }
        vec![output.name.clone(), format!("{:?}", output.shape), argmax.join(" ")]
    };
    let columns = [Column::Left("output"), Column::Left("shape"), Column::Left("argmax of each sample")];
    table(&columns, outputs.iter().map(row))
}

/// Options chosen, as `strategy local-vars`.
pub fn choices(choices: &BTreeMap<String, String>) -> String {
    choices.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
}
