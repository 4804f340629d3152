//! Parts of reports that several commands print.

use std::collections::{BTreeMap, HashMap};

use npukit::cost_model_name;
use npukit::report::{
    Comparison, Coverage, HostStepReport, LayerTime, Roofline, Saturation, Speed, UnderflowReport,
};

use crate::color::Mark;
use crate::printable::line;
use crate::table::{Cell, Column, Row, View, counted, percent, table, thousands, viewed};
use crate::text::remarks;
use crate::verbosity::is_verbose;

/// Columns of the table of layers.
pub const LAYERS: [Column<'_>; 9] = [
    Column::left("layer"),
    Column::right("instructions").adds().minor(3),
    Column::right("cycles").adds().leads(),
    Column::right("share").shares(),
    Column::right("first cycle").minor(4),
    Column::right("last cycle").minor(4),
    Column::right("MACs").adds().minor(2),
    Column::right("utilization").alias("utilization"),
    Column::right("vs roofline").alias("above its bound"),
];

/// Formats the cycles by layer; empty if no layers are known.
pub fn layers(layers: &[LayerTime], view: &View) -> String {
    if layers.is_empty() {
        return String::new();
    }
    let layers: Vec<LayerTime> = layers.chunk_by(is_same).map(joined).collect();
    let most = layers.iter().map(|layer| layer.cycles).max();
    // Default: the cells are empty if instructions are not counted by layer.
    let is_counted = layers.iter().any(|layer| layer.instructions > 0);
    let count = |layer: &LayerTime| is_counted.then(|| Cell::count(layer.instructions as u64));
    let row = |layer: &LayerTime| {
        let cells = vec![
            layer.name.as_str().into(),
            count(layer).unwrap_or_default(),
            Cell::count(layer.cycles),
            Cell::share(layer.share),
            // Default: the cell is empty if the cycle is unknown.
            layer.first_cycle.map(Cell::count).unwrap_or_default(),
            layer.last_cycle.map(Cell::count).unwrap_or_default(),
            Cell::count(layer.macs_computed),
            Cell::share(layer.utilization),
            Cell { text: versus(&layer.roofline), figure: layer.roofline.distance },
        ];
        Row::new(cells, bottleneck(layer.cycles, most))
    };
    format!("\n{}", viewed(&LAYERS, layers.iter().map(row), view))
}

/// Whether two steps of a program are of the same layer.
fn is_same(one: &LayerTime, next: &LayerTime) -> bool {
    !one.name.is_empty() && one.name == next.name
}

/// Returns successive steps of a layer as one, from the first cycle to the last.
fn joined(steps: &[LayerTime]) -> LayerTime {
    let [first, _, ..] = steps else { return steps.first().cloned().unwrap_or_default() };
    let total = |of: fn(&LayerTime) -> u64| steps.iter().map(of).sum();
    let mut layer = LayerTime {
        instructions: steps.iter().map(|step| step.instructions).sum(),
        cycles: total(|step| step.cycles),
        share: steps.iter().map(|step| step.share).sum(),
        first_cycle: steps.iter().filter_map(|step| step.first_cycle).min(),
        last_cycle: steps.iter().filter_map(|step| step.last_cycle).max(),
        macs: total(|step| step.macs),
        macs_computed: total(|step| step.macs_computed),
        ..first.clone()
    };
    let span = layer.span_cycles();
    let busy: f64 = steps.iter().map(|step| step.utilization * step.span_cycles() as f64).sum();
    layer.utilization = if span > 0 { busy / span as f64 } else { 0.0 };
    layer.roofline =
        Roofline::new(total(|step| step.roofline.compute), total(|step| step.roofline.memory), span);
    layer
}

/// Returns the mark of the largest value, if it is above 0.
pub fn bottleneck(much: u64, most: Option<u64>) -> Option<Mark> {
    (much > 0 && most == Some(much)).then_some(Mark::Bottleneck)
}

/// Formats the cycles as a multiple of the roofline's, and which side of it limits.
fn versus(roofline: &Roofline) -> String {
    match roofline.distance {
        Some(distance) => format!("{distance:.2} x {}", roofline.bound.name()),
        None => "no bound".to_owned(),
    }
}

