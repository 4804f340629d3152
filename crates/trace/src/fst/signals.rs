//! [`Signals`]: signals of a file by scope, and the signals that each lane drives.

use super::lane::{Column, Lane};
use crate::model::Role;

/// Scope of the whole machine.
pub(super) const PROGRAM: &str = "program";
/// Scope of numbers that belong to no unit.
pub(super) const MEMORIES: &str = "memories";
/// Key of the detail with the index of an instruction in the program.
pub(super) const INSTRUCTION: &str = "instruction";
/// Maximum number of characters of a name.
const LONGEST_NAME: usize = 200;

/// Encoding of a signal's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 0 or 1.
    Bit,
    /// ASCII bytes, most significant first, with this maximum number of characters.
    Text(u32),
    /// Whole number with this number of bits, including a sign bit that is never set, as viewers
    /// treat integers as signed.
    Integer(u32),
    /// A float.
    Real,
}

impl Form {
    /// Encoding of whole numbers up to `most`.
    fn integer(most: u64) -> Self {
        Self::Integer((u64::BITS - most.leading_zeros()).max(1) + 1)
    }

    fn text(longest: u64) -> Self {
        Self::Text(longest.clamp(1, u32::MAX.into()) as u32)
    }

    fn column(column: &Column) -> Self {
        if column.is_text { Self::text(column.most) } else { Self::integer(column.most) }
    }
}

/// Purpose of a signal in a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Signal of the whole machine.
    Program,
    /// Whether a unit works.
    Active,
    /// Work of a unit.
    Operation,
    /// Cause of a unit's wait.
    Waits,
    /// Detail of a unit's work.
    Detail,
    /// Number that is drawn as a curve.
    Curve,
}

/// Signal of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub name: String,
    pub form: Form,
    pub purpose: Purpose,
}

/// Named group of signals.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub name: String,
    /// Signals with their numbers in the file.
    pub signals: Vec<(usize, Signal)>,
}

/// Signals that a lane drives, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wires {
    /// Signal of the slice's name, or of the counter's value.
    pub value: Option<usize>,
    /// Signal that is set during slices.
    pub active: Option<usize>,
    /// Signals of the details, by column.
    pub columns: Vec<usize>,
    /// Column of the program's instruction, and its signal.
    pub issues: Option<(usize, usize)>,
}

/// All signals of a file.
#[derive(Debug, Default)]
pub(super) struct Signals {
    pub scopes: Vec<Scope>,
    /// Signals that each lane drives.
    pub wires: Vec<Wires>,
    /// Encoding of each signal.
    pub forms: Vec<Form>,
    /// Signal with the cycle of the last change, if times are not cycles.
    pub cycle: Option<usize>,
}

impl Signals {
    /// Creates the signals of lanes up to a cycle. With a clock, the cycle is a signal as well.
    pub fn new(lanes: &[Lane], end: u64, has_clock: bool) -> Self {
        let mut signals = Self { wires: vec![Wires::default(); lanes.len()], ..Self::default() };
        signals.program(lanes, end, has_clock);
        for (place, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.role == Role::Unit) {
            signals.unit(lanes, place, lane);
        }
        signals.memories(lanes);
        signals
    }

    fn program(&mut self, lanes: &[Lane], end: u64, has_clock: bool) {
        self.scope(PROGRAM);
        for (place, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.role == Role::Layers) {
            let form = Form::text(lane.longest as u64);
            let layer = self.add("layer", form, Purpose::Program);
            self.wire(place, |wires| wires.value = Some(layer));
        }
        let is_issued = |column: &Column| column.key == INSTRUCTION && !column.is_text;
        let units = lanes.iter().enumerate().filter(|(_, lane)| lane.role == Role::Unit);
        let mut issuing =
            units.filter_map(|(at, lane)| Some((at, lane, lane.columns.iter().position(is_issued)?)));
        if let Some((place, lane, column)) = issuing.next() {
            let form = lane.columns.get(column).map_or(Form::Bit, Form::column);
            let issued = self.add(INSTRUCTION, form, Purpose::Program);
            self.wire(place, |wires| wires.issues = Some((column, issued)));
        }
        self.cycle = has_clock.then(|| self.add("cycle", Form::integer(end), Purpose::Program));
    }

