//! [`assign`]: matches the contents of files with inputs.

use npukit_numeric::npy::member_names;
use npukit_target::PortError;

use super::media::Given;
use super::read::Offer;

/// Returns the data for each of the inputs called `names`: named data first, the rest in order. A
/// single array belongs to the only input, whatever its name.
pub(super) fn assign(
    offers: Vec<Offer>,
    names: &[&str],
    notes: &mut Vec<String>,
) -> Result<Vec<Option<Given>>, PortError> {
    let mut slots: Vec<Option<Given>> = names.iter().map(|_| None).collect();
    let members = member_names(names.iter().copied());
    let only = names.first().filter(|_| names.len() == 1 && offers.len() == 1);
    let (mut named, mut unnamed) = (Vec::new(), Vec::new());
    for Offer { name, is_asked, given } in offers {
        match name {
            Some(name) => named.push((name, is_asked, given)),
            None => unnamed.push(given),
        }
    }
    for (name, is_asked, given) in named {
        let place = names.iter().position(|known| *known == name);
        // npukit's own `.npz` files use another name if the input's name is not a valid file name.
        let place = place.or_else(|| members.iter().position(|member| *member == name));
        let place = place.or_else(|| {
            let only = only.filter(|_| !is_asked)?;
            // NumPy's default name of an unnamed array carries no information.
            if name != "arr_0" {
                notes.push(format!("array `{name}` was read as `{only}`, the only input"));
            }
            Some(0)
        });
        let unknown = || unknown(name.clone(), names);
        let place = place.ok_or_else(unknown)?;
        match slots.get_mut(place) {
            Some(slot @ None) => *slot = Some(given),
            _ => {
                let name = names.get(place).map_or(name, |known| (*known).to_owned());
                return Err(PortError::Twice { name });
            }
        }
    }
    for given in unnamed {
        match slots.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => *slot = Some(given),
            None => return Err(unknown("(one more file)".to_owned(), names)),
        }
    }
    Ok(slots)
}

fn unknown(name: String, names: &[&str]) -> PortError {
    let known = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    PortError::Unknown { name, known }
}
