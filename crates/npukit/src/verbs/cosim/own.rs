//! Modified circuits: the files that the list in a folder names, and a test bench if there is one.

use npukit_target::Reader;
use npukit_target::rtl::File;

use crate::error::Error;

/// Suffixes of the bench's files in a folder of `npu rtl`.
const BENCH: [&str; 2] = ["_bench.sv", "harness.cpp"];

/// Reads the files of the circuit in `folder`.
///
/// # Errors
///
/// Returns [`Error::OwnCircuit`] for a folder with no list of files (`NAME.f`) or with several, and
/// for files that are not text. Returns [`Error::Read`] for a file that cannot be read.
pub(super) fn files(folder: &str, reader: &dyn Reader) -> Result<Vec<File>, Error> {
    let wrong = |reason: String| Error::OwnCircuit { folder: folder.to_owned(), reason };
    let all = reader.list(folder)?;
    let lists: Vec<&String> =
        all.iter().filter(|path| path.ends_with(".f") && is_inside(folder, path)).collect();
    let [list] = lists[..] else {
        let reason = if lists.is_empty() { "no list of files" } else { "several lists of files" };
        return Err(wrong(format!("it contains {reason} (`NAME.f`, as written by `npu rtl`)")));
    };
    let text = |path: &str| -> Result<String, Error> {
        let bytes = reader.read(path)?;
        String::from_utf8(bytes).map_err(|_| wrong(format!("`{path}` is not text")))
    };
    let listed = names(&text(list)?).map_err(wrong)?;
    let bench =
        all.iter().filter(|path| BENCH.iter().any(|name| path.ends_with(name)) && is_inside(folder, path));
    let bench = bench.filter_map(|path| Some(path.rsplit(['/', '\\']).next()?.to_owned()));
    let mut files = Vec::new();
    for name in listed.iter().cloned().chain(bench.filter(|name| !listed.contains(name))) {
        let path = reader.beside(list, &name)?;
        files.push(File { text: text(&path)?, name });
    }
    Ok(files)
}

/// Whether a file is in the folder itself.
fn is_inside(folder: &str, path: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches(['/', '\\'])).unwrap_or(path);
    !rest.trim_start_matches(['/', '\\']).contains(['/', '\\'])
}

/// Returns the names in a list, without its comments.
fn names(list: &str) -> Result<Vec<String>, String> {
    let lines = list.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    let name = |line: &str| {
        let is_plain = !line.starts_with(['-', '+']) && !line.contains(['/', '\\']) && line != "..";
        if is_plain {
            Ok(line.to_owned())
        } else {
            Err(format!("its list names `{line}`, which is not a file in the folder"))
        }
    };
    lines.filter(|line| !line.is_empty()).map(name).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeMap;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        files.iter().map(|(name, text)| (format!("mine/{name}"), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn the_list_says_which_files_there_are() {
        let reader = folder(&[
            ("x.f", "// mine\na_pkg.sv\na.sv // the unit\n\ntop_x.sv\n"),
            ("a_pkg.sv", "package"),
            ("a.sv", "module"),
            ("top_x.sv", "top"),
            ("a_bench.sv", "bench"),
            ("notes.txt", "no"),
        ]);
        let files = files("mine/", &reader).unwrap();
        let names: Vec<&str> = files.iter().map(|file| &file.name[..]).collect();
        assert_eq!(names, ["a_pkg.sv", "a.sv", "top_x.sv", "a_bench.sv"]);
        assert_eq!(files[1].text, "module");
    }

    #[test]
    fn what_is_no_circuit_is_told() {
        let message = |files_of: &[(&str, &str)]| files("mine", &folder(files_of)).unwrap_err().to_string();
        assert!(message(&[("a.sv", "")]).contains("no list of files"));
        assert!(message(&[("a.f", ""), ("b.f", "")]).contains("several lists of files"));
        assert!(message(&[("a.f", "../b.sv")]).contains("`../b.sv`, which is not a file in the folder"));
        assert!(message(&[("a.f", "-y lib")]).contains("`-y lib`"));
        assert!(message(&[("a.f", "b.sv")]).contains("mine/b.sv"), "an absent file is named");
    }
}