    /// Adds the signals of a unit, its waits and its counters.
    fn unit(&mut self, lanes: &[Lane], place: usize, lane: &Lane) {
        self.scope(&lane.name);
        let operation = self.add("operation", Form::text(lane.longest as u64), Purpose::Operation);
        let active = self.add("active", Form::Bit, Purpose::Active);
        let columns = self.columns("", lane);
        self.wire(place, |wires| {
            (wires.value, wires.active, wires.columns) = (Some(operation), Some(active), columns);
        });
        for (place, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.parent == Some(place)) {
            match lane.role {
                Role::Waits => self.waits(place, lane),
                Role::Counter => self.curve(place, lane, Form::Real),
                Role::Layers | Role::Unit | Role::Program => {}
            }
        }
    }

    fn waits(&mut self, place: usize, lane: &Lane) {
        let value = self.add("waits_for", Form::text(lane.longest as u64), Purpose::Waits);
        let columns = self.columns("wait_", lane);
        self.wire(place, |wires| (wires.value, wires.columns) = (Some(value), columns));
    }

    /// Adds numbers that belong to no unit; whole ones, unless one of them is not.
    fn memories(&mut self, lanes: &[Lane]) {
        let is_unit = |place: usize| lanes.get(place).is_some_and(|lane| lane.role == Role::Unit);
        let free = |lane: &Lane| lane.role == Role::Counter && !lane.parent.is_some_and(is_unit);
        let of_none = lanes.iter().enumerate().filter(|(_, lane)| free(lane));
        for (index, (place, lane)) in of_none.enumerate() {
            if index == 0 {
                self.scopes.push(Scope { name: MEMORIES.to_owned(), signals: Vec::new() });
            }
            let form = if lane.is_whole { Form::integer(lane.most as u64) } else { Form::Real };
            self.curve(place, lane, form);
        }
    }

    fn curve(&mut self, place: usize, lane: &Lane, form: Form) {
        let value = self.add(&lane.name, form, Purpose::Curve);
        self.wire(place, |wires| wires.value = Some(value));
    }

    fn columns(&mut self, prefix: &str, lane: &Lane) -> Vec<usize> {
        let add = |column: &Column| {
            self.add(&format!("{prefix}{}", column.key), Form::column(column), Purpose::Detail)
        };
        lane.columns.iter().map(add).collect()
    }

    /// Changes the signals that a lane drives.
    fn wire(&mut self, place: usize, wire: impl FnOnce(&mut Wires)) {
        self.wires.get_mut(place).map_or((), wire)
    }

    /// Starts a scope for the following signals.
    fn scope(&mut self, name: &str) {
        let is_taken = |name: &str| name == MEMORIES || self.scopes.iter().any(|scope| scope.name == name);
        let name = unique(name, is_taken);
        self.scopes.push(Scope { name, signals: Vec::new() });
    }

    fn add(&mut self, name: &str, form: Form, purpose: Purpose) -> usize {
        let number = self.forms.len();
        self.forms.push(form);
        if let Some(scope) = self.scopes.last_mut() {
            let name = unique(name, |name| scope.signals.iter().any(|(_, signal)| signal.name == name));
            scope.signals.push((number, Signal { name, form, purpose }));
        }
        number
    }
}

/// Returns an unused name of letters, digits and single underscores.
fn unique(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut legal = words.join("_");
    legal.truncate(LONGEST_NAME);
    if legal.is_empty() {
        legal.push_str("unnamed");
    }
    if !is_taken(&legal) {
        return legal;
    }
    let mut numbered = (2u64..).map(|number| format!("{legal}_{number}"));
    numbered.find(|name| !is_taken(name)).unwrap_or(legal) // Default: an unused number always exists.
}
