//! [`Report::page`]: a report as one file for a browser.

use npukit_base::{on_a_line, printable};
use serde_json::Value;

use crate::data::{Report, SCHEMA};

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/style.css");

/// Includes the content of these scripts.
macro_rules! scripts {
    ($($name:literal),* $(,)?) => { &[$(include_str!(concat!("../assets/", $name, ".js"))),*] };
}

/// Scripts in the order in which they are read: later ones use definitions of earlier ones.
#[rustfmt::skip] // A list.
const SCRIPTS: &[&str] = scripts![
    "dom", "numbers", "colors", "state", "data", "plot", "pointer", "table", "section", "summary",
    "accuracy", "problems", "layers", "slices", "timeline_draw", "timeline_input", "timeline_tables", "timeline",
    "memory", "roofline", "histogram", "distribution", "graph_layout", "graph", "graph_view", "parameters",
    "compare", "points", "pareto", "pareto_colors", "pareto_filters", "pareto_plot", "chosen", "main",
];

/// Markup around the data in a page.
const DATA: (&str, &str) = ("<script id=\"data\" type=\"application/json\">", "</script>");

impl Report {
    /// Returns the report as JSON, with its schema name.
    pub fn document(&self) -> Value {
        // Default: numbers, texts and lists can always be serialized.
        let mut document = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = document.as_object_mut() {
            fields.insert("schema".to_owned(), SCHEMA.into());
        }
        document
    }

    /// Returns the page as one file, which works without a network.
    pub fn page(&self) -> String {
        // No text of a model may end the element that contains the data.
        let data = shown(self.document()).to_string().replace('<', "\\u003c");
        let parts = [
            ("style", STYLE),
            ("script", &SCRIPTS.join("\n")),
            ("title", &escaped(&self.title)),
            ("data", &data),
        ];
        let mut page = String::with_capacity(PAGE.len() + data.len() + parts[1].1.len() + STYLE.len());
        let mut rest = PAGE;
        while let Some((before, after)) = rest.split_once("{{") {
            page += before;
            let Some((name, after)) = after.split_once("}}") else { break };
            let part = parts.iter().find(|(part, _)| *part == name);
            debug_assert!(part.is_some(), "the page has a place for `{name}`");
            page += part.map_or("", |(_, text)| text);
            rest = after;
        }
        page + rest
    }
}

/// Returns the data of a page that [`Report::page`] made, or of a plain JSON document; `None` for
/// any other text.
pub fn document_of(text: &str) -> Option<Value> {
    let data = match text.split_once(DATA.0) {
        Some((_, after)) => after.split_once(DATA.1)?.0,
        None => text,
    };
    let document: Value = serde_json::from_str(data).ok()?;
    (document.get("schema")? == SCHEMA).then_some(document)
}

/// Escapes all texts as in tables, since a browser obeys direction marks like a terminal.
fn shown(document: Value) -> Value {
    let own = |text: String| printable(&text).into_owned();
    match document {
        Value::String(text) => Value::String(own(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(shown).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (own(name), shown(value))).collect())
        }
        number => number,
    }
}

/// Escapes a text for XML or HTML, on one line, with characters that they cannot contain escaped as
/// in tables.
pub(crate) fn escaped(text: &str) -> String {
    on_a_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_all_its_parts_and_its_data_can_be_read_again() {
        let title = "a <model> & \"chip\" {{data}} </script>".to_owned();
        let report = Report { title, version: "1".to_owned(), ..Report::default() };
        let page = report.page();
        assert!(page.contains("<title>a &lt;model&gt; &amp; &quot;chip&quot;"), "{}", &page[..400]);
        assert_eq!(document_of(&page), Some(report.document()));
        assert_eq!(document_of(&report.document().to_string()), Some(report.document()));
        assert!(page.contains(STYLE) && SCRIPTS.iter().all(|script| page.contains(script)));
        for elsewhere in ["http://", "https://", "//cdn"] {
            let found = page.replace("http://www.w3.org/", "");
            assert!(!found.contains(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn texts_hold_what_xml_holds_and_a_browser_shows() {
        let every = (0..0x2_0000).filter_map(char::from_u32).collect::<String>();
        // Source: XML 1.0, production 2, Char.
        let is_xml = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..);
        assert!(escaped(&every).chars().all(|c| is_xml(c) && npukit_base::is_printable(c)));
        let fields = [(every.clone(), vec![Value::String(every)].into())].into_iter().collect();
        let data = shown(Value::Object(fields)).to_string();
        assert!(data.chars().all(npukit_base::is_printable));
    }

    #[test]
    fn other_texts_have_no_data() {
        let cut = format!("{}{{\"schema\"", DATA.0);
        for text in ["", "{}", "{\"schema\": \"npukit.time/1\"}", "<html></html>", &cut] {
            assert_eq!(document_of(text), None, "{text}");
        }
    }
}
