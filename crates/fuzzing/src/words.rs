//! [`words`]: binary programs, for the disassembler and the linter.

use npukit_target::{Disassembled, NoFiles};

use crate::instances::{Known, of};
use crate::{check_message, message};

/// Readers: `t`, `o`, `p`, `d`, `l`: words of the targets, as for [`assembly`](crate::assembly()).
///
/// The listing of any words must assemble to them, except for an incomplete last word.
pub fn words(input: &[u8]) {
    if let Some((known, bytes)) = of(input) {
        listed(known, bytes);
    }
}

/// Lists and lints words.
pub(crate) fn listed(known: &Known, words: &[u8]) {
    let Known { instance, .. } = known;
    for (number, form) in instance.info().listings.iter().enumerate() {
        match instance.disassemble(words, form) {
            Err(error) => drop(message(&error)),
            Ok(listing) if number == 0 => again(known, words, &listing),
            Ok(_) => {}
        }
    }
    match instance.lint("p.words", words, None) {
        Err(error) => check_message("p.words", &error),
        Ok(findings) => findings.iter().for_each(|finding| assert!(!finding.message.is_empty())),
    }
}

/// Checks that a listing assembles to the words, unless it reports errors in them. The words of
/// drra are text with several layouts: there, the listing must be the same again.
fn again(Known { letter, instance, .. }: &Known, words: &[u8], listing: &Disassembled) {
    let Disassembled { text, problems, .. } = listing;
    let bytes = match instance.assemble("listing.asm", text, &NoFiles) {
        Ok(assembled) => assembled.bytes,
        Err(error) => return assert!(!problems.is_empty(), "listed as {text:?}: {error}"),
    };
    if matches!(letter, b'd' | b'l' | b'k') {
        let again = instance.disassemble(&bytes, instance.info().listings[0]).map(|again| again.text);
        assert_eq!(again.as_ref().ok(), Some(text), "listed again");
    } else {
        assert_eq!(bytes, words[..bytes.len().min(words.len())], "listed as {text:?}");
        assert!(words.len() - bytes.len() < 8, "{} of {} bytes listed", bytes.len(), words.len());
    }
}
