//! The program `npu-interactive`: serves editors (`npu lsp`, `npu debug --dap`), terminals (`npu
//! debug`) and clients of a language model (`npu serve`). `npu` starts it for these verbs, so that
//! `npu` itself builds without the dependencies of this program.

#![forbid(unsafe_code)]

use std::io::{self, BufReader};
use std::process::ExitCode;

use npukit_cli::{Editor, Parts, Terminal};
use npukit_editor::dap;
use npukit_editor::lsp::{Workshop, stdio};
use npukit_interactive::serve;
use npukit_interactive::tui::{self, Look};
use npukit_target::{Instance, Reader};

fn main() -> ExitCode {
    npukit_cli::main(Some(&Parts {
        lsp: |editor| Ok(stdio(&OnDisk(editor))?),
        dap: |open| dap::serve(BufReader::new(io::stdin()), &mut io::stdout().lock(), open),
        screen: |debugger, notes, Terminal { has_colors, has_unicode }| {
            tui::run(debugger, notes, Look { has_colors, has_unicode })
        },
        serve: serve::run,
    }))
}

/// Environment of the language server, from the command line tool.
struct OnDisk<'a>(&'a Editor);

impl Workshop for OnDisk<'_> {
    fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String> {
        self.0.instance(spec)
    }

    fn of_folder(&self, path: &str) -> Option<String> {
        self.0.target_of_folder(path)
    }

    fn fallback(&self) -> Option<String> {
        self.0.fallback()
    }

    fn instances(&self) -> Vec<(String, String)> {
        self.0.instances()
    }

    fn files(&self) -> &dyn Reader {
        self.0.files()
    }
}
