//! [`Screen`]: a test terminal around an [`App`].

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use npukit_debug::Debugger;
use npukit_interactive::tui::{App, Look, draw};
use ratatui_core::backend::TestBackend;
use ratatui_core::style::Style;
use ratatui_core::terminal::Terminal;

pub const PLAIN: Look = Look { has_colors: false, has_unicode: true };
pub const COLORED: Look = Look { has_colors: true, has_unicode: true };

pub struct Screen {
    app: App,
    terminal: Terminal<TestBackend>,
    /// Whether the app continues after the last key.
    goes_on: bool,
}

impl Screen {
    /// Returns a screen of this many columns and lines, after the clock has answered.
    pub fn new(debugger: Debugger, size: (u16, u16), look: Look) -> Self {
        let mut screen = Self::early(debugger, size, look);
        screen.work();
        screen
    }

    /// Returns a screen before the clock has answered, not yet drawn.
    pub fn early(debugger: Debugger, (columns, lines): (u16, u16), look: Look) -> Self {
        let app = App::new(debugger, &["a note".to_owned()], look);
        Self { app, terminal: Terminal::new(TestBackend::new(columns, lines)).unwrap(), goes_on: true }
    }

    /// Does all pending work, and draws.
    fn work(&mut self) {
        while self.app.is_busy() {
            self.draw();
            self.goes_on &= self.app.work();
        }
        while self.app.awaits_clock() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            self.app.hear_clock();
        }
        self.draw();
    }

    pub fn draw(&mut self) {
        self.terminal.draw(|frame| draw(&mut self.app, frame)).unwrap();
    }

    /// Presses a key without doing the work that follows; returns whether the app continues.
    pub fn press_only(&mut self, code: KeyCode) -> bool {
        self.app.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    /// Presses a key; returns whether the app continues.
    pub fn press(&mut self, code: KeyCode) -> bool {
        self.goes_on = self.press_only(code);
        self.work();
        self.goes_on
    }

    /// Presses a key together with Control; returns whether the app continues.
    pub fn control(&mut self, letter: char) -> bool {
        self.goes_on = self.app.press(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
        self.work();
        self.goes_on
    }

    /// Presses the keys of some letters.
    pub fn keys(&mut self, letters: &str) {
        letters.chars().for_each(|letter| assert!(self.press(KeyCode::Char(letter)), "{letter} leaves"));
    }

    /// Executes a command on the command line, and closes the line.
    pub fn command(&mut self, command: &str) {
        self.keys(":");
        self.keys(command);
        assert!(self.press(KeyCode::Enter));
        self.press(KeyCode::Esc);
    }

    /// Returns the lines of the screen.
    pub fn lines(&self) -> Vec<String> {
        let buffer = self.terminal.backend().buffer();
        let line = |y| {
            let cells = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..buffer.area.height).map(line).collect()
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Fails and prints the screen if it does not show a text.
    #[track_caller]
    pub fn has(&self, text: &str) {
        assert!(self.text().contains(text), "no `{text}` on\n{}", self.text());
    }

    /// Fails and prints the screen if it shows a text.
    #[track_caller]
    pub fn lacks(&self, text: &str) {
        assert!(!self.text().contains(text), "`{text}` on\n{}", self.text());
    }

    /// Returns the style of the first letter of `text` in the first line that contains `line`.
    #[track_caller]
    pub fn style(&self, line: &str, text: &str) -> Style {
        let lines = self.lines();
        let y = lines.iter().position(|other| other.contains(line));
        let y = y.unwrap_or_else(|| panic!("no `{line}` on\n{}", self.text()));
        let begin = lines[y].find(line).unwrap();
        let at = lines[y][begin..].find(text).unwrap() + begin;
        let x = lines[y][..at].chars().count();
        self.terminal.backend().buffer()[(x as u16, y as u16)].style()
    }
}
