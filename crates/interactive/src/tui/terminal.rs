//! [`run`]: the main loop on a terminal.

use std::io;
use std::panic;
#[cfg(unix)]
use std::thread;
use std::time::Duration;

use crossterm::cursor::Show;
use crossterm::event::{self, Event, KeyEventKind};
use crossterm::execute;
use crossterm::style::force_color_output;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use npukit_debug::Debugger;
use ratatui_core::terminal::Terminal;

use crate::tui::backend::Crossterm;
use crate::tui::{App, Look, draw};

/// Interval at which the clock's answer is polled.
const PAUSE: Duration = Duration::from_millis(50);

/// Debugs on the terminal until the user quits; `notes` are shown first.
///
/// The terminal is restored at the end, also after a panic or a signal.
///
/// # Errors
/// The terminal cannot be drawn on or has disappeared.
pub fn run(debugger: Debugger, notes: &[String], look: Look) -> io::Result<()> {
    // The caller has decided on colors; the environment must not override that.
    force_color_output(look.has_colors);
    restored_at_signals()?;
    restored_at_panics();
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    let mut terminal = Terminal::new(Crossterm::new())?;
    let done = shown(&mut terminal, &mut App::new(debugger, notes, look));
    leave()?;
    done
}

/// Makes a panic restore the terminal before its message is printed.
fn restored_at_panics() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // If the terminal is gone, nothing can be reported.
        let _ = leave();
        previous(panic);
    }));
}

/// Restores the terminal; the keyboard mode first, as it affects the user most.
fn leave() -> io::Result<()> {
    disable_raw_mode()?;
    execute!(io::stdout(), LeaveAlternateScreen)
}

/// Makes a signal restore the terminal before it ends the process.
#[cfg(unix)]
fn restored_at_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::low_level::emulate_default_handler;
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    let end = move || {
        if let Some(signal) = signals.forever().next() {
            restore();
            // The process ends here, so an error cannot be reported.
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("signals of the terminal".to_owned()).spawn(end).map(drop)
}

#[cfg(not(unix))]
fn restored_at_signals() -> io::Result<()> {
    Ok(())
}

/// Restores the state that the terminal had before [`run`].
fn restore() {
    // If the terminal is gone, nothing can be reported.
    let _ = leave();
    // A dropped terminal shows the cursor again, but here nothing is dropped.
    let _ = execute!(io::stdout(), Show);
}

fn shown(terminal: &mut Terminal<Crossterm>, app: &mut App) -> io::Result<()> {
    loop {
        terminal.draw(|frame| draw(app, frame))?;
        if app.is_busy() && !event::poll(Duration::ZERO)? {
            if !app.work() {
                return Ok(());
            }
            continue;
        }
        if app.awaits_clock() && !event::poll(PAUSE)? {
            app.hear_clock();
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && !app.press(key)
        {
            return Ok(());
        }
    }
}
