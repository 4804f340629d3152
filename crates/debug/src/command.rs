//! [`Command`]: a command of the debugger, and [`parse`], which reads one.

mod help;
mod words;

use npukit_base::{Span, help_for};

use crate::Debugger;
use crate::place::Range;
use crate::points::{Condition, On, Order, PointKind, Watch};
use crate::stop::Stop;
pub use help::{COMMANDS, Help};
use words::{Word, Words};

/// Error in the text of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte range of the error in the line.
    pub span: Span,
    /// Description of the error, in one line.
    pub message: String,
    /// Legal alternatives at that place.
    pub help: Option<String>,
}

/// Representation in which numbers are shown or given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Real values, for memories that have a scale.
    #[default]
    Real,
    /// The machine's integers.
    Raw,
    /// Bits of the machine's integers, in hexadecimal.
    Hex,
    /// Values of the float reference.
    Float,
    /// Difference between the machine's values and the float reference.
    Error,
}

impl Scale {
    /// All representations with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("real", Self::Real),
        ("raw", Self::Raw),
        ("hex", Self::Hex),
        ("float", Self::Float),
        ("error", Self::Error),
    ];
}

/// Command of the debugger.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// `help`: explains one command, or lists all.
    Help(Option<String>),
    /// `step`: number of steps forward.
    Step(usize),
    /// `back`: number of steps backward.
    Back(usize),
    /// `next`: number of layers forward.
    Next(usize),
    /// `previous`: number of layers backward.
    Previous(usize),
    /// `goto`: number of steps done at the new position.
    Goto(usize),
    /// `goto cycle`: clock cycle of the new position.
    GotoCycle(u64),
    /// `continue`: forward to the next point or the end.
    Continue,
    /// `reverse`: backward to the previous point or the start.
    Reverse,
    /// `break` and `watch`: points to add; a line with several instructions gives several.
    Point(Vec<PointKind>),
    /// `delete`: id of the point to remove, or `None` for all.
    Delete(Option<u32>),
    /// `points`: lists breakpoints and watchpoints.
    Points,
    /// `scan`: lists all steps that hit a watchpoint.
    Scan,
    /// `where`: shows the position.
    Where,
    /// `list`: number of lines shown before and after the next step.
    List(usize),
    /// `layers`: lists the layers.
    Layers,
    /// `memories`: lists the memories.
    Memories,
    /// `tensors`: lists the addresses of inputs, constants and outputs.
    Tensors,
    /// `show`: numbers to show, and their representation.
    Show(Range, Scale),
    /// `accesses`: step whose reads and writes are shown; `None` for the next step.
    Accesses(Option<usize>),
    /// `changed`: addresses that the last step wrote.
    Changed,
    /// `who`: traces numbers back; the second field is the depth in instructions.
    Who(Range, usize),
    /// `clock`: timing of the next step.
    Clock,
    /// `motion`: values inside a unit during the next step, in one cycle; `None` for all cycles.
    Motion(Option<u64>),
    /// `expect`: checks an expectation.
    Expect(Expectation),
}

/// Condition that an `expect` command checks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expectation {
    /// The next step has this number.
    Step(usize),
    /// The next step belongs to the layer of this name.
    Layer(String),
    /// The next step begins in this clock cycle.
    Cycle(u64),
    /// The next step is in this line of the text, starting at 1.
    Line(usize),
    /// The text of the next step contains this string.
    Text(String),
    /// Reason of the last stop, and the id of its point if given.
    Stop(&'static str, Option<u32>),
    /// Number of results that have saturated so far.
    Saturations(u64),
    /// Number of hits of the last scan.
    Hits(usize),
    /// Step that wrote the number of the last `who`; `None` if no step wrote it.
    Writer(Option<usize>),
    /// Contents of a range: one value for all numbers, or one value per number.
    Values {
        /// Numbers to compare.
        range: Range,
        /// Representation in which the values are given.
        scale: Scale,
        /// Expected values, one or one per number of the range.
        values: Vec<f64>,
        /// Greatest absolute difference that is accepted.
        within: f64,
    },
}

/// Default depth of `who`, in instructions.
const DEPTH: usize = 3;
/// Default number of lines that `list` shows on either side.
const AROUND: usize = 5;

