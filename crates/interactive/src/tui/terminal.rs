//! [`run`]: the loop around a terminal.

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

/// How often it is looked whether the clock has answered.
const PAUSE: Duration = Duration::from_millis(50);

/// Debugs on the terminal until its user leaves. `notes` is what was taken for granted.
///
/// However it ends, also by a panic or a signal, the terminal is then as it was before.
///
/// # Errors
///
/// A terminal that cannot be drawn on, or has gone.
pub fn run(debugger: Debugger, notes: &[String], look: Look) -> io::Result<()> {
    // Whoever calls knows whether there are to be colours, which is not for the environment to say again.
    force_color_output(look.has_colours);
    restored_at_signals()?;
    restored_at_panics();
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    let mut terminal = Terminal::new(Crossterm::new())?;
    let done = shown(&mut terminal, &mut App::new(debugger, notes, look));
    leave()?;
    done
}

/// Gives the terminal back, from now on, before a panic is told.
fn restored_at_panics() {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // Nobody is left to tell when the terminal is gone.
        let _ = leave();
        told(panic);
    }));
}

/// Gives the terminal back: its keys first, as that has more effects.
fn leave() -> io::Result<()> {
    disable_raw_mode()?;
    execute!(io::stdout(), LeaveAlternateScreen)
}

/// Gives the terminal back, from now on, when a signal ends the process.
#[cfg(unix)]
fn restored_at_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::low_level::emulate_default_handler;
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    let end = move || {
        if let Some(signal) = signals.forever().next() {
            restore();
            // It ends the process, so that nobody is left to tell.
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("signals of the terminal".to_owned()).spawn(end).map(drop)
}

#[cfg(not(unix))]
fn restored_at_signals() -> io::Result<()> {
    Ok(())
}

/// Makes the terminal what it was before [`run`].
fn restore() {
    // Nobody is left to tell when the terminal is gone.
    let _ = leave();
    // Which a terminal does when it is dropped.
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
