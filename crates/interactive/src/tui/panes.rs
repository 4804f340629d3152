//! [`Panes`]: the shown memories, their first addresses and the number format.

use npukit_debug::Scale;
use npukit_target::{AddressRun, Machine, Shown, View};

/// State of the memory panes.
#[derive(Debug)]
pub(crate) struct Panes {
    views: Vec<View>,
    /// Index of the current view.
    view: usize,
    /// Index in the view of the selected memory.
    selected: usize,
    /// First visible address of each memory.
    first: Vec<u64>,
    /// Number of visible addresses of each memory when last drawn.
    shown: Vec<u64>,
    /// Number of addresses of each memory.
    depths: Vec<u64>,
    /// Format of numbers.
    pub scale: Scale,
    /// Whether the panes scroll to the addresses that a step writes.
    pub follows: bool,
}

impl Panes {
    /// Returns the state with the first view of a machine.
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

    /// Updates the views, which may change during a program.
    pub fn refresh(&mut self, machine: &dyn Machine) {
        self.views = machine.views();
        self.turn(0);
    }

    /// Returns the current view, its number starting at 1, and the number of views.
    pub fn view(&self) -> Option<(&View, usize, usize)> {
        self.views.get(self.view).map(|view| (view, self.view + 1, self.views.len()))
    }

    /// Returns the index in the view of the selected memory.
    pub const fn selected(&self) -> usize {
        self.selected
    }

    /// Returns the first visible address of a memory.
    pub fn first(&self, memory: usize) -> u64 {
        self.first[memory]
    }

    /// Records how many addresses of a memory were visible.
    pub fn note(&mut self, memory: usize, addresses: u64) {
        self.shown[memory] = addresses.max(1);
    }

    /// Switches to the view `by` positions later; it wraps around.
    pub fn turn(&mut self, by: isize) {
        let count = self.views.len().max(1);
        self.view = (self.view as isize + by).rem_euclid(count as isize) as usize;
        if by != 0 {
            self.selected = 0;
        }
    }

    /// Selects the memory `by` positions later in the view.
    pub fn select(&mut self, by: isize) {
        let count = self.view().map_or(1, |(view, ..)| view.shown.len().max(1));
        self.selected = (self.selected as isize + by).rem_euclid(count as isize) as usize;
    }

    /// Scrolls the selected memory by one page.
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

    /// Shows a memory, starting at an address.
    pub fn show(&mut self, memory: usize, address: u64) {
        if self.turn_to(memory).is_some() {
            self.first[memory] = address;
        }
    }

    /// Switches to the view of a memory; returns its number of addresses per row.
    fn turn_to(&mut self, memory: usize) -> Option<usize> {
        (self.view, self.selected) = self.place(memory)?;
        Some(self.views[self.view].shown[self.selected].columns)
    }

    /// Shows addresses that a step uses: in the current view if it has some of them, otherwise in
    /// the first view that does.
    pub fn follow(&mut self, runs: &[AddressRun]) {
        if !self.follows {
            return;
        }
        // Default: a machine without memories shows nothing.
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

    /// Returns the view of a memory, and its index there.
    fn place(&self, memory: usize) -> Option<(usize, usize)> {
        let place = |view: &View| view.shown.iter().position(|shown| shown.memory == memory);
        self.views.iter().enumerate().find_map(|(number, view)| Some((number, place(view)?)))
    }

    /// Scrolls to the first of some addresses, unless one of them is visible.
    fn bring(&mut self, run: AddressRun, columns: usize) {
        let (first, shown) = (self.first[run.memory], self.shown[run.memory]);
        if !run.meets(run.memory, first, first.saturating_add(shown)) {
            self.first[run.memory] = run.first - run.first % columns.max(1) as u64;
        }
    }
}
