//! [`HostTime`]: estimated time of the host, from an assumed speed ([`HostRates`]).

use npukit_target::ProgramInfo;
use serde::Serialize;

use crate::run::latency::samples_per_second;

/// Assumed speed of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostRates {
    /// Nanoseconds for each element of a host step's results.
    pub ns_per_element: f64,
    /// Bytes per second of copies between the host and the accelerator's memory.
    pub bytes_per_second: f64,
}

impl HostRates {
    /// Creates the speed of a host. `None` if a number is not finite, the nanoseconds are negative,
    /// or the rate is not positive.
    pub fn new(ns_per_element: f64, bytes_per_second: f64) -> Option<Self> {
        let is_legal = ns_per_element >= 0.0 && bytes_per_second > 0.0;
        let is_finite = ns_per_element.is_finite() && bytes_per_second.is_finite();
        (is_legal && is_finite).then_some(Self { ns_per_element, bytes_per_second })
    }

    /// Parses `5,400e6`: nanoseconds per element, and bytes per second. `None` for another text,
    /// and for numbers that [`HostRates::new`] refuses.
    pub fn parse(text: &str) -> Option<Self> {
        let (ns_per_element, bytes_per_second) = text.split_once(',')?;
        let number = |text: &str| text.trim().parse::<f64>().ok();
        Self::new(number(ns_per_element)?, number(bytes_per_second)?)
    }
}

/// Estimated time of the host in a run. Steps and copies follow the accelerator's work one after
/// the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HostTime {
    /// Assumed nanoseconds per element.
    pub ns_per_element: f64,
    /// Assumed bytes per second of copies.
    pub bytes_per_second: f64,
    /// Time of each host step, in order.
    pub steps: Vec<HostStepTime>,
    /// Number of elements that all steps compute; null if unknown.
    pub elements: Option<u64>,
    /// Milliseconds of all steps; null if unknown.
    pub steps_ms: Option<f64>,
    /// Bytes copied between the host and the accelerator's memory; null if unknown. Copies that the
    /// accelerator's cycles include do not count.
    pub copied_bytes: Option<u64>,
    /// Milliseconds of the copies; null if unknown.
    pub copies_ms: Option<f64>,
    /// Milliseconds of accelerator, steps and copies; null if one of them is unknown.
    pub latency_ms: Option<f64>,
    /// Samples per second, one run after the other; runs per second if the batch is unknown. Null
    /// if the time is unknown.
    pub frames_per_second: Option<f64>,
}

/// Estimated time of a host step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HostStepTime {
    /// Name of the node.
    pub node: String,
    /// Number of elements that it computes; null if unknown.
    pub elements: Option<u64>,
    /// Milliseconds; null if unknown.
    pub milliseconds: Option<f64>,
}

impl HostTime {
    /// Estimates the time of the host in a run of a program, which takes `chip_ms` milliseconds on
    /// the accelerator for `batch` samples.
    pub(crate) fn of(
        rates: HostRates,
        program: &ProgramInfo,
        chip_ms: Option<f64>,
        batch: Option<usize>,
    ) -> Self {
        let HostRates { ns_per_element, bytes_per_second } = rates;
        let milliseconds = |elements: u64| elements as f64 * ns_per_element / 1e6;
        let step = |(place, node): (usize, &String)| {
            let elements = program.host.elements.get(place).copied().flatten();
            HostStepTime { node: node.clone(), elements, milliseconds: elements.map(milliseconds) }
        };
        let nodes = program.report.host_steps.iter().map(|step| &step.node);
        let steps: Vec<HostStepTime> = nodes.enumerate().map(step).collect();
        let elements = steps.iter().map(|step| step.elements).sum::<Option<u64>>();
        let copied_bytes = program.host.copied_bytes;
        let copying = |bytes: u64| bytes as f64 / bytes_per_second * 1e3;
        let (steps_ms, copies_ms) = (elements.map(milliseconds), copied_bytes.map(copying));
        let parts = chip_ms.zip(steps_ms).zip(copies_ms);
        let latency_ms = parts.map(|((chip, steps), copies)| chip + steps + copies);
        Self {
            ns_per_element,
            bytes_per_second,
            steps,
            elements,
            steps_ms,
            copied_bytes,
            copies_ms,
            latency_ms,
            frames_per_second: samples_per_second(latency_ms, batch),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeMap;

    use npukit_target::{HostStepReport, HostWork, ProgramReport};

    use super::*;

    /// Returns the info of a program with these elements of its host steps.
    fn program(elements: &[Option<u64>], copied_bytes: Option<u64>) -> ProgramInfo {
        let step = |place: usize| HostStepReport {
            node: format!("n{place}"),
            op: "Softmax".to_owned(),
            output: "y".to_owned(),
            reason: String::new(),
        };
        let report = ProgramReport {
            name: "p".to_owned(),
            target: "t".to_owned(),
            instructions: 1,
            macs: None,
            memory: BTreeMap::new(),
            host_steps: (0..elements.len()).map(step).collect(),
            layers: Vec::new(),
            choices: BTreeMap::new(),
            saturated_constants: None,
            warnings: Vec::new(),
        };
        let host = HostWork { elements: elements.to_vec(), copied_bytes };
        ProgramInfo { host, ..ProgramInfo::new(report, Vec::new(), Vec::new()) }
    }

    #[test]
    fn rates_are_two_numbers() {
        let rates = HostRates { ns_per_element: 5.0, bytes_per_second: 4e8 };
        assert_eq!(HostRates::parse("5, 400e6"), Some(rates));
        for wrong in ["", "5", "5,", "5,0", "-1,1", "5,-1", "nan,1", "5,inf", "1,2,3", "a,b"] {
            assert_eq!(HostRates::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn steps_and_copies_are_added_to_the_chip() {
        let rates = HostRates::parse("500000,1000").unwrap();
        let found = HostTime::of(rates, &program(&[Some(1), Some(4)], Some(1)), Some(2.0), Some(2));
        let steps: Vec<_> = found.steps.iter().map(|step| (&step.node[..], step.milliseconds)).collect();
        assert_eq!(steps, [("n0", Some(0.5)), ("n1", Some(2.0))]);
        assert_eq!((found.elements, found.steps_ms, found.copies_ms), (Some(5), Some(2.5), Some(1.0)));
        assert_eq!((found.latency_ms, found.frames_per_second), (Some(5.5), Some(2.0 * 1e3 / 5.5)));
    }

    #[test]
    fn what_is_unknown_stays_unknown() {
        let rates = HostRates::parse("5,4e8").unwrap();
        let unknown = HostTime::of(rates, &program(&[Some(1), None], Some(0)), Some(2.0), None);
        assert_eq!((unknown.elements, unknown.latency_ms, unknown.copies_ms), (None, None, Some(0.0)));
        assert_eq!(HostTime::of(rates, &program(&[], None), Some(2.0), None).latency_ms, None);
        assert_eq!(HostTime::of(rates, &program(&[], Some(0)), None, None).latency_ms, None);
    }
}
