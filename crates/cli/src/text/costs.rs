//! Costs beyond the accelerator's cycles in reports: time of the host, and energy.

use npukit::costs::{Energy, EnergyParts, HostTime, TECHNOLOGIES};

use crate::table::{Cell, Column, Row, counted, table, thousands};
use crate::text::layers::{bottleneck, milliseconds, rated};
use crate::text::remarks;
use crate::verbosity::is_verbose;

/// Formats the time of a run with the host's estimated time: the sum, then its parts. The
/// accelerator takes `chip_ms` milliseconds at `mhz` MHz.
pub fn latency_with_host(chip_ms: f64, mhz: f64, batch: Option<usize>, host: &HostTime) -> String {
    let steps = counted(host.steps.len() as u64, "host step");
    let part = |ms: Option<f64>| ms.map_or_else(|| "unknown time".to_owned(), milliseconds);
    // Without bytes, the cycles include all copies.
    let copies = match host.copied_bytes {
        Some(0) => String::new(),
        _ => format!(" + {} for copies", part(host.copies_ms)),
    };
    let (chip, steps_ms) = (milliseconds(chip_ms), part(host.steps_ms));
    let parts = format!("{chip} on the accelerator at {mhz} MHz + {steps_ms} for {steps}{copies}");
    let Some(all) = host.latency_ms else { return parts };
    let rate = host.frames_per_second.map_or_else(String::new, |rate| format!(", {}", rated(rate, batch)));
    format!("{}{rate} = {parts} (host estimated)", milliseconds(all))
}

/// Formats the assumptions of the host's time as a note; empty if it was not requested.
pub fn host_note(host: Option<&HostTime>) -> String {
    let Some(host) = host else { return String::new() };
    let number = |count: Option<u64>| count.map_or_else(|| "an unknown number of".to_owned(), thousands);
    let note = format!(
        "host: an estimate, not a measurement: {} elements at {} ns, and {} bytes at {} MB/s, one after the other",
        number(host.elements),
        host.ns_per_element,
        number(host.copied_bytes),
        host.bytes_per_second / 1e6
    );
    remarks(&[note], &[])
}

/// Units of energy, the largest first.
const UNITS: [(f64, &str); 5] = [(1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"), (1e-12, "pJ")];

/// Returns the unit in which an energy is at least 1.
fn unit(joules: f64) -> (f64, &'static str) {
    UNITS.into_iter().find(|(size, _)| joules >= *size).unwrap_or((1e-12, "pJ"))
}

/// Formats an energy with three digits after the point.
fn in_unit(joules: f64) -> String {
    let (size, name) = unit(joules);
    format!("{:.3} {name}", joules / size)
}

/// Formats the energy of a run and its parts. Without a technology, verbose reports have the
/// option to add; others are silent.
pub fn energy(energy: Option<&Energy>) -> String {
    let Some(energy) = energy else {
        let names: Vec<&str> = TECHNOLOGIES.iter().map(|(name, _)| *name).collect();
        let text = format!(
            "unknown: there is no technology table; add --technology {} or --technology FILE.toml",
            names.join(" or ")
        );
        return if is_verbose() { text } else { String::new() };
    };
    let Some(joules) = energy.total.joules else {
        return format!("unknown: {}", energy.unknown.join("; "));
    };
    let parts = parts(&energy.total).into_iter().filter(|(_, joules)| *joules > Some(0.0));
    let parts = parts.filter_map(|(name, joules)| Some(format!("{name} {}", in_unit(joules?))));
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!("{} per run by {}: {parts}", in_unit(joules), energy.technology)
}

/// Returns multiply-accumulates and memories with their joules.
fn parts(of: &EnergyParts) -> Vec<(&str, Option<f64>)> {
    let memories = of.memories.iter().map(|(name, joules)| (name.as_str(), *joules));
    std::iter::once(("MACs", of.macs)).chain(memories).collect()
}

/// Formats the energy by layer and memory in a verbose report; otherwise empty.
pub fn energy_layers(energy: Option<&Energy>) -> String {
    let Some(energy) = energy.filter(|energy| is_verbose() && !energy.layers.is_empty()) else {
        return String::new();
    };
    let total = energy.total.joules.or(energy.total.macs).unwrap_or(0.0); // Default: any unit, as all is unknown.
    let (size, unit) = unit(total);
    let heading = format!("{unit} of the layer");
    let mut columns = vec![Column::left("layer"), Column::right(&heading)];
    columns.extend(parts(&energy.total).into_iter().map(|(name, _)| Column::right(name)));
    let cell = |joules: Option<f64>| {
        // Default: the cell is empty if the energy is unknown.
        joules.map(|joules| Cell::figure(format!("{:.3}", joules / size), joules)).unwrap_or_default()
    };
    let picojoules = |layer: &EnergyParts| layer.joules.map_or(0, |joules| (joules * 1e12) as u64);
    let most = energy.layers.iter().map(picojoules).max();
    let row = |layer: &EnergyParts| {
        let mut cells = vec![layer.name.as_str().into(), cell(layer.joules)];
        cells.extend(parts(layer).into_iter().map(|(_, joules)| cell(joules)));
        Row::new(cells, bottleneck(picojoules(layer), most))
    };
    format!("\n{}", table(&columns, energy.layers.iter().map(row)))
}

/// Formats the source and the scope of the energy as notes; empty without a technology.
pub fn energy_notes(energy: Option<&Energy>) -> String {
    let Some(energy) = energy else { return String::new() };
    let source = format!("energy: figures of {}", energy.source);
    let notes: Vec<String> = std::iter::once(source).chain(energy.notes.iter().cloned()).collect();
    remarks(&notes, &[])
}
