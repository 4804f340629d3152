//! Built-in fabrics: the embedded architecture files of `configs/`.

use super::json::from_json;
use crate::config::fabric::Fabric;

/// Name, description and file content.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub const PRESETS: &[(&str, &str, &str)] = &[
    ("3x1", "the released fabric (bfe6cc6): 3 rows, 1 column: input memory, three register files and a dpu, output memory; with the suffix `+f11`, `+ext` or `+seed` it is not released hardware", include_str!("../../configs/3x1.json")),
    ("seed", "3x1 that follows the ISA document to the letter, like `3x1+seed`; not released hardware", include_str!("../../configs/seed.json")),
    ("3x2", "3 rows and 2 columns like 3x1; each column starts one cycle after the previous one", include_str!("../../configs/3x2.json")),
    ("3x4", "3 rows and 4 columns like 3x1", include_str!("../../configs/3x4.json")),
    ("1x1", "a single cell with both buffers, three register files and a dpu", include_str!("../../configs/1x1.json")),
];

/// Returns the built-in fabric with this name.
pub fn preset(name: &str) -> Option<Fabric> {
    let (_, _, text) = PRESETS.iter().find(|(known, _, _)| *known == name)?;
    from_json(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::from_short;

    const COLUMN: &str = "top=[swb,iosram_top] mid=[swb,rf,rf,rf,dpu] btm=[swb,iosram_btm]";

    #[test]
    fn presets_are_the_fabrics_of_the_golden_programs() {
        for (name, _, text) in PRESETS {
            let found = from_json(text);
            let lists = if *name == "1x1" { "[swb,iosram_both,rf,rf,rf,dpu]" } else { COLUMN };
            let size = if *name == "seed" { "3x1" } else { name };
            let short = from_short(&format!("{size}: {lists}"));
            let slots = |fabric: &Fabric| -> Vec<_> {
                let all = fabric.cells.iter().flat_map(|cell| &cell.resources);
                all.map(|resource| (resource.component, resource.slot, resource.rows)).collect()
            };
            assert_eq!(found.as_ref().map(slots), short.as_ref().map(slots), "{name}");
            assert!(
                found.is_ok_and(|fabric| fabric.cells.iter().all(|cell| cell.iram_words == 256)),
                "{name}"
            );
        }
    }
}
