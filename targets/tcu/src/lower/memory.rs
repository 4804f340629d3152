//! Placement plan: the memory and address of each object.

pub(super) mod arena;
pub(super) mod next_use;
pub mod object;
pub(super) mod residency;
pub(super) mod spares;
pub mod view;

use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;
use std::str::FromStr;

use npukit_lower::{Lifetime, Uses, place};
use serde::{Deserialize, Serialize};

use super::error::{LowerError, Memory};
use super::layers::hir::{Layer, Model};
use super::memory::object::{ObjectId, ObjectKind};
use super::memory::residency::residents;
use crate::config::Config;
use crate::lower::layers::hir::for_each_object;
use crate::program::Usage;

/// Where variables and constants are stored. Inputs and outputs are always in DRAM0. Constants are
/// always in DRAM1 as well, from which they are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Strategy {
    /// Variables in DRAM0, constants in DRAM1.
    LocalIsolated,
    /// Variables in local memory, as far as they fit.
    LocalVars,
    /// Constants in local memory, where the driver copies them before the program starts.
    LocalConsts,
    /// Variables and constants in local memory.
    LocalVarsAndConsts,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 4] =
        [Self::LocalIsolated, Self::LocalVars, Self::LocalConsts, Self::LocalVarsAndConsts];

    /// Returns the name that the released compiler uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LocalIsolated => "local-isolated",
            Self::LocalVars => "local-vars",
            Self::LocalConsts => "local-consts",
            Self::LocalVarsAndConsts => "local-vars-and-consts",
        }
    }

    /// Whether variables are stored in local memory.
    pub const fn local_vars(self) -> bool {
        matches!(self, Self::LocalVars | Self::LocalVarsAndConsts)
    }

    /// Whether constants are stored in local memory.
    pub const fn local_consts(self) -> bool {
        matches!(self, Self::LocalConsts | Self::LocalVarsAndConsts)
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Error: the name is not the name of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown strategy `{0}`; use local-isolated, local-vars, local-consts or local-vars-and-consts")]
pub struct UnknownStrategy(String);

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name)
            .ok_or_else(|| UnknownStrategy(name.to_owned()))
    }
}

/// Memory and address of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In DRAM0, starting at this vector.
    Dram0(u64),
    /// In DRAM1, starting at this vector.
    Dram1(u64),
    /// In local memory, starting at this vector.
    Local(u64),
    /// Not stored: no layer needs it.
    Nowhere,
}

/// Placement of all objects.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Placement strategy.
    pub strategy: Strategy,
    /// Home of each object.
    homes: Vec<Home>,
    /// For each layer, the objects that no later layer needs.
    last_needed: Vec<Vec<usize>>,
    /// Constants, in the order in which DRAM1 stores them.
    pub constants: Vec<ObjectId>,
    /// Part of local memory into which layers load.
    pub arena: Range<u64>,
    /// Usage of DRAM0.
    pub dram0: Usage,
    /// Usage of DRAM1.
    pub dram1: Usage,
    /// Usage of local memory by objects stored there permanently.
    pub local: Usage,
}

/// Vectors at the end of DRAM0 that the driver's flush probe overwrites.
const DRAM0_RESERVED: u64 = 2;
/// If the variables do not all fit in local memory, they may take at most `1 / SHARE` of it. Of an
/// eighth, a quarter and a half, an eighth gives the fewest cycles for ResNet-20 on arrays of 8 and
/// 12.
const SHARE: u64 = 8;
/// Vectors at the end of local memory that the driver's flush probe overwrites.
const LOCAL_RESERVED: u64 = 1;

impl Plan {
    /// Plans a model, with every object where the strategy puts it.
    ///
    /// # Errors
    ///
    /// Returns [`LowerError::Constants`] or [`LowerError::Insufficient`] if a memory is too small.
    pub fn new(model: &Model, config: &Config, strategy: Strategy) -> Result<Self, LowerError> {
        Self::within(model, config, strategy, None)
    }