/// Formats the cycles by the cost model of a target that leads its reports, called `leading`;
/// verbose reports show all cost models.
pub fn cycles(target: &str, cycles: &BTreeMap<String, u64>, leading: &str) -> String {
    let named = cycles.iter().map(|(model, cycles)| (cost_model_name(target, model), *cycles));
    let (first, others): (Vec<_>, Vec<_>) = named.partition(|(name, _)| name == leading);
    let others = others.into_iter().filter(|_| is_verbose());
    let one = |(name, cycles)| format!("{} ({name})", thousands(cycles));
    first.into_iter().chain(others).map(one).collect::<Vec<_>>().join(", ")
}

/// Formats the time of a run at a clock, and samples or runs per second. If steps run on the host,
/// these are at most the figures of the accelerator alone.
pub fn latency(speed: &Speed, host_steps: usize) -> String {
    let Speed { latency_ms: Some(ms), clock_mhz: Some(mhz), frames_per_second, batch, segment_of, .. } =
        speed
    else {
        return "unknown: the instance has no clock frequency; append `,clock_mhz=MHZ` to the target"
            .to_owned();
    };
    let time = milliseconds(*ms);
    let (most, alone) = match (segment_of, host_steps as u64) {
        (Some(whole), _) => {
            ("at most ", format!(" (a segment of {whole} alone; other segments and host steps not counted)"))
        }
        (None, 0) => ("", String::new()),
        (None, steps) => {
            let steps = counted(steps, "host step");
            let alone =
                format!(" (accelerator alone; {steps} not counted: not comparable with other targets)");
            ("at most ", alone)
        }
    };
    let rate = frames_per_second.map_or_else(String::new, |rate| format!(", {most}{}", rated(rate, *batch)));
    format!("{time}{rate} at {mhz} MHz{alone}")
}

/// Formats samples per second, or runs per second if the batch is unknown.
pub fn rated(rate: f64, batch: Option<usize>) -> String {
    let of = match batch {
        Some(1) => "frames/s".to_owned(),
        Some(batch) => format!("frames/s for a batch of {batch}"),
        None => "runs/s".to_owned(),
    };
    format!("{} {of}", frames(rate))
}

/// Formats notes on the times of [`latency`], if they are known: they are calculated, and the
/// source of the clock frequency.
pub fn calculated(speed: &Speed) -> String {
    let note = speed.latency_ms.map(|_| CALCULATED.to_owned());
    remarks(note.as_slice(), &[]) + &clock_source(speed)
}

/// Note on times that come from a cost model.
const CALCULATED: &str = "times are calculated, not measured: no board has run this program";

/// Formats the source of the clock frequency of [`latency`] as a note, if there is one.
pub fn clock_source(speed: &Speed) -> String {
    let stated = speed.clock_mhz.zip(speed.clock_source.as_ref()).filter(|_| speed.latency_ms.is_some());
    let note = stated.map(|(mhz, source)| format!("clock: {mhz} MHz ({source})"));
    remarks(note.as_slice(), &[])
}

/// Formats a time given in milliseconds; short times in microseconds.
pub fn milliseconds(ms: f64) -> String {
    match ms * 1e3 {
        us if us < 10.0 => format!("{us:.3} µs"),
        us if us < 100.0 => format!("{us:.1} µs"),
        _ => format!("{ms:.3} ms"),
    }
}

/// Formats frames per second, as a whole number if it is large.
pub fn frames(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.2}") } else { thousands(rate.round() as u64) }
}

/// Formats the name of a program, and how much of its model is on the accelerator.
pub fn on_chip(name: &str, found: &Coverage) -> String {
    let segments = match found.segments {
        0 | 1 => String::new(),
        count => format!(", in {}", counted(count as u64, "segment")),
    };
    let share = found
        .macs_on_chip
        .map(|share| format!(", {} of its MACs on the accelerator{segments}", percent(share)));
    name.to_owned() + &share.unwrap_or_default() // Default: omitted if unknown.
}

