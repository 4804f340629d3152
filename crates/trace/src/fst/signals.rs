//! [`Signals`]: the signals of a file by scope, and which of them a lane drives.

use super::lane::{Column, Lane};
use crate::model::Role;

/// The scope of the whole machine.
pub(super) const PROGRAM: &str = "program";
/// The scope of numbers that belong to no unit.
pub(super) const MEMORIES: &str = "memories";
/// What slices say by this key is the place of an instruction in the program.
pub(super) const INSTRUCTION: &str = "instruction";
/// The most characters of a name.
const LONGEST_NAME: usize = 200;

/// How values of a signal are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 0 or 1.
    Bit,
    /// Bytes of ASCII, most significant first, of so many characters at most.
    Text(u32),
    /// A whole number of so many bits, of which the first is a sign that is never set: viewers take integers for signed.
    Integer(u32),
    /// A number.
    Real,
}

impl Form {
    /// Of whole numbers up to `most`.
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

/// What a viewer does with a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Of the whole machine.
    Program,
    /// Whether a unit works.
    Active,
    /// What a unit does.
    Operation,
    /// What a unit waits for.
    Waits,
    /// A detail of what a unit does.
    Detail,
    /// A number that is drawn as a curve.
    Curve,
}

/// A signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub name: String,
    pub form: Form,
    pub purpose: Purpose,
}

/// Signals below a name.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub name: String,
    /// With their numbers in the file.
    pub signals: Vec<(usize, Signal)>,
}

/// Which signals a lane drives, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wires {
    /// The name of its slice, or its value.
    pub value: Option<usize>,
    /// Whether it has a slice.
    pub active: Option<usize>,
    /// By column.
    pub columns: Vec<usize>,
    /// The column of the program's instruction, and the signal.
    pub issues: Option<(usize, usize)>,
}

/// All signals.
#[derive(Debug, Default)]
pub(super) struct Signals {
    pub scopes: Vec<Scope>,
    /// By lane.
    pub wires: Vec<Wires>,
    /// By number.
    pub forms: Vec<Form>,
    /// The cycle of the last change, where times are not cycles.
    pub cycle: Option<usize>,
}

impl Signals {
    /// Those of lanes up to a cycle, which is a signal where times are none.
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

    /// A unit, and what belongs to it.
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

    /// Numbers of no unit: whole ones, unless one of them is not.
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

    /// Sets what a lane drives.
    fn wire(&mut self, place: usize, wire: impl FnOnce(&mut Wires)) {
        self.wires.get_mut(place).map_or((), wire)
    }

    /// What is added next is below this name.
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

/// A name of letters, digits and single underscores that is not taken.
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
    numbered.find(|name| !is_taken(name)).unwrap_or(legal) // Default: there is always another number.
}
