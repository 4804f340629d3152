//! [`of_folder`]: the images or audio files in a folder, in natural order.

use npukit_base::counted;
use npukit_target::{ReadError, Reader};

use super::media::{Given, Media, media, one};
use crate::error::Error;

/// Returns the images, or otherwise the audio files, in a folder, in the natural order of their
/// names; `None` if `path` is not a folder.
pub(super) fn of_folder(
    path: &str,
    reader: &dyn Reader,
    notes: &mut Vec<String>,
) -> Result<Option<Given>, Error> {
    let files = reader.list(path)?;
    if files == [path] {
        return Ok(None);
    }
    let (hidden, files): (Vec<String>, Vec<String>) =
        files.into_iter().partition(|file| is_hidden(path, file));
    let Some(kind) = files.iter().find_map(|file| media(file)) else {
        return Err(Error::NoMedia { path: path.to_owned(), files: hidden.len() + files.len() });
    };
    let (mut like, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| media(file) == Some(kind));
    like.sort_by(|a, b| natural(a).cmp(&natural(b)).then_with(|| a.cmp(b)));
    notes.extend(left_out(path, &hidden, "hidden"));
    notes.extend(left_out(path, &others, "of another kind than the other files"));
    notes.extend(order(path, &like));
    let files = like.iter().map(|file| one(file, reader)).collect::<Result<Vec<Media>, ReadError>>();
    Ok(Some(kind.given(files?)))
}

/// Part of a name. A name alternates between text, which is compared by letters, and numbers, which
/// are compared by value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    /// Digits without leading zeros, after their length: a shorter number is smaller.
    Number(usize, &'a str),
    Text(&'a str),
}

/// Returns the sort key of a name.
fn natural(name: &str) -> Vec<Piece<'_>> {
    let is_digit = |place: usize| name.as_bytes().get(place).is_some_and(u8::is_ascii_digit);
    let starts = (0..name.len()).filter(|&place| place == 0 || is_digit(place) != is_digit(place - 1));
    let starts: Vec<usize> = starts.collect();
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    let piece = |(&start, end): (&usize, usize)| {
        // Default: unreachable, since digits are whole characters.
        let text = name.get(start..end).unwrap_or_default();
        let number = text.trim_start_matches('0');
        if is_digit(start) { Piece::Number(number.len(), number) } else { Piece::Text(text) }
    };
    starts.iter().zip(ends).map(piece).collect()
}

/// Whether a name below the folder at `path` begins with a dot, like files of the operating system.
fn is_hidden(path: &str, file: &str) -> bool {
    below(path, file).split(['/', '\\']).any(|name| name.starts_with('.'))
}

/// Returns the path of a file relative to its folder.
fn below<'a>(path: &str, file: &'a str) -> &'a str {
    // Default: unreachable, since a folder lists its own files.
    file.strip_prefix(path).unwrap_or(file).trim_start_matches(['/', '\\'])
}

/// Note on files that are not read.
fn left_out(path: &str, files: &[String], why: &str) -> Option<String> {
    let first = files.first()?;
    let more = if files.len() == 1 { String::new() } else { format!(" and {} more", files.len() - 1) };
    let is = if files.len() == 1 { "it is" } else { "they are" };
    Some(format!("`{first}`{more} in `{path}` was left out: {is} {why}"))
}

/// Note on the order of several files.
fn order(path: &str, files: &[String]) -> Option<String> {
    let [first, .., last] = files else { return None };
    let deeper = files.iter().filter(|file| below(path, file).contains(['/', '\\'])).count();
    let deeper = if deeper == 0 { String::new() } else { format!(", {deeper} of them in subfolders") };
    Some(format!(
        "`{path}` holds {}{deeper}: read from `{first}` to `{last}`, in numeric order",
        counted(files.len() as u64, "sample")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_by_value() {
        let sorted =
            ["d/.png", "d/0.png", "d/1.png", "d/2.png", "d/10.png", "d/10a.png", "d/a2", "d/a010", "d/ä1"];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        assert_eq!(names[0], "d/0.png", "a number is before text");
        assert_eq!(names[1..5], sorted[2..6]);
        assert_eq!(names[5..], ["d/.png", "d/a2", "d/a010", "d/ä1"]);
        let long = ["99999999999999999999999998", "99999999999999999999999999"];
        assert!(natural(long[0]) < natural(long[1]));
    }

    #[test]
    fn files_of_systems_are_hidden() {
        assert!(is_hidden("d", "d/._a.png") && is_hidden("d/", "d/.git/a.png") && is_hidden(".", "./.a.png"));
        assert!(
            !is_hidden("./d", "./d/a.png") && !is_hidden("../d", "../d/b/a.png") && !is_hidden(".d", ".d/a")
        );
    }

    #[test]
    fn the_order_is_said() {
        let files = ["d/1.png", "d/e/2.png", "d/e/10.png"].map(str::to_owned);
        let said = "`d` holds 3 samples, 2 of them in subfolders: read from `d/1.png` to `d/e/10.png`, in numeric \
                    order";
        assert_eq!(order("d", &files).as_deref(), Some(said));
        assert_eq!(order("d", &files[..1]), None);
    }
}
