//! [`PATTERNS`]: what `WRITING.md` replaces, as regular expressions.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::text::{Kind, Passage};

/// Columns of a comment's line.
const WIDEST: usize = 100;

/// Pattern of prose that is rewritten.
pub struct Pattern {
    /// Name in budgets and on the command line.
    pub key: &'static str,
    /// Replacement.
    pub rule: &'static str,
    /// Passages that are searched.
    scope: Scope,
    regex: LazyLock<Regex>,
    /// Right uses, removed from a passage before it is searched, with the reason.
    exceptions: &'static [(&'static str, &'static str)],
}

enum Scope {
    /// First lines of comments and paragraphs.
    First,
    /// Everything.
    All,
    /// Lines of comments that are wider than [`WIDEST`].
    Wide,
}

impl Pattern {
    /// Whether a passage has a match.
    pub fn matches(&self, passage: &Passage) -> bool {
        let is_searched = match self.scope {
            Scope::First => passage.is_first && passage.kind != Kind::Message,
            Scope::All => true,
            Scope::Wide => passage.kind == Kind::Comment && passage.columns > WIDEST,
        };
        let right = |text: String, (phrase, _): &(&str, &str)| text.replace(phrase, "");
        is_searched && self.regex.is_match(&self.exceptions.iter().fold(passage.text.clone(), right))
    }
}

macro_rules! pattern {
    ($key:literal, $scope:ident, $regex:literal, $rule:literal $(, $exception:literal: $reason:literal)*) => {
        Pattern {
            key: $key,
            rule: $rule,
            scope: Scope::$scope,
            regex: LazyLock::new(|| Regex::new($regex).expect("the table has valid expressions")),
            exceptions: &[$(($exception, $reason)),*],
        }
    };
}

/// Every pattern.
#[rustfmt::skip]
pub static PATTERNS: [Pattern; 29] = [
    pattern!("noun-first", First, r"^What\b", "begin with the noun: `Result of a run.`"),
    pattern!("repeat-noun", First, r"^(Those of|That of|Of (the|a|its)|Its|The same|As \[)", "repeat the noun"),
    pattern!("say", All, r"\bsa(id|ys?)\b", "specifies, declares, reports"),
    pattern!("none", All, r"[;,(] none\b|none (where|when|for|of)", "`None` if ...",
        "none of ": "no part of", "none is ": "a whole sentence", "none has ": "a whole sentence", "none was ": "a whole sentence"),
    pattern!("those", All, r"[Tt]hose (that|of|which)", "name the thing"),
    pattern!("who", All, r"\b(whoever|nobody|anybody|who)\b", "the caller, no instruction, or the passive"),
    pattern!("stand", All, r"\bstands?\b", "is, appears, comes",
        "stands for": "means", "stand for": "mean", "stand-in": "a substitute", "stand alone": "an idiom of English"),
    pattern!("beside", All, r"\bbeside\b", "next to, in addition to"),
    pattern!("tell", All, r"\b(told|tells?)\b", "reports, shows"),
    pattern!("lie", All, r"\blies?\b", "is stored in, is in"),
    pattern!("is-no", All, r"\b(is|are) no [a-z`]+", "is not a ...",
        "there is no ": "a thing is absent", "There is no ": "a thing is absent", "there are no ": "things are absent",
        "There are no ": "things are absent", "is no longer": "time", "are no longer": "time", "is no larger": "a comparison", "is no more than": "a comparison"),
    pattern!("behind", All, r"\bbehind\b", "after, following"),
    pattern!("as-many", All, r"\bso many\b|\bas many[.,;:)]", "a number, that many"),
    pattern!("is-none", All, r"\b(is|are) none\b", "is not one, there is none",
        "there is none": "a thing is absent", "there are none": "things are absent"),
    pattern!("from-on", All, r"\bfrom \S+ on\b", "starting at"),
    pattern!("count", All, r"\bcounts (where|when|if|only|more|most|before|alone|there|here)\b|\bcounts[.;:]|[wW]hat counts", "applies, takes precedence"),
    pattern!("is-to", All, r"\b(is|are) to (be )?[a-z]+", "must, will"),
    pattern!("of-which", All, r"\bof (which|whose|what)\b", "two sentences"),
    pattern!("come-of", All, r"\b(came?|comes|becomes?|became) of\b", "result of"),
    pattern!("there-are", All, r"\bthere (are|is)[.,;)]", "the available ..."),
    pattern!("else", All, r"\belse\b", "otherwise",
        "else {": "code", "else{": "code", "else if ": "code", ".else": "a directive", "`else`": "a keyword", "else branch": "a branch of a condition", "anything else": "other things", "Nothing else": "other things", "Everything else": "other things",
        "nothing else": "other things", "something else": "other things", "everything else": "other things",
        "or else": "an idiom of English", "nowhere else": "other places", "somewhere else": "other places"),
    pattern!("by-hand", All, r"by hand|a person wrote|handwritten", "assembly program",
        "handwritten digits": "a kind of input"),
    pattern!("idiom", All, r"in one go|for nothing|in vain|for want of|on the way", "at once; unused; for lack of; in between"),
    pattern!("but-for", All, r"but for|otherwise than|goes? by|\banew\b|\bmend|at fault", "except; unlike; follows; again; fix; caused by",
        "recommend": "another word"),
    pattern!("ending", All, r"\bendings?\b|names? ends? in", "extension, suffix"),
    pattern!("each", All, r", an? [a-z]+ each|\bone an? [a-z]+", "one per ..."),
    pattern!("picture", All, r"\b(pictures?|sounds?)\b", "image, audio"),
    pattern!("british", All, r"(?i)\b(normalis|quantis|initialis|optimis(e|ing|a)|utilis|maximis|minimis|serialis|organis|colour|behaviour|neighbour|centre\b|grey\b)", "American spelling"),
    pattern!("long-line", Wide, "", "at most 100 columns"),
];
