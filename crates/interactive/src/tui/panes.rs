//! [`Panes`]: which memories are shown, from which address, in which form.

use npukit_debug::Scale;
use npukit_target::{AddressRun, Machine, Shown, View};

/// What of the memories is shown.
#[derive(Debug)]
pub(crate) struct Panes {
    views: Vec<View>,
    /// The view that is shown.
    view: usize,
    /// Which memory of it keys are for.
    selected: usize,
    /// By memory, the first address that is shown.
    first: Vec<u64>,
    /// By memory, addresses that were shown last.
    shown: Vec<u64>,
    /// By memory, addresses there are.
    depths: Vec<u64>,
    /// How numbers are shown.
    pub scale: Scale,
    /// Whether what a step writes is shown.
    pub follows: bool,
}

impl Panes {
    /// The first view of a machine.
    pub fn new(machine: &dyn Machine) -> Self {
        let depths: Vec<u64> = machine.memories().iter().map(|memory| memory.depth).collect();
        let (first, shown) = (vec![0; depths.len()], vec![1; depths.len()]);
        let (view, selected) = (0, 0);
        Self {
            views: machine.views(),
            view,
            selected,
            first,
            shown,
            depths,
            scale: Scale::Real,
            follows: true,
        }
    }

    /// Takes the views as they are now.
    pub fn refresh(&mut self, machine: &dyn Machine) {
        self.views = machine.views();
        self.turn(0);
    }

    /// The view that is shown, its number from 1, and how many there are.
    pub fn view(&self) -> Option<(&View, usize, usize)> {
        self.views.get(self.view).map(|view| (view, self.view + 1, self.views.len()))
    }

    /// Which memory of the view is selected.
    pub const fn selected(&self) -> usize {
        self.selected
    }

    /// The first address of a memory that is shown.
    pub fn first(&self, memory: usize) -> u64 {
        self.first[memory]
    }

    /// Notes how many addresses of a memory there was room for.
    pub fn note(&mut self, memory: usize, addresses: u64) {
        self.shown[memory] = addresses.max(1);
    }

    /// Shows the view that is so many further.
    pub fn turn(&mut self, by: isize) {
        let count = self.views.len().max(1);
        self.view = (self.view as isize + by).rem_euclid(count as isize) as usize;
        if by != 0 {
            self.selected = 0;
        }
    }

    /// Selects the memory that is so many further in the view.
    pub fn select(&mut self, by: isize) {
        let count = self.view().map_or(1, |(view, ..)| view.shown.len().max(1));
        self.selected = (self.selected as isize + by).rem_euclid(count as isize) as usize;
    }

    /// Shows further addresses of the selected memory, or earlier ones.
    pub fn page(&mut self, is_down: bool) {
        let selected = self.view().and_then(|(view, ..)| view.shown.get(self.selected)).cloned();
        let Some(Shown { memory, columns, .. }) = selected else {
            return;
        };
        let (first, by) = (self.first[memory], self.shown[memory]);
        let next = if is_down { first.saturating_add(by) } else { first.saturating_sub(by) };
        if next < self.depths[memory] {
            self.first[memory] = next - next % columns.max(1) as u64 * u64::from(next < by && !is_down);
        }
    }

    /// Shows a memory from an address on.
    pub fn show(&mut self, memory: usize, address: u64) {
        if self.turn_to(memory).is_some() {
            self.first[memory] = address;
        }
    }

    /// Shows the view of a memory; gives the addresses of it in a row.
    fn turn_to(&mut self, memory: usize) -> Option<usize> {
        (self.view, self.selected) = self.place(memory)?;
        Some(self.views[self.view].shown[self.selected].columns)
    }

    /// Shows addresses that a step uses: in the view that is shown, if it has some of them, else in the first that has.
    pub fn follow(&mut self, runs: &[AddressRun]) {
        if !self.follows {
            return;
        }
        // Default: nothing is shown of a machine without memories.
        let here: Vec<Shown> = self.view().map(|(view, ..)| view.shown.clone()).unwrap_or_default();
        let mut is_here = false;
        for shown in &here {
            if let Some(run) = runs.iter().find(|run| run.memory == shown.memory) {
                is_here = true;
                self.bring(*run, shown.columns);
            }
        }
        let run = runs.iter().filter(|_| !is_here).min_by_key(|run| self.place(run.memory));
        if let Some(run) = run
            && let Some(columns) = self.turn_to(run.memory)
        {
            self.bring(*run, columns);
        }
    }

    /// The view of a memory, and its place there.
    fn place(&self, memory: usize) -> Option<(usize, usize)> {
        let place = |view: &View| view.shown.iter().position(|shown| shown.memory == memory);
        self.views.iter().enumerate().find_map(|(number, view)| Some((number, place(view)?)))
    }

    /// Scrolls to the first of some addresses, unless some of them are shown.
    fn bring(&mut self, run: AddressRun, columns: usize) {
        let (first, shown) = (self.first[run.memory], self.shown[run.memory]);
        if !run.meets(run.memory, first, first.saturating_add(shown)) {
            self.first[run.memory] = run.first - run.first % columns.max(1) as u64;
        }
    }
}
