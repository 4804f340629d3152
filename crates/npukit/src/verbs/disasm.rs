//! `npu disasm`: converts words, or the words of an artifact, to text that assembles to the same
//! words.

use std::fmt::Write as _;

use npukit_target::{
    Disassembled, Instance, InstanceSpec, ListingLine, ProgramPart, ProgramText, ProgramWords, Target,
    program_text,
};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::model;
use crate::model::source_map::SourceMapFile;
use crate::targets::{Artifact, instance_of, load, resolve, target};

/// Parameters of a disassembly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Path of the words, or of the artifact's manifest.
    pub path: String,
    /// Target or instance of the words; `None` for an artifact, which contains it.
    pub target: Option<String>,
    /// Form of the listing; `None` for the target's first form.
    pub form: Option<String>,
    /// Whether to omit comments: addresses, words, layers and lines of the source.
    pub plain: bool,
}

/// Result of a disassembly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DisasmReport {
    /// Target and instance.
    pub target: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Text of the listing.
    pub text: String,
    /// Problems such as invalid words, with locations; the first 100.
    pub problems: Vec<String>,
    /// Number of further problems.
    pub more_problems: usize,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Warnings for the author of the instance.
    pub warnings: Vec<String>,
}

/// Maximum number of problems reported one by one.
const TOLD: usize = 100;
/// Minimum number of instructions per invalid one, for a program to be considered damaged rather
/// than another instance's.
const DAMAGED: usize = 10;
/// Maximum width of instructions in columns, before their comments.
const WIDEST: usize = 56;

/// Disassembles words or an artifact. Invalid words are part of the report.
///
/// # Errors
///
/// Fails as [`resolve`] does. Returns:
///
/// - [`Error::UnknownName`] for an unknown form,
/// - [`Error::NotWords`] for a model and for program text,
/// - [`Error::OtherInstance`] for words of another instance of the target,
/// - [`Error::NeedlessTarget`] for an artifact of another target than the one named,
/// - [`Error::Read`] for the file,
/// - [`Error::Target`] if its bytes are not whole instructions.
pub fn disasm(request: &Request, context: Context<'_>) -> Result<DisasmReport, Error> {
    let path = &request.path;
    if let Some(Artifact { target: own, compiled }) = load(path, context.reader)? {
        let named = request.target.as_deref().map(|spec| instance_of(spec).0);
        if named.is_some_and(|named| named != own.name) {
            return Err(Error::NeedlessTarget { path: path.clone() });
        }
        let words = compiled.words()?;
        return listed(request, &words, &SourceMapFile::default());
    }
    let bytes = context.reader.read(path)?;
    no_model(path, &bytes)?;
    let spec = request.target.as_deref().ok_or(Error::NoTarget)?;
    let instance = resolve(spec, context.reader)?;
    form(&*instance, request)?;
    let map = SourceMapFile::of(path, &bytes, context.reader);
    if let Some(error) = misfit(request, &*instance, &bytes)? {
        return Err(error);
    }
    let parts = vec![ProgramPart { bytes, ..ProgramPart::default() }];
    listed(request, &ProgramWords { instance, parts }, &map)
}

/// Refuses a model, whose bytes could be mistaken for words.
///
/// # Errors
///
/// Returns [`Error::NotWords`].
pub(super) fn no_model(path: &str, bytes: &[u8]) -> Result<(), Error> {
    if model::is_known(path) || model::is_model(path, bytes) {
        return Err(Error::NotWords { path: path.to_owned(), what: "a model", todo: COMPILE });
    }
    Ok(())
}

const COMPILE: &str = "compile it with `npu compile`, and give the artifact";
const ASSEMBLE: &str = "assemble it with `npu asm`; `npu asm --listing` shows the words next to its lines";

/// Returns the requested form.
fn form<'a>(instance: &dyn Instance, request: &'a Request) -> Result<&'a str, Error> {
    let forms = instance.info().listings;
    // Default: a target without listings has no forms, so every name is refused.
    let form = request.form.as_deref().or_else(|| forms.first().copied()).unwrap_or_default();
    if !forms.contains(&form) {
        let known = forms.iter().map(|&form| form.to_owned()).collect();
        return Err(Error::UnknownName { what: "format", name: form.to_owned(), known });
    }
    Ok(form)
}

/// Returns an error if the words belong to another instance; `None` if no built-in instance of the
/// target reads all of them. `wrong` are the words that are invalid on this instance.
pub(crate) fn other_instance(
    path: &str,
    instance: &dyn Instance,
    bytes: &[u8],
    wrong: String,
) -> Option<Error> {
    let own = instance.info().name.clone();
    let fits = fitting(target(instance_of(&own).0).ok()?, &own, bytes);
    (!fits.is_empty()).then(|| Error::OtherInstance { path: path.to_owned(), wrong, target: own, fits })
}

