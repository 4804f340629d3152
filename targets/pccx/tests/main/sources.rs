//! `SOURCES.md`: each row has a default, either the other reading or a reason for its absence, and
//! existing tests.

use std::fs;
use std::path::Path;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// Returns all Rust sources below a folder.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push((path.to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
    all
}

/// Returns the rows of the table below a heading, cell by cell.
fn rows<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = text.split(&format!("## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn every_row_has_two_readings_and_its_tests() {
    let text = fs::read_to_string(Path::new(FOLDER).join("SOURCES.md")).unwrap();
    let mut code = sources(&Path::new(FOLDER).join("src"));
    code.extend(sources(&Path::new(FOLDER).join("tests")));
    let golden = fs::read_dir(npukit_testing::golden("pccx")).unwrap();
    let golden: Vec<String> = golden.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let mut wrong = Vec::new();
    for heading in ["The page of the instruction set", "The contradictions of spec 1.2"] {
        let rows = rows(&text, heading);
        assert!(rows.len() > 9, "{heading}");
        for row in rows {
            let [name, default, other, tests] = row[..] else { panic!("four cells: {row:?}") };
            if [name, default, other, tests].iter().any(|cell| cell.is_empty()) {
                wrong.push(format!("{name}: an empty cell"));
            }
            let ticked: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
            if ticked.is_empty() && name != "C24" {
                wrong.push(format!("{name}: no test"));
            }
            for test in ticked {
                let is_function = test.rsplit_once("::").is_some_and(|(module, function)| {
                    let file = module.split("::").next().unwrap();
                    let has = |(path, text): &(String, String)| {
                        path.contains(&format!("/{file}")) && text.contains(&format!("fn {function}("))
                    };
                    code.iter().any(has)
                });
                let vector = test.trim_end_matches('*');
                let is_vector = golden.iter().any(|file| file.starts_with(vector));
                let is_elsewhere = ["conform", "npukit-models", "gemma3n", "+seed"].contains(&test);
                if !(is_function || is_vector || is_elsewhere) {
                    wrong.push(format!("{name}: there is no `{test}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
