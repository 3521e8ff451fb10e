//! `watch`: follows a Provisioning, live on a terminal, as plain lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use bpa_common::api::Provisioning;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::Timestamp;
use tokio::time::Instant;

use super::args::{Common, WatchArgs};
use super::exit::{CliError, CliResult, Exit};
use super::find;
use super::output::{Output, note, print};
use super::render::live::{self, End};
use super::render::{cause, text, words};
use super::world::AnyWorld;
use crate::cluster::directory::running;
use crate::cluster::kind::Kind;
use crate::planning::kubeconfig_command;

/// How often to look when nothing was told: times on the screen go on.
const REDRAW: Duration = Duration::from_millis(500);

/// `watch`.
pub async fn watch(common: &Common, args: &WatchArgs) -> CliResult {
    let world = AnyWorld::open(common).await?;
    let mut changes = world.changes();
    let mut view = View::new(common.output);
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    let mut last: Option<std::sync::Arc<Provisioning>> = None;
    let mut wanted = args.name.clone();
    let mut silent = false;
    if !common.kubernetes.on && !running(&common.state) {
        note(
            "no coordinator runs on this state directory: nothing changes until bpa-coordinator run",
        );
    }
    loop {
        changes.mark_unchanged();
        let snapshot = world.snapshot().await?;
        let found =
            find::pick(Kind::Provisioning, &snapshot.provisionings, |p| &p.metadata, &wanted);
        match found.cloned() {
            Ok(p) => {
                let silence = cause::silence(&p, &snapshot.sites, Timestamp::now()).is_some();
                // A name that was unique at the first look may not stay so.
                wanted = p.metadata.key().to_string();
                if silence && !silent {
                    view.say("the site is not connected: what it told last is shown; the run goes on there");
                } else if silent && !silence {
                    view.say("the site is connected again");
                }
                silent = silence;
                view.show(last.as_deref(), &p)?;
                if let Some(end) = live::end(&p) {
                    view.finish(&p)?;
                    return Ok(if end == End::Ready { Exit::Ok } else { Exit::NotReady });
                }
                last = Some(p);
            }
            Err(CliError::NotFound(_)) if last.is_some() => {
                note(&format!("{wanted} is deleted"));
                let asked = last.is_some_and(|last| last.metadata.is_deleting());
                return Ok(if asked { Exit::Ok } else { Exit::NotFound });
            }
            Err(error) => return Err(error),
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            note(&format!("{wanted} is not ready in the time that was given"));
            return Ok(Exit::NotReady);
        }
        tokio::select! {
            _ = changes.changed() => {}
            () = tokio::time::sleep(REDRAW) => {}
        }
    }
}

/// Where it is shown.
enum View {
    Screen(Screen),
    Plain,
    /// One JSON object a line, at each change.
    Json,
}

impl View {
    fn new(output: Output) -> Self {
        match output {
            Output::Table if std::io::stdout().is_terminal() => Self::Screen(Screen::default()),
            Output::Table => Self::Plain,
            Output::Json | Output::Yaml => Self::Json,
        }
    }

    fn show(&mut self, old: Option<&Provisioning>, new: &Provisioning) -> Result<(), CliError> {
        match self {
            Self::Screen(screen) => {
                screen.draw(live::screen(new, Timestamp::now()));
                Ok(())
            }
            Self::Plain => {
                let now = Timestamp::now().strftime("%H:%M:%S");
                let lines = live::changes(old, new);
                let text: String = lines.iter().map(|line| format!("{now} {line}\n")).collect();
                Ok(print(&text)?)
            }
            Self::Json if old != Some(new) => {
                let line = serde_json::to_string(new).map_err(CliError::other)?;
                Ok(print(&(line + "\n"))?)
            }
            Self::Json => Ok(()),
        }
    }

    /// A word beside the story, for people.
    fn say(&self, text: &str) {
        match self {
            Self::Screen(screen) => drop(screen.all.println(text)),
            Self::Plain | Self::Json => note(text),
        }
    }

    /// The last words stay on the screen.
    fn finish(&mut self, p: &Provisioning) -> Result<(), CliError> {
        if let Self::Json = self {
            return Ok(());
        }
        if let Self::Screen(screen) = self {
            screen.end();
        }
        match (p.status.phase.as_str(), &p.status.kubeconfig_secret) {
            ("Ready", Some(place)) => {
                let command = kubeconfig_command(&p.metadata.namespace, place);
                Ok(print(&(text::clean(&command) + "\n"))?)
            }
            ("Ready", None) => Ok(()),
            _ => {
                let message = words::message(p);
                let mut lines: Vec<String> = message.lines().map(text::clean).collect();
                let name = &p.metadata.name;
                lines.push(format!("more: bpa-coordinator describe {name}"));
                if p.status.run.is_some() {
                    lines.push(format!("to try again: bpa-coordinator retry {name}"));
                }
                Ok(print(&(lines.join("\n") + "\n"))?)
            }
        }
    }
}

/// Lines that are drawn over and over.
#[derive(Default)]
struct Screen {
    all: MultiProgress,
    lines: Vec<ProgressBar>,
}

impl Screen {
    fn draw(&mut self, lines: Vec<String>) {
        while self.lines.len() < lines.len() {
            let line = self.all.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                line.set_style(style);
            }
            self.lines.push(line);
        }
        while self.lines.len() > lines.len() {
            if let Some(line) = self.lines.pop() {
                line.finish_and_clear();
                self.all.remove(&line);
            }
        }
        for (bar, line) in self.lines.iter().zip(lines) {
            bar.set_message(line);
            bar.tick();
        }
    }

    fn end(&mut self) {
        self.lines.iter().for_each(ProgressBar::abandon);
    }
}
