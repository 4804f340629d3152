//! [`Column`]: an input memory, a computing cell and an output memory in one column.

use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric, Place, Resource};
use crate::config::revision::Revision;

/// Parts of a column that kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Cell with the input memory.
    pub top: Place,
    /// First slot of the input memory.
    pub input: u8,
    /// Cell that computes.
    pub mid: Place,
    /// Slots of its register files: first operand, second operand, result.
    pub files: [u8; 3],
    /// First slot of its dpu.
    pub dpu: u8,
    /// Fraction bits of the dpu's products.
    pub fraction_bits: u32,
    /// Cell with the output memory.
    pub bottom: Place,
    /// First slot of the output memory.
    pub output: u8,
    /// Revision of the fabric.
    pub revision: Revision,
}

/// Returns the columns of a fabric that can compute. All are alike.
///
/// # Errors
///
/// The reason why no column can compute.
pub fn columns(fabric: &Fabric) -> Result<Vec<Column>, String> {
    let found: Vec<Column> = (0..fabric.cols).filter_map(|col| column(fabric, col)).collect();
    let Some(first) = found.first() else {
        return Err(
            "no column has an input memory, three register files with a dpu in the cell below it, and an \
                    output memory in the cell below that"
                .to_owned(),
        );
    };
    let (fraction_bits, files) = (first.fraction_bits, first.files);
    Ok(found
        .into_iter()
        .filter(|column| column.fraction_bits == fraction_bits && column.files == files)
        .collect())
}

fn column(fabric: &Fabric, col: usize) -> Option<Column> {
    (0..fabric.rows).find_map(|row| {
        let (top, mid, bottom) =
            (Place { row, col }, Place { row: row + 1, col }, Place { row: row + 2, col });
        let find = |place, is: fn(&Resource) -> bool| Some(slots(fabric.cell(place)?, is));
        let input = *find(top, |part| part.component.has_input())?.first()?;
        let output = *find(bottom, |part| part.component.has_output())?.first()?;
        let files = find(mid, |part| part.component == Component::Rf)?;
        let dpu = *find(mid, |part| part.component == Component::Dpu)?.first()?;
        let fraction_bits = fabric.cell(mid)?.resource_at(dpu)?.fraction_bits;
        let files = [*files.first()?, *files.get(1)?, *files.get(2)?];
        let revision = fabric.options.revision;
        Some(Column { top, input, mid, files, dpu, fraction_bits, bottom, output, revision })
    })
}

fn slots(cell: &Cell, is: fn(&Resource) -> bool) -> Vec<u8> {
    cell.resources.iter().filter(|part| is(part)).map(|part| part.slot).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::preset;

    /// Columns that work together must have the same fraction bits.
    #[test]
    fn columns_with_another_dpu_are_left_out() {
        let mut fabric = preset("3x4").unwrap();
        assert_eq!(columns(&fabric).unwrap().len(), 4);
        let places: Vec<Place> = fabric.places().collect();
        for (place, cell) in places.iter().zip(&mut fabric.cells) {
            let other = if place.col == 2 { 11 } else { 0 };
            cell.resources.iter_mut().for_each(|part| part.fraction_bits = other);
        }
        let cols: Vec<usize> = columns(&fabric).unwrap().iter().map(|column| column.mid.col).collect();
        assert_eq!(cols, [0, 1, 3]);
    }
}
