//! Which of the two worlds the command line means, and mixtures that mean neither.

use clap::parser::ValueSource;

use super::args::{Cli, Command, SiteCommand};
use super::exit::CliError;

/// Refuses options that belong to the other world. `objects` and `kubernetes` say where these
/// values came from.
///
/// # Errors
/// [`CliError::Usage`] with both options and what to do.
pub fn check(
    cli: &Cli,
    objects: Option<ValueSource>,
    kubernetes: Option<ValueSource>,
) -> Result<(), CliError> {
    let usage = |text: &str| Err(CliError::Usage(text.to_owned()));
    let args = &cli.common.kubernetes;
    // What is written on the command line wins over what the environment says.
    let named = |source: Option<ValueSource>| match source {
        Some(ValueSource::CommandLine) => Some("on the command line"),
        Some(ValueSource::EnvVariable) => Some("in the environment"),
        _ => None,
    };
    if args.on {
        return match (named(objects), named(kubernetes)) {
            (Some(objects), Some(kubernetes)) => Err(CliError::Usage(format!(
                "objects are either in a directory or in Kubernetes: --objects (BPA_OBJECTS) is given {objects} and --kubernetes (BPA_KUBERNETES) {kubernetes}; leave one of them out"
            ))),
            _ => Ok(()),
        };
    }
    if args.kubeconfig.is_some() {
        return usage("--kubeconfig says where a Kubernetes API server is: add --kubernetes");
    }
    if args.system_namespace.is_some() {
        return usage("--system-namespace is of the world of Kubernetes: add --kubernetes");
    }
    let adds_site = matches!(cli.command, Command::Site(SiteCommand::Add(_)));
    if !args.namespaces.is_empty() && !adds_site {
        return usage(
            "--namespace limits what is looked at in Kubernetes: add --kubernetes; in a directory name objects as NAMESPACE/NAME",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    fn checked(words: &[&str]) -> Result<(), String> {
        let words = std::iter::once("bpa-coordinator").chain(words.iter().copied());
        let matches = Cli::command().try_get_matches_from(words).unwrap();
        let cli = Cli::from_arg_matches(&matches).unwrap();
        check(&cli, matches.value_source("objects"), matches.value_source("on"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn one_world_at_a_time_wherever_the_options_stand() {
        assert_eq!(checked(&["get"]), Ok(()));
        assert_eq!(checked(&["--objects", "o", "get"]), Ok(()));
        assert_eq!(checked(&["get", "--kubernetes", "-n", "a", "--namespace", "b"]), Ok(()));
        assert_eq!(checked(&["--kubernetes", "run", "--kubeconfig", "f"]), Ok(()));
        let both = checked(&["--kubernetes", "get", "--objects", "o"]).unwrap_err();
        assert!(both.contains("--objects") && both.contains("on the command line"), "{both}");
    }

    #[test]
    fn options_of_kubernetes_alone_are_explained() {
        for words in [
            &["get", "--kubeconfig", "f"][..],
            &["get", "-n", "a"],
            &["run", "--system-namespace", "a"],
        ] {
            let error = checked(words).unwrap_err();
            assert!(error.contains("add --kubernetes"), "{error}");
        }
        assert_eq!(checked(&["site", "add", "north", "-n", "edge"]), Ok(()));
    }
}