/// Formats the host's steps, by operator and reason; empty without steps.
pub fn host_steps(steps: &[HostStepReport]) -> String {
    let mut groups: Vec<(&HostStepReport, Vec<String>)> = Vec::new();
    let mut places = HashMap::new();
    for step in steps {
        let place = *places.entry((&step.op, &step.reason)).or_insert_with(|| {
            groups.push((step, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(step.node.clone());
    }
    groups.iter().map(|(step, nodes)| host_group(step, nodes)).collect()
}

/// Formats the nodes that the host computes for the same reason.
fn host_group(step: &HostStepReport, nodes: &[String]) -> String {
    let HostStepReport { node, op, output, reason, .. } = step;
    match nodes {
        [_] => line(&format!("on the host: {node} ({op}) on output {output}: {reason}")),
        nodes => {
            let (count, nodes) = (thousands(nodes.len() as u64), listing(nodes));
            let first = line(&format!("on the host: {op}: {reason}"));
            first + &line(&format!("    {count} nodes: {nodes}"))
        }
    }
}

/// Formats the first names, and the number of further ones.
pub fn listing(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => text,
        more => format!("{text} and {} more", thousands(more as u64)),
    }
}

/// Formats saturated results by layer; empty if nothing saturated.
pub fn saturations(layers: &[Saturation]) -> String {
    if layers.is_empty() {
        return String::new();
    }
    let row = |layer: &Saturation| {
        Row::new(vec![layer.layer.as_str().into(), Cell::count(layer.count)], Some(Mark::Fault))
    };
    let rows = layers.iter().map(row);
    format!("\n{}", table(&[Column::left("saturated in"), Column::right("results")], rows))
}

/// Returns the differences between outputs and float, as facts.
pub fn comparison(found: &Comparison) -> Vec<(&'static str, String)> {
    vec![
        ("largest difference to float", format!("{:.6}", found.max_abs_error)),
        ("relative to the output's range", share_of_range(found)),
        ("RMS difference to float", format!("{:.6}", found.rms_error)),
        ("signal to noise", signal_to_noise(found)),
        ("argmax agrees with float", found.argmax_agree.map_or_else(String::new, percent)),
    ]
}

/// Formats the largest difference as a share of the output's range.
pub fn share_of_range(found: &Comparison) -> String {
    found.relative_error.map_or_else(|| "unknown".to_owned(), |share| format!("{:.3} %", share * 100.0))
}

/// Formats the signal-to-noise ratio of a comparison, if the results are numbers.
pub fn signal_to_noise(found: &Comparison) -> String {
    if found.max_abs_error.is_finite() {
        return decibels(found.signal_to_noise_db);
    }
    "none: results are not numbers".to_owned()
}

/// Formats a signal-to-noise ratio.
pub fn decibels(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "no noise".to_owned(), |decibels| format!("{decibels:.1} dB"))
}

/// Formats tensors that the number format rounds to zero, or nearly; empty without such tensors.
pub fn underflow(report: Option<&UnderflowReport>) -> String {
    let Some(report) = report else { return String::new() };
    let worth = report.inputs.iter().map(|used| (used, "input"));
    let worth = worth.chain(report.layers.iter().map(|used| (used, "results")));
    let worth = worth.chain(report.weights.iter().map(|used| (used, "constant")));
    let rows: Vec<_> = worth
        .filter(|(used, _)| used.is_poor())
        .map(|(used, what)| {
            vec![
                used.name.clone(),
                what.to_owned(),
                thousands(used.elements),
                thousands(used.underflows),
                format!("{} of {}", used.bits_used, report.bits),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        Column::left("vanishes"),
        Column::left("is"),
        Column::right("elements"),
        Column::right("rounded to zero"),
        Column::right("bits used"),
    ];
    format!("\n{}", table(&columns, rows))
}

/// Formats chosen options, such as `strategy local-vars`.
pub fn choices(choices: &BTreeMap<String, String>) -> String {
    choices.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_layer_are_one_row() {
        let step = |name: &str, first: u64, cycles: u64, utilization: f64| LayerTime {
            name: name.to_owned(),
            cycles,
            first_cycle: Some(first),
            last_cycle: Some(first + cycles - 1),
            macs_computed: cycles,
            utilization,
            roofline: Roofline::new(cycles, 0, cycles),
            ..LayerTime::default()
        };
        let idle = LayerTime { name: "conv".to_owned(), ..LayerTime::default() };
        let steps = [idle, step("conv", 0, 30, 1.0), step("conv", 30, 10, 0.5), step("relu", 40, 5, 1.0)];
        let joined: Vec<LayerTime> = steps.chunk_by(is_same).map(joined).collect();
        assert_eq!(joined.len(), 2);
        let [conv, relu] = &joined[..] else { panic!("{joined:?}") };
        assert_eq!((conv.cycles, conv.first_cycle, conv.last_cycle), (40, Some(0), Some(39)));
        assert_eq!((conv.macs_computed, conv.utilization, conv.roofline.distance), (40, 0.875, Some(1.0)));
        assert_eq!(*relu, steps[3]);
        let unnamed = [step("", 0, 1, 1.0), step("", 1, 1, 1.0)];
        assert_eq!(unnamed.chunk_by(is_same).count(), 2);
    }
}
