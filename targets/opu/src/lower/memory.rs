//! Memory plan: [`Plan`]. Feature maps share memory over time; constants follow in separate banks.

use npukit_lower::{Lifetime, Uses, place};

use super::constants::Constants;
use super::error::LowerError;
use super::layers::Model;
use super::limits::LANES;

pub use crate::isa::memory::BANK_BYTES as BANK;
/// Address of the program: the last bank.
pub const PROGRAM: u64 = 15 * BANK;

/// Addresses in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Address of each plane.
    pub planes: Vec<u64>,
    /// Bytes per slot.
    pub slot: u64,
    /// Bytes of all planes, with shared memory.
    pub features: u64,
    /// Bytes of all planes, without sharing.
    pub aggregate: u64,
    /// Address of the biases.
    pub biases: u64,
    /// Address of the weights.
    pub weights: u64,
}

/// Assigns addresses to all planes of `model`, whose elements have `element` bytes, and to the
/// constants.
///
/// # Errors
///
/// They exceed the memory below the program.
pub fn plan(model: &Model, constants: &Constants, element: u64) -> Result<Plan, LowerError> {
    let slot = LANES as u64 * element;
    let bytes = model.planes.iter().map(|plane| plane.slots().iter().product::<usize>() as u64 * slot);
    let uses = uses(model);
    // Unused planes get an address, but they do not extend the memory.
    let unused = |size| Lifetime { first: 0, last: 0, size };
    let lifetimes: Vec<Lifetime> = bytes
        .enumerate()
        .map(|(plane, size)| uses.lifetime(plane, size).unwrap_or_else(|| unused(size)))
        .collect();
    let placement = place(&lifetimes);
    let biases = placement.maximum.next_multiple_of(BANK).max(BANK);
    let weights = (biases + constants.biases.len() as u64).next_multiple_of(BANK).max(biases + BANK);
    let needed = weights + constants.weights.len() as u64;
    if needed > PROGRAM {
        return Err(LowerError::Memory { needed, available: PROGRAM });
    }
    Ok(Plan {
        planes: placement.offsets,
        slot,
        features: placement.maximum,
        aggregate: lifetimes.iter().map(|lifetime| lifetime.size).sum(),
        biases,
        weights,
    })
}

/// Returns the layers that need each plane. The host needs inputs before the first layer and
/// outputs after the last.
fn uses(model: &Model) -> Uses {
    let mut uses = Uses::new(model.planes.count());
    model.inputs.iter().flat_map(|input| &input.planes).for_each(|plane| uses.add(plane.0, 0));
    for (index, layer) in model.layers.iter().enumerate() {
        layer.planes().for_each(|plane| uses.add(plane.0, index + 1));
    }
    let outputs = model.outputs.iter().flat_map(|output| &output.view.pieces);
    outputs.for_each(|piece| uses.add(piece.plane.0, model.layers.len() + 1));
    uses
}

#[cfg(test)]
mod tests {
    use super::super::layers::Model;
    use super::super::map::Plane;
    use super::*;

    /// Plans a model of one unused map with that number of slots, and constants with that number of
    /// bytes.
    fn planned(slots: [usize; 2], biases: u64, weights: u64, element: u64) -> Result<Plan, LowerError> {
        let mut model = Model::default();
        model.planes.add(Plane { name: String::new(), size: slots, channels: 1, border: 0, fraction: 0 });
        let mut constants = Constants::default();
        // Constants that are never read take no memory, so zeros of the right number suffice.
        (constants.biases, constants.weights) = (vec![0; biases as usize], vec![0; weights as usize]);
        plan(&model, &constants, element)
    }

    #[test]
    fn constants_follow_in_banks_of_their_own_up_to_the_program() {
        let banks = |slots, biases, weights, element| {
            planned(slots, biases, weights, element).map(|plan| [plan.features, plan.biases, plan.weights])
        };
        assert_eq!(banks([3, 5], 0, 0, 2), Ok([15 * 128, BANK, 2 * BANK]));
        assert_eq!(banks([3, 5], 64, 64, 1), Ok([15 * 64, BANK, 2 * BANK]));
        assert_eq!(banks([3, 5], BANK + 1, 64, 1), Ok([15 * 64, BANK, 3 * BANK]));
        // 2^22 slots of bytes are a bank: 13 of them, and one for each of the constants, reach the
        // program.
        assert_eq!(banks([13, 1 << 22], 0, BANK, 1), Ok([13 * BANK, 13 * BANK, 14 * BANK]));
        let error = planned([13, 1 << 22], 0, BANK + 1, 1);
        assert_eq!(error, Err(LowerError::Memory { needed: 15 * BANK + 1, available: 15 * BANK }));
    }
}