    /// Plans a model whose variables only partly fit in local memory. Variables take at most an
    /// eighth of the local memory that constants leave; the others stay in DRAM0. Layers need the
    /// rest to work in.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::new`], for the constants and for DRAM0.
    pub fn partial(model: &Model, config: &Config, strategy: Strategy) -> Result<Self, LowerError> {
        let without = Self::within(model, config, strategy, Some(0))?;
        let free = without.arena.end.saturating_sub(without.arena.start);
        Self::within(model, config, strategy, Some(free / SHARE))
    }

    /// Returns a plan that fits: of `strategy` if given, otherwise of the first strategy that has
    /// one.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::new`] if no strategy has a plan.
    pub fn possible(model: &Model, config: &Config, strategy: Option<Strategy>) -> Result<Self, LowerError> {
        let others = match &strategy {
            Some(_) => &[][..],
            None => &Strategy::ALL[1..],
        };
        // Default: without a given strategy, the first one is tried before the others.
        let first = strategy.unwrap_or(Strategy::LocalIsolated);
        let part = || first.local_vars().then(|| Self::partial(model, config, first).ok()).flatten();
        let other = || others.iter().find_map(|&strategy| Self::new(model, config, strategy).ok());
        Self::new(model, config, first).or_else(|error| part().or_else(other).ok_or(error))
    }

    /// Plans a model; if `room` is given, its variables take at most `room` vectors of local memory
    /// at once.
    fn within(
        model: &Model,
        config: &Config,
        strategy: Strategy,
        room: Option<u64>,
    ) -> Result<Self, LowerError> {
        let uses = uses_of(model);
        let mut homes = vec![Home::Nowhere; model.objects.len()];
        let constants = used_constants(&uses, model);
        let dram1 = place_constants(model, &constants, strategy, &mut homes);
        if dram1 > config.dram1_depth {
            return Err(LowerError::Constants { needed: dram1, available: config.dram1_depth });
        }
        let local_constants = if strategy.local_consts() { dram1 } else { 0 };

        let variables = living(&uses, model, |kind| kind == ObjectKind::Variable);
        let residents = match (strategy.local_vars(), room) {
            (false, _) => Vec::new(),
            (true, None) => variables,
            (true, Some(room)) => residents(model, &uses, &variables, room),
        };
        let resident: HashSet<ObjectId> = residents.iter().copied().collect();
        let mut objects = living(&uses, model, |_| true);
        objects.retain(|object| !resident.contains(object));
        let dram0 = place_living(&uses, model, &objects, Home::Dram0, &mut homes);
        require(
            model,
            &uses,
            &objects,
            Memory::Dram0,
            dram0.maximum,
            config.dram0_depth.saturating_sub(DRAM0_RESERVED),
        )?;

        let home = |offset| Home::Local(local_constants + offset);
        let variables = place_living(&uses, model, &residents, home, &mut homes);
        let depth = config.local_depth.saturating_sub(LOCAL_RESERVED);
        let used = local_constants + variables.maximum;
        let inhabitants = if variables.maximum > 0 { &residents } else { &constants };
        require(model, &uses, inhabitants, Memory::Local, used, depth)?;

        let local = Usage { maximum: used, aggregate: local_constants + variables.aggregate };
        let dram1 = Usage { maximum: dram1, aggregate: dram1 };
        let last_needed = uses.last_needed(model.layers.len());
        Ok(Self { strategy, homes, last_needed, constants, arena: used..depth, dram0, dram1, local })
    }

