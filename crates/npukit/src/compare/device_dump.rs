//! [`compare`]: checks a dump from a board's driver against the machine, bit for bit.

use npukit_base::counted;
use npukit_numeric::npy::{member_names, read_npy, read_npz};
use npukit_numeric::{Tensor, TensorData};
use npukit_target::Reader;

use crate::error::Error;
use crate::inputs::InputFile;
use crate::run::stack::Stack;
use crate::targets::has_extension;

/// Result of the comparison with a dump.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Arrays that agree, one sentence per array.
    pub notes: Vec<String>,
    /// Arrays that differ, one sentence per array.
    pub failures: Vec<String>,
}

/// Compares the arrays of `[NAME=]FILE` (`.npy` or `.npz`) with the outputs: integers with the
/// machine's integers, real numbers with the machine's values.
///
/// # Errors
///
/// Returns [`Error::Array`] for a file that is not an array, [`Error::UnknownInput`] for another
/// file type, and errors of the reader.
pub(crate) fn compare(file: &str, outputs: &[Stack], reader: &dyn Reader) -> Result<Outcome, Error> {
    let InputFile { name, path, .. } = InputFile::parse(file);
    let bytes = reader.read(&path)?;
    let arrays = match (has_extension(&path, "npz"), has_extension(&path, "npy")) {
        (true, _) => read_npz(&path, &bytes)?.into_iter().map(|(name, array)| (Some(name), array)).collect(),
        (_, true) => vec![(name, read_npy(&path, &bytes)?)],
        _ => return Err(Error::UnknownInput { path, legal: ".npy or .npz" }),
    };
    let members = member_names(outputs.iter().map(|stack| stack.name.as_str()));
    let mut outcome = Outcome::default();
    for (name, array) in arrays {
        let found = match &name {
            Some(name) => {
                outputs.iter().zip(&members).find(|(stack, member)| [&stack.name, member].contains(&name))
            }
            None => outputs.iter().zip(&members).next().filter(|_| outputs.len() == 1),
        };
        match found.map(|(stack, _)| (stack, difference(stack, &array))) {
            Some((stack, None)) => {
                let elements = counted(array.data().len() as u64, "element");
                outcome.notes.push(format!(
                    "the board's `{}` equals the machine's, bit for bit: {elements}",
                    stack.name
                ));
            }
            Some((stack, Some(how))) => outcome.failures.push(format!("the board's `{}` {how}", stack.name)),
            None => {
                let which = name.map_or("an unnamed array".to_owned(), |name| format!("`{name}`"));
                let names = members.join("`, `");
                outcome.failures.push(format!("the board's dump has {which}, but the outputs are `{names}`"));
            }
        }
    }
    Ok(outcome)
}

/// Describes the first difference between the array and an output over all samples; `None` if they
/// agree. Integers may be the output's own, if it has an integer type, or the machine's.
fn difference(stack: &Stack, array: &Tensor) -> Option<String> {
    let is_real = matches!(array.data(), TensorData::F32(_));
    let is_whole = stack.samples.iter().all(|sample| !sample.element().is_float());
    let values: Option<Vec<f64>> =
        (is_real || is_whole).then(|| stack.samples.iter().flat_map(Tensor::reals).collect());
    let raw: Vec<f64> = stack.raw.iter().flatten().map(|&raw| raw.into()).collect();
    let raw = Some(raw).filter(|raw| !is_real && !raw.is_empty());
    let board = array.reals();
    let forms = values.into_iter().chain(raw);
    let differences: Vec<String> =
        forms.map(|machine| first_difference(&board, &machine)).collect::<Option<_>>()?;
    let unknown = "contains integers, but the machine's integers are unknown for it: dump real values";
    differences.into_iter().next().or_else(|| Some(unknown.to_owned()))
}