/// Parses a line; returns `None` for an empty line or a comment.
///
/// # Errors
/// The error in the line, and its place.
pub fn parse(line: &str, of: &Debugger) -> Result<Option<Command>, Fault> {
    let mut words = Words::new(line);
    let Some(verb) = words.next() else { return Ok(None) };
    let Some(help) = Help::of(verb.text) else {
        let names: Vec<&str> = COMMANDS.iter().map(|help| help.name).collect();
        let message = format!("unknown command `{}`", verb.text);
        return Err(Fault { span: verb.span, message, help: Some(help_for(verb.text, &names)) });
    };
    let command = Reader { words, of, help }.command()?;
    Ok(Some(command))
}

/// Parser of one command line.
struct Reader<'a> {
    words: Words<'a>,
    of: &'a Debugger,
    help: &'static Help,
}

impl<'a> Reader<'a> {
    fn command(mut self) -> Result<Command, Fault> {
        let command = match self.help.name {
            "help" => Command::Help(self.words.next().map(|word| word.text.to_owned())),
            "step" => Command::Step(self.count()?),
            "back" => Command::Back(self.count()?),
            "next" => Command::Next(self.count()?),
            "previous" => Command::Previous(self.count()?),
            "goto" => self.goto()?,
            "continue" => Command::Continue,
            "reverse" => Command::Reverse,
            "break" => Command::Point(self.breakpoints()?),
            "watch" => Command::Point(vec![PointKind::Watch(self.watch()?)]),
            "delete" => self.delete()?,
            "points" => Command::Points,
            "scan" => Command::Scan,
            "where" => Command::Where,
            "list" => Command::List(self.optional("how many lines")?.unwrap_or(AROUND)), // Default: a screen's worth.
            "layers" => Command::Layers,
            "memories" => Command::Memories,
            "tensors" => Command::Tensors,
            "show" => self.show()?,
            "accesses" => Command::Accesses(self.optional("a step")?),
            "changed" => Command::Changed,
            "who" => self.who()?,
            "clock" => Command::Clock,
            "motion" => Command::Motion(self.optional("a cycle")?),
            _ => Command::Expect(self.expectation()?),
        };
        match self.words.next() {
            None => Ok(command),
            Some(word) => Err(self.fault(word.span, format!("unexpected `{}`", word.text))),
        }
    }

    /// Returns an error at `span`; its help shows the form of the command.
    fn fault(&self, span: Span, message: String) -> Fault {
        Fault { span, message, help: Some(format!("the form is `{}`", self.help.form)) }
    }