/// Returns the reason why words are invalid on the instance: they are text, or belong to another
/// instance of the target.
fn misfit(request: &Request, instance: &dyn Instance, bytes: &[u8]) -> Result<Option<Error>, Error> {
    let form = instance.info().listings.first().copied().unwrap_or_default(); // Default: unreachable, refused before.
    let wrong = match instance.disassemble(bytes, form) {
        Ok(Disassembled { problems, instructions, .. }) => {
            if problems.len().saturating_mul(DAMAGED) <= instructions {
                return Ok(None);
            }
            format!("{} of {} words", problems.len(), instructions.max(problems.len()))
        }
        Err(_) => "words".to_owned(),
    };
    if let Some(error) = other_instance(&request.path, instance, bytes, wrong) {
        return Ok(Some(error));
    }
    let is_text = program_text(bytes).is_some() && instance.disassemble(bytes, form).is_ok_and(is_hopeless);
    let error = || Error::NotWords { path: request.path.clone(), what: "text", todo: ASSEMBLE };
    Ok(is_text.then(error))
}

/// Whether hardly any word is valid.
fn is_hopeless(listing: Disassembled) -> bool {
    listing.instructions > 0 && listing.problems.len().saturating_mul(2) >= listing.instructions
}

/// Returns the built-in instances of a target that read all of the words.
fn fitting(target: &Target, but: &str, bytes: &[u8]) -> Vec<String> {
    let reads = |instance: &dyn Instance| {
        // Default: a target without listings reads nothing.
        let form = instance.info().listings.first().copied().unwrap_or_default();
        let listing = instance.disassemble(bytes, form);
        listing.is_ok_and(|listing| listing.problems.is_empty() && listing.instructions > 0)
    };
    let instances = target.presets().into_iter().filter_map(|preset| {
        let instance = target.instance(InstanceSpec::Preset(&preset.name)).ok()?;
        (instance.info().name != but && reads(&*instance)).then(|| instance.info().name.clone())
    });
    instances.collect()
}

/// Lists all programs, one after the other.
fn listed(request: &Request, words: &ProgramWords, beside: &SourceMapFile) -> Result<DisasmReport, Error> {
    let ProgramWords { instance, parts } = words;
    let form = form(&**instance, request)?;
    let mut report = DisasmReport {
        target: instance.info().name.clone(),
        instructions: 0,
        text: String::new(),
        problems: Vec::new(),
        more_problems: 0,
        notes: beside.note.iter().cloned().collect(),
        warnings: instance.info().warnings.clone(),
    };
    for part in parts {
        let listing = instance.disassemble(&part.bytes, form)?;
        report.instructions += listing.instructions;
        if parts.len() > 1 {
            report.text += &comment(&part.name);
        }
        report.text += &match request.plain || listing.lines.is_empty() {
            true => listing.text,
            false => annotated(&listing.lines, &part.layers, beside.text.as_ref()),
        };
        report.problems.extend(listing.problems);
    }
    report.more_problems = report.problems.len().saturating_sub(TOLD);
    report.problems.truncate(TOLD);
    Ok(report)
}

/// Formats a comment line, in the syntax that every target's assembly has.
fn comment(text: &str) -> String {
    let text = text.replace(|c: char| c.is_control(), " ");
    format!("# {text}\n")
}

/// Formats the lines, each followed by its address, word and, if known, source line; layers are
/// above their first instructions.
fn annotated(lines: &[ListingLine], layers: &[(usize, String)], source: Option<&ProgramText>) -> String {
    let widths = lines.iter().filter(|line| line.word.is_some()).map(|line| line.text.chars().count());
    let width = widths.filter(|&width| width <= WIDEST).max().unwrap_or(0); // Default: 0 without instructions.
    let (mut text, mut index, mut layers) = (String::new(), 0, layers.iter().peekable());
    for ListingLine { text: code, word } in lines {
        let Some(word) = word else {
            text += &format!("{code}\n");
            continue;
        };
        while let Some((_, name)) = layers.next_if(|(first, _)| *first <= index) {
            text += &comment(&format!("layer {name}"));
        }
        let line = source.and_then(|source| {
            let (file, line, _) = source.sources.position_of(*source.places.get(index)?);
            Some(format!("  {}:{line}", file.replace(|c: char| c.is_control(), " ")))
        });
        // Default: words without a map have no lines. Writing to a string cannot fail.
        let line = line.unwrap_or_default();
        let _written = writeln!(text, "{code:width$}  # {} {}{line}", word.address, word.bits);
        index += 1;
    }
    text
}