/// Describes the first difference between two lists of numbers; `None` if they agree.
fn first_difference(board: &[f64], machine: &[f64]) -> Option<String> {
    if board.len() != machine.len() {
        return Some(format!("has {} elements instead of {}", board.len(), machine.len()));
    }
    let differs = |(ours, theirs): (&f64, &f64)| ours.to_bits() != theirs.to_bits();
    let places: Vec<usize> = (0..board.len()).filter(|&i| differs((&board[i], &machine[i]))).collect();
    let first = *places.first()?;
    Some(format!(
        "differs in {} of {} elements: element {first} is {}, the machine's is {}",
        places.len(),
        board.len(),
        board[first],
        machine[first]
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::ElementType;
    use npukit_numeric::npy::{NpyArray, NpyData, write_npy, write_npz};
    use npukit_target::ReadError;

    use super::*;

    struct Dump(Vec<u8>);

    impl Reader for Dump {
        fn read(&self, _: &str) -> Result<Vec<u8>, ReadError> {
            Ok(self.0.clone())
        }
    }

    /// Returns two samples of an output `a/y`, in steps of 1/256.
    fn outputs() -> Vec<Stack> {
        let tensor = |values: [f32; 2]| Tensor::from_f32(vec![1, 2], values.to_vec()).unwrap();
        vec![Stack {
            name: "a/y".into(),
            shape: vec![1, 2],
            samples: vec![tensor([1.0, -0.5]), tensor([0.0, 2.0])],
            raw: vec![vec![256, -128], vec![0, 512]],
            is_rows: false,
        }]
    }

    fn raw(values: &[i32; 4]) -> Outcome {
        let array = write_npy(NpyArray::new(&[2, 2], NpyData::I32(values)).unwrap());
        compare("y.npy", &outputs(), &Dump(array)).unwrap()
    }

    #[test]
    fn the_same_bits_are_a_note() {
        let outcome = raw(&[256, -128, 0, 512]);
        assert_eq!(outcome.notes, ["the board's `a/y` equals the machine's, bit for bit: 4 elements"]);
        assert!(outcome.failures.is_empty());
    }

    #[test]
    fn the_first_difference_is_named() {
        let failures = raw(&[256, -128, 1, 513]).failures;
        assert_eq!(
            failures,
            ["the board's `a/y` differs in 2 of 4 elements: element 2 is 1, the machine's is 0"]
        );
    }

    #[test]
    fn real_values_go_by_the_names_of_members() {
        let of = |name: &str, values: Vec<f32>| {
            let tensor = Tensor::from_f32(vec![values.len()], values).unwrap();
            let npz = write_npz(&[(name, NpyArray::from(&tensor))]).unwrap();
            compare("dump.npz", &outputs(), &Dump(npz)).unwrap()
        };
        let member = &member_names(["a/y"])[0];
        assert_eq!(of(member, vec![1.0, -0.5, 0.0, 2.0]).notes.len(), 1);
        let short = of(member, vec![1.0, -0.5]).failures;
        assert_eq!(short, ["the board's `a/y` has 2 elements instead of 4"]);
        assert_eq!(of("z", vec![1.0]).failures.len(), 1);
        // Zeros with different signs are different bits.
        assert_eq!(of(member, vec![1.0, -0.5, -0.0, 2.0]).failures.len(), 1);
    }

    #[test]
    fn integers_of_an_output_that_the_host_computes_are_compared() {
        let values = Tensor::new(vec![1, 2], TensorData::I32(vec![-128, 127])).unwrap();
        let values = values.with_element(ElementType::I8).unwrap();
        let compared = |values: &Tensor, raw: Vec<i32>, board: [i32; 2]| {
            let (name, shape, samples) = ("y".to_owned(), vec![1, 2], vec![values.clone()]);
            let stack = Stack { name, shape, samples, raw: vec![raw], is_rows: false };
            let array = write_npy(NpyArray::new(&[1, 2], NpyData::I32(&board)).unwrap());
            compare("y.npy", &[stack], &Dump(array)).unwrap().failures
        };
        assert!(compared(&values, Vec::new(), [-128, 127]).is_empty());
        assert!(compared(&values, vec![5, 6], [-128, 127]).is_empty());
        assert!(compared(&values, vec![5, 6], [5, 6]).is_empty());
        let other = "the board's `y` differs in 1 of 2 elements: element 1 is 126, the machine's is 127";
        assert_eq!(compared(&values, Vec::new(), [-128, 126]), [other]);
        let real = Tensor::from_f32(vec![1, 2], vec![-128.0, 127.0]).unwrap();
        let unknown = &compared(&real, Vec::new(), [-128, 127])[0];
        assert!(unknown.contains("the machine's integers are unknown"), "{unknown}");
    }

    #[test]
    fn other_files_are_refused() {
        assert!(compare("y.csv", &outputs(), &Dump(Vec::new())).is_err());
        assert!(compare("y.npy", &outputs(), &Dump(Vec::new())).is_err());
    }
}