    /// Returns the objects that no layer after `layer` needs.
    pub fn last_needed(&self, layer: usize) -> impl Iterator<Item = ObjectId> + '_ {
        self.last_needed[layer].iter().map(|&object| ObjectId(object as u32))
    }

    /// Returns the home of `object`.
    pub fn home(&self, object: ObjectId) -> Home {
        self.homes[object.0 as usize]
    }

    /// Formats the plan with one line per object.
    pub fn print(&self, model: &Model) -> String {
        let mut text =
            format!("strategy {}, arena {}..{}\n", self.strategy, self.arena.start, self.arena.end);
        for (id, object) in model.objects.iter() {
            let home = match self.home(id) {
                Home::Dram0(at) => format!("DRAM0 {at}"),
                Home::Dram1(at) => format!("DRAM1 {at}"),
                Home::Local(at) => format!("local {at}"),
                Home::Nowhere => continue,
            };
            // The result is ignored because writing to a string cannot fail.
            let _ = writeln!(text, "{home}: {} vectors, {:?} {}", object.vectors, object.kind, object.name);
        }
        text
    }
}

/// Returns the layers that need each object. The host needs inputs before the first layer and
/// outputs after the last.
fn uses_of(model: &Model) -> Uses {
    let mut uses = Uses::new(model.objects.len());
    let mut add = |object: ObjectId, layer: usize| uses.add(object.0 as usize, layer);
    model.inputs.iter().for_each(|port| add(port.object, 0));
    for (i, layer) in model.layers.iter().enumerate() {
        for_each_object(&layer.steps, |object| add(object, i));
    }
    model.outputs.iter().for_each(|port| add(port.object, model.layers.len()));
    uses
}

/// Returns the constants in order of first use.
fn used_constants(uses: &Uses, model: &Model) -> Vec<ObjectId> {
    let used = |&id: &ObjectId| uses.of(id.0 as usize).is_some();
    let mut constants: Vec<ObjectId> = model.objects_of(ObjectKind::Constant).filter(used).collect();
    constants.sort_by_key(|id| uses.of(id.0 as usize));
    constants
}

/// Returns the inputs, outputs and variables that are used and have a wanted kind.
fn living(uses: &Uses, model: &Model, wanted: impl Fn(ObjectKind) -> bool) -> Vec<ObjectId> {
    let all =
        model.objects.iter().filter(|(_, object)| object.kind != ObjectKind::Constant && wanted(object.kind));
    all.map(|(id, _)| id).filter(|id| uses.of(id.0 as usize).is_some()).collect()
}

fn place_constants(model: &Model, constants: &[ObjectId], strategy: Strategy, homes: &mut [Home]) -> u64 {
    let mut next = 0;
    for &id in constants {
        homes[id.0 as usize] = if strategy.local_consts() { Home::Local(next) } else { Home::Dram1(next) };
        next += u64::from(model.objects.get(id).vectors);
    }
    next
}

fn place_living(
    uses: &Uses,
    model: &Model,
    objects: &[ObjectId],
    home: impl Fn(u64) -> Home,
    homes: &mut [Home],
) -> Usage {
    let lifetime = |&id: &ObjectId| {
        let size = u64::from(model.objects.get(id).vectors);
        uses.lifetime(id.0 as usize, size).expect("only objects that are used are placed")
    };
    let lifetimes: Vec<Lifetime> = objects.iter().map(lifetime).collect();
    let placement = place(&lifetimes);
    for (id, &offset) in objects.iter().zip(&placement.offsets) {
        homes[id.0 as usize] = home(offset);
    }
    Usage { maximum: placement.maximum, aggregate: lifetimes.iter().map(|lifetime| lifetime.size).sum() }
}

/// Checks that a memory is large enough; the error names the layer that produces the largest
/// object.
fn require(
    model: &Model,
    uses: &Uses,
    objects: &[ObjectId],
    memory: Memory,
    needed: u64,
    available: u64,
) -> Result<(), LowerError> {
    if needed <= available {
        return Ok(());
    }
    let largest = objects.iter().max_by_key(|&&id| model.objects.get(id).vectors);
    let layer = largest.and_then(|id| uses.of(id.0 as usize)).and_then(|(first, _)| model.layers.get(first));
    let layer = layer.map_or_else(|| "the whole model".to_owned(), Layer::name);
    Err(LowerError::Insufficient { layer, memory, needed, available })
}
