//! The command line of `bpa-coordinator`.
//!
//! Each command reads values, and `render` makes text of them; exit codes are in `exit`.

mod args;
mod choose;
mod crds;
mod edits;
mod exit;
mod find;
mod lease_file;
mod logs;
mod manifest_files;
mod manifests;
mod objects;
mod output;
pub mod plan;
pub mod plan_text;
pub mod render;
mod run;
mod run_kubernetes;
mod site;
mod watch;
mod world;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};
use exit::{CliError, CliResult};
use output::note;

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let sources = (matches.value_source("objects"), matches.value_source("on"));
    // What the client library logs of a server that is away, we say ourselves, once.
    let default = match &cli.command {
        Command::Run(_) => "info,kube_client=off",
        _ => "warn,kube_client=off",
    };
    let result = bpa_common::telemetry::init(cli.common.log.as_deref(), default)
        .map_err(|error| CliError::Usage(error.to_string()))
        .and_then(|()| choose::check(&cli, sources.0, sources.1))
        .and_then(|()| {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            runtime.map_err(CliError::other)?.block_on(execute(&cli))
        });
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            let text = error.to_string();
            let lines: Vec<String> = text.lines().map(render::text::clean).collect();
            note(&format!("error: {}", lines.join("\n")));
            error.exit().into()
        }
    }
}

async fn execute(cli: &Cli) -> CliResult {
    let common = &cli.common;
    match &cli.command {
        Command::Run(args) => Box::pin(run::run(common, args)).await,
        Command::Plan(args) => manifests::plan(common, args).await,
        Command::Apply(args) => manifests::apply(common, args).await,
        Command::Delete(args) => manifests::delete(common, args).await,
        Command::Get(args) => objects::get(common, args).await,
        Command::Describe(args) => objects::describe(common, args).await,
        Command::Watch(args) => watch::watch(common, args).await,
        Command::Logs(args) => logs::logs(common, args).await,
        Command::Cancel(args) => edits::cancel(common, args).await,
        Command::Retry(args) => edits::retry(common, args).await,
        Command::Approve(args) => edits::approve(common, args).await,
        Command::Crds => crds::print_crds(common.output),
        Command::Site(command) => site::site(common, command).await,
    }
}
