//! The command line of `bpa-agent`.

mod args;
mod doctor;
mod exit;
mod join;
pub mod keys;
pub mod leases;
mod logs;
mod run;
mod runs;
mod status;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command, Common};
use exit::{CliError, CliResult, Exit};

use crate::config::{Config, ConfigError};

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // What is written here is for the agent alone, also where a library or ansible writes it.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    if let Command::Supervise { directory } = &cli.command {
        // Small and quiet: no logging, no configuration, a runtime of its own.
        return match crate::supervisor::supervise(directory) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                note(&format!("error: {error}"));
                Exit::Error.into()
            }
        };
    }
    let default = if matches!(cli.command, Command::Run) { "info" } else { "warn" };
    let result = bpa_common::telemetry::init(cli.common.log.as_deref(), default)
        .map_err(CliError::other)
        .and_then(|()| {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.map_err(CliError::other)?.block_on(execute(&cli))
        });
    result.unwrap_or_else(|error| {
        note(&format!("error: {error}"));
        error.exit().into()
    })
}

async fn execute(cli: &Cli) -> CliResult {
    let common = &cli.common;
    match &cli.command {
        Command::Run => Box::pin(run::run(common)).await,
        Command::Join(args) => join::join(common, args).await,
        Command::Runs(args) => runs::runs(common, args),
        Command::Logs(args) => logs::logs(common, args).await,
        Command::Leases(args) => {
            leases::run(args, &common.config, common.output).map_err(CliError::other)
        }
        Command::Doctor => doctor::doctor(common).await,
        Command::Keys(args) => {
            keys::run(args, &common.state_dir()?, common.output).map_err(CliError::other)
        }
        Command::Supervise { .. } => Ok(Exit::Ok.into()),
    }
}

/// Prints a line for a person to standard error.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

impl Common {
    /// The configuration, with the state directory of the command line if there is one.
    fn load(&self) -> Result<Config, ConfigError> {
        let mut config = Config::load(&self.config)?;
        if let Some(state_dir) = &self.state_dir {
            config.state_dir.clone_from(state_dir);
        }
        Ok(config)
    }

    /// The state directory, also where there is no configuration yet. A configuration that was
    /// named must be there: what it says about the directory is not guessed.
    fn state_dir(&self) -> Result<PathBuf, CliError> {
        let usual = self.config == Path::new(crate::config::DEFAULT_PATH);
        match (&self.state_dir, Config::load(&self.config)) {
            (Some(dir), _) => Ok(dir.clone()),
            (None, Ok(config)) => Ok(config.state_dir),
            (None, Err(ConfigError::Read { source, .. }))
                if usual && source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(crate::config::default_state_dir())
            }
            (None, Err(error)) => Err(CliError::other(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_every_command_shows_an_example() {
        let command = Cli::command();
        command.clone().debug_assert();
        let mut waiting: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        while let Some(sub) = waiting.pop() {
            if sub.is_hide_set() {
                continue;
            }
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{}", sub.get_name());
            waiting.extend(sub.get_subcommands().cloned());
        }
    }

    #[test]
    fn a_configuration_that_was_named_must_be_there() {
        let common = |args: &[&str]| Cli::parse_from(args.iter().copied()).common;
        let named = common(&["bpa-agent", "runs", "--config", "/nowhere/agent.toml"]);
        assert!(named.state_dir().unwrap_err().to_string().contains("/nowhere/agent.toml"));
        let both = ["bpa-agent", "runs", "--config", "/nowhere/agent.toml", "--state-dir", "/s"];
        assert_eq!(common(&both).state_dir().unwrap(), Path::new("/s"));
    }

    #[test]
    fn every_exit_code_is_in_the_documentation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/exit-codes.md");
        let text = std::fs::read_to_string(path).unwrap();
        for code in [0, 1, 3, 4, 5] {
            assert!(text.contains(&format!("| {code} |")), "{code}");
        }
    }
}