    fn needed(&mut self, what: &str) -> Result<Word<'a>, Fault> {
        let end = self.words.end();
        self.words.next().ok_or_else(|| self.fault(end, format!("{what} is missing")))
    }

    fn number<T: TryFrom<u64>>(&self, word: Word<'_>, what: &str) -> Result<T, Fault> {
        let number = npukit_isa::token::number(word.text).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.fault(word.span, format!("`{}` is not {what}", word.text)))
    }

    fn optional<T: TryFrom<u64>>(&mut self, what: &str) -> Result<Option<T>, Fault> {
        self.words.next().map(|word| self.number(word, what)).transpose()
    }

    fn count(&mut self) -> Result<usize, Fault> {
        // Default: one time.
        Ok(self.optional("a number of times")?.unwrap_or(1))
    }

    fn one_of<T: Copy>(&self, word: Word<'_>, what: &str, all: &[(&'static str, T)]) -> Result<T, Fault> {
        let found = all.iter().find(|(name, _)| *name == word.text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            let message = format!("`{}` is not a {what}", word.text);
            Fault { span: word.span, message, help: Some(format!("legal are {}", names.join(", "))) }
        })
    }

    fn range(&mut self) -> Result<Range, Fault> {
        let word = self.needed("a range of a memory")?;
        self.range_of(word)
    }

    fn range_of(&self, word: Word<'_>) -> Result<Range, Fault> {
        let memories = self.of.machine().memories();
        Range::parse(word.text, memories).map_err(|(message, help)| Fault { span: word.span, message, help })
    }

    fn layer(&mut self) -> Result<usize, Fault> {
        let word = self.needed("the name of a layer")?;
        let layers = self.of.machine().layers();
        let found = layers.iter().position(|name| name == word.text);
        found.ok_or_else(|| {
            let names: Vec<&str> = layers.iter().map(String::as_str).collect();
            let help = match names.is_empty() {
                true => "the program has no layers".to_owned(),
                false => help_for(word.text, &names),
            };
            Fault { span: word.span, message: format!("unknown layer `{}`", word.text), help: Some(help) }
        })
    }

    /// Parses a line of the text as `[FILE:]LINE` and returns its instructions.
    fn line(&mut self) -> Result<Vec<usize>, Fault> {
        let word = self.needed("a line")?;
        let (file, line) = match word.text.rsplit_once(':') {
            Some((file, line)) => (Some(file), line),
            None => (None, word.text),
        };
        let number: usize = self.number(Word { text: line, ..word }, "a line")?;
        let found = self.of.instructions_at(file, number).to_vec();
        if found.is_empty() {
            let help = match self.of.texts().next() {
                None => "the program has no source text",
                Some(_) => "only lines with an instruction are legal",
            };
            let message = format!("no instruction begins at line {}", word.text);
            return Err(Fault { span: word.span, message, help: Some(help.to_owned()) });
        }
        Ok(found)
    }

    /// Parses the number of an instruction of the program.
    fn instruction(&self, word: Word<'_>) -> Result<usize, Fault> {
        let number: usize = self.number(word, "an instruction")?;
        let count = self.of.listing().map_err(|text| self.fault(word.span, text.to_owned()))?.len();
        if number < count {
            return Ok(number);
        }
        let help = format!("the program has instructions 0 to {}", count.saturating_sub(1));
        Err(Fault {
            span: word.span,
            message: format!("instruction {number} does not exist"),
            help: Some(help),
        })
    }

    fn goto(&mut self) -> Result<Command, Fault> {
        let word = self.needed("where to")?;
        let machine = self.of.machine();
        let steps = machine.steps();
        let first = |instructions: Vec<usize>| {
            let first = instructions.iter().filter_map(|&one| machine.steps_of(one).first().copied()).min();
            // Default: an instruction that is never executed is at the end.
            first.unwrap_or(steps)
        };
        Ok(match word.text {
            "start" => Command::Goto(0),
            "end" => Command::Goto(steps),
            "cycle" => {
                let word = self.needed("a cycle")?;
                Command::GotoCycle(self.number(word, "a cycle")?)
            }
            "line" => Command::Goto(first(self.line()?)),
            "layer" => {
                let layer = self.layer()?;
                let step = (0..steps).find(|&step| machine.layer(step) == Some(layer));
                // Default: a layer without steps is at the end.
                Command::Goto(step.unwrap_or(steps))
            }
            "instruction" => {
                let word = self.needed("an instruction")?;
                Command::Goto(first(vec![self.instruction(word)?]))
            }
            _ => {
                let step: usize = self.number(word, "a step")?;
                if step > steps {
                    let message = format!("the program has {steps} steps");
                    return Err(self.fault(word.span, message));
                }
                Command::Goto(step)
            }
        })
    }

    fn breakpoints(&mut self) -> Result<Vec<PointKind>, Fault> {
        let word = self.needed("where to stop")?;
        Ok(match word.text {
            "layer" => vec![PointKind::Layer(self.layer()?)],
            "line" => self.line()?.into_iter().map(PointKind::Instruction).collect(),
            "wait" => vec![PointKind::Wait(self.unit()?)],
            _ => vec![PointKind::Instruction(self.instruction(word)?)],
        })
    }

    /// Parses the name of a unit that waits in some step.
    fn unit(&mut self) -> Result<String, Fault> {
        let word = self.needed("the name of a unit")?;
        let moments = match self.of.moments() {
            Ok(moments) => moments,
            Err(reason) => return Err(self.fault(word.span, reason.to_owned())),
        };
        let mut names: Vec<&str> =
            moments.iter().flat_map(|moment| &moment.waits).map(|(unit, ..)| unit.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.contains(&word.text) {
            return Ok(word.text.to_owned());
        }
        let help = if names.is_empty() { "no unit waits".to_owned() } else { help_for(word.text, &names) };
        Err(Fault { span: word.span, message: format!("no unit `{}` waits", word.text), help: Some(help) })
    }

    fn watch(&mut self) -> Result<Watch, Fault> {
        let range = self.range()?;
        let mut on = On::Write;
        let mut next = self.words.next();
        if let Some(word) = next.filter(|word| word.text != "if") {
            on = self.one_of(word, "kind of access", &On::ALL)?;
            next = self.words.next();
        }
        let condition = match next {
            None => None,
            Some(word) if word.text == "if" => Some(self.condition()?),
            Some(word) => return Err(self.fault(word.span, format!("`{}` is not `if`", word.text))),
        };
        Ok(Watch { range, on, condition })
    }

    fn condition(&mut self) -> Result<Condition, Fault> {
        let mut word = self.needed("a comparison")?;
        let is_raw = word.text == "raw";
        if is_raw || word.text == "real" {
            word = self.needed("a comparison")?;
        }
        let order = self.one_of(word, "comparison", &Order::ALL)?;
        let value = self.needed("a number")?;
        Ok(Condition { is_raw, order, value: self.value(value)? })
    }

    fn value(&self, word: Word<'_>) -> Result<f64, Fault> {
        let integer = word.text.strip_prefix('-').unwrap_or(word.text); // Default: it has no sign.
        let sign = if integer.len() < word.text.len() { -1.0 } else { 1.0 };
        let number = npukit_isa::token::number(integer).map(|number| sign * number as f64);
        let number = number.or_else(|| word.text.parse().ok());
        number.ok_or_else(|| self.fault(word.span, format!("`{}` is not a number", word.text)))
    }

    fn delete(&mut self) -> Result<Command, Fault> {
        let word = self.needed("the number of a point, or `all`")?;
        if word.text == "all" {
            return Ok(Command::Delete(None));
        }
        Ok(Command::Delete(Some(self.number(word, "the number of a point")?)))
    }

    fn show(&mut self) -> Result<Command, Fault> {
        let range = self.range()?;
        let scale = match self.words.next() {
            None => Scale::Real,
            Some(word) => self.one_of(word, "form of numbers", &Scale::ALL)?,
        };
        Ok(Command::Show(range, scale))
    }

    fn who(&mut self) -> Result<Command, Fault> {
        let range = self.range()?;
        let depth = match self.words.next() {
            None => DEPTH,
            Some(word) if word.text == "depth" => {
                let word = self.needed("how many instructions back")?;
                self.number(word, "a number of instructions")?
            }
            Some(word) => return Err(self.fault(word.span, format!("`{}` is not `depth`", word.text))),
        };
        Ok(Command::Who(range, depth))
    }

    fn expectation(&mut self) -> Result<Expectation, Fault> {
        let word = self.needed("what is expected")?;
        Ok(match word.text {
            "step" => Expectation::Step(self.expected("a step")?),
            "cycle" => Expectation::Cycle(self.expected("a cycle")?),
            "line" => Expectation::Line(self.expected("a line")?),
            "saturations" => Expectation::Saturations(self.expected("a number")?),
            "hits" => Expectation::Hits(self.expected("a number")?),
            "layer" => {
                let layer = self.layer()?;
                Expectation::Layer(self.of.machine().layers()[layer].clone())
            }
            "text" => Expectation::Text(self.words.rest().to_owned()),
            "stop" => {
                let word = self.needed("why it stops")?;
                let name = self.one_of(word, "reason to stop", &Stop::NAMES.map(|name| (name, name)))?;
                let id =
                    self.words.next().map(|word| self.number(word, "the number of a point")).transpose()?;
                Expectation::Stop(name, id)
            }
            "writer" => {
                let word = self.needed("a step, or `nobody`")?;
                match word.text {
                    "nobody" => Expectation::Writer(None),
                    _ => Expectation::Writer(Some(self.number(word, "a step, or `nobody`")?)),
                }
            }
            _ => return self.values(word),
        })
    }

    fn expected<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, Fault> {
        let word = self.needed(what)?;
        self.number(word, what)
    }

    fn values(&mut self, word: Word<'_>) -> Result<Expectation, Fault> {
        let range = self.range_of(word).map_err(|fault| {
            let subjects =
                "step, cycle, line, saturations, hits, layer, text, stop, writer, or a range of a memory";
            Fault { help: Some(format!("legal are {subjects}")), ..fault }
        })?;
        let (mut scale, mut values, mut within) = (Scale::Real, Vec::new(), 0.0);
        while let Some(word) = self.words.next() {
            if word.text == "within" {
                let word = self.needed("a number")?;
                within = self.value(word)?;
                break;
            }
            match Scale::ALL.iter().find(|(name, _)| *name == word.text && values.is_empty()) {
                Some((_, found)) => scale = *found,
                None => values.push(self.value(word)?),
            }
        }
        let lanes = self.of.machine().memories()[range.memory].lanes;
        let count = (range.end - range.start) as usize * if range.lane.is_some() { 1 } else { lanes };
        if values.len() != 1 && values.len() != count {
            let message =
                format!("{} values do not fill `{}`: give {count}, or one for all", values.len(), range.text);
            return Err(self.fault(word.span, message));
        }
        Ok(Expectation::Values { range, scale, values, within })
    }
}
