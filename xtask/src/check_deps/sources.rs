//! Rules of texts: `unsafe` is only allowed in one place, and paths of a developer's computer are
//! forbidden.

use super::{Problem, SourceFile};

/// The only place that may contain `unsafe`: a module file and its folder.
const UNSAFE_HOME: &[&str] = &["crates/numeric/src/simd.rs", "crates/numeric/src/simd/"];

/// First components of absolute paths that exist on one computer only.
const MACHINE_ROOTS: &[&str] = &["work", "root", "tmp", "farm", "home", "Users"];

/// Checks every line of every file.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Problem> {
    let lines = file.text.lines().enumerate();
    let reported = lines.flat_map(|(index, line)| {
        let messages = [check_unsafe(&file.path, line), check_paths(line)];
        messages.into_iter().flatten().map(move |message| (index, message))
    });
    reported.map(|(index, message)| Problem::at_line(&file.path, index, message)).collect()
}

fn check_unsafe(path: &str, line: &str) -> Option<String> {
    let judged = path.ends_with(".rs") && !UNSAFE_HOME.iter().any(|home| path.starts_with(home));
    (judged && has_unsafe(line)).then(|| "`unsafe` is only allowed in crates/numeric/src/simd".to_owned())
}

/// Whether a line of Rust contains the keyword before an item or block that it can introduce.
fn has_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    code.match_indices("unsafe").any(|(at, word)| {
        let (before, after) = (&code[..at], &code[at + word.len()..]);
        let starts = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let opens = ["{", "(", "fn ", "impl ", "trait ", "extern "];
        let rest = after.trim_start();
        starts && (rest.is_empty() || opens.iter().any(|open| rest.starts_with(open)))
    })
}

/// Checks for an absolute path: a slash at the start of a word, a known root, and a slash.
fn check_paths(line: &str) -> Option<String> {
    let root = MACHINE_ROOTS.iter().find(|root| {
        let path = format!("/{root}/");
        line.match_indices(&path).any(|(at, _)| !line[..at].ends_with(belongs))
    })?;
    Some(format!("a path below /{root} exists on one computer only"))
}

fn belongs(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '}' | ')')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, line: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: line.to_owned() };
        check(&[file]).into_iter().map(|p| p.to_string()).collect()
    }

    /// The keyword, spelled so that this file follows its own rule.
    fn keyword(rest: &str) -> String {
        ["un", "safe", rest].concat()
    }

    #[test]
    fn the_keyword_has_one_home() {
        for rest in [" { f() }", " fn f() {}", " impl Send for X {}", "", "(no_mangle)"] {
            let line = keyword(rest);
            assert_eq!(messages("crates/lower/src/lib.rs", &line).len(), 1, "{line}");
            assert_eq!(messages("crates/numeric/src/simd/avx2.rs", &line), [""; 0]);
            assert_eq!(messages("crates/numeric/src/simd.rs", &line), [""; 0]);
        }
    }

    #[test]
    fn talking_about_it_is_allowed() {
        for line in ["#![deny(unsafe_code)]", "// an unsafe { block", "let not_unsafe = 1;"] {
            assert_eq!(messages("crates/lower/src/lib.rs", line), [""; 0]);
        }
        assert_eq!(messages("README.md", &keyword(" { }")), [""; 0]);
    }

    #[test]
    fn machine_paths_are_found_where_they_stand_alone() {
        for root in MACHINE_ROOTS {
            let path = format!("/{root}/npukit/x");
            assert_eq!(messages("README.md", &format!("see {path}")).len(), 1, "{path}");
            assert_eq!(messages("README.md", &format!("`{path}`")).len(), 1, "{path}");
            assert_eq!(messages("README.md", &format!("https://example.org{path}")), [""; 0]);
            assert_eq!(messages("README.md", &format!("docs{path}")), [""; 0]);
        }
    }
}
