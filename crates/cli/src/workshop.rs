//! [`Shop`]: runs the tools of `npu build` in the folder of its results.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use npukit::boards::ecp5::{Step, Tool, modules};
use npukit::verbs::build::{BuildError, Workshop};

use crate::printable::line;
use crate::programs;
use crate::verbosity::is_quiet;
use crate::watch::Watch;

/// Time between two shown lines of a tool.
const PAUSE: Duration = Duration::from_secs(10);
/// Number of last lines of a tool that an error shows.
const SHOWN_LINES: usize = 12;

/// Folder in which the steps run.
pub struct Shop<'a> {
    folder: PathBuf,
    watch: &'a Watch,
}

impl<'a> Shop<'a> {
    /// Selects a folder, which may not exist yet.
    pub fn new(folder: &Path, watch: &'a Watch) -> Result<Self, BuildError> {
        let folder = absolute(folder).map_err(|error| unusable(folder, &error))?;
        Ok(Self { folder, watch })
    }

    fn show(&self, text: &str) {
        if !is_quiet() {
            // Without standard error there is no progress either.
            let write = || io::stderr().lock().write_all(line(text).as_bytes());
            let _ = self.watch.beside(write);
        }
    }

    /// Copies the output of a tool to its log, shows a line now and then, and returns the last
    /// lines.
    fn follow(&self, step: &Step, output: impl io::Read, log: &mut File) -> io::Result<Vec<String>> {
        let (mut last, mut shown) = (Vec::new(), Instant::now());
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            log.write_all(&line)?;
            log.write_all(b"\n")?;
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if shown.elapsed() >= PAUSE && !text.is_empty() {
                self.show(&format!("{}: {text}", step.name));
                shown = Instant::now();
            }
            if last.len() == SHOWN_LINES {
                last.remove(0);
            }
            last.push(text);
        }
        Ok(last)
    }

    /// Runs a program; returns its exit status and its last lines.
    fn followed(&self, step: &Step, program: &OsStr, log: &Path) -> io::Result<(ExitStatus, Vec<String>)> {
        let mut log = File::create(log)?;
        let (output, input) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(&step.arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.env("PYTHONPATH", self.folder.join(modules()));
        let mut child = command.stdout(input.try_clone()?).stderr(input).spawn()?;
        // The command holds the ends of the pipe that the tool writes to.
        drop(command);
        let last = self.follow(step, output, &mut log)?;
        Ok((child.wait()?, last))
    }
}

impl Workshop for Shop<'_> {
    fn find(&self, tool: Tool) -> Result<OsString, BuildError> {
        let (title, variable, install) = (tool.title(), tool.variable(), tool.install());
        let found = programs::found(variable, tool.names(), tool.probe());
        found.map(|(program, _)| program).map_err(|tried| BuildError::Tool {
            tool: title,
            tried,
            install,
            variable,
        })
    }

    fn begin(&self) -> Result<(), BuildError> {
        let removed = if self.folder.exists() { fs::remove_dir_all(&self.folder) } else { Ok(()) };
        removed
            .and_then(|()| fs::create_dir_all(&self.folder))
            .map_err(|error| unusable(&self.folder, &error))
    }

    fn run(&self, step: &Step, program: &OsStr) -> Result<(), BuildError> {
        let begin = Instant::now();
        self.show(&format!("{}: {} {}", step.name, program.display(), step.arguments.join(" ")));
        let log = self.folder.join(format!("{}.log", step.name.replace(' ', "-")));
        let (status, last) =
            self.followed(step, program, &log).map_err(|error| unusable(Path::new(program), &error))?;
        if status.success() {
            self.show(&format!("{}: {:.0} seconds", step.name, begin.elapsed().as_secs_f64()));
            return Ok(());
        }
        Err(BuildError::Step {
            step: step.name,
            status: status.to_string(),
            output: last.join("\n"),
            log: log.display().to_string(),
        })
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, BuildError> {
        let path = self.folder.join(name);
        fs::read(&path).map_err(|error| unusable(&path, &error))
    }

    fn write(&self, name: &str, contents: &[u8]) -> Result<(), BuildError> {
        let path = self.folder.join(name);
        fs::write(&path, contents).map_err(|error| unusable(&path, &error))
    }
}

fn unusable(path: &Path, error: &io::Error) -> BuildError {
    BuildError::Folder { path: path.display().to_string(), reason: error.to_string() }
}
