//! `crds`: prints the definitions of our kinds, for `kubectl apply -f -`.

use super::exit::{CliError, CliResult, Exit};
use super::output::{Output, print};
use crate::cluster::kubernetes::crds;

/// `crds`.
pub fn print_crds(output: Output) -> CliResult {
    let text = match output {
        Output::Json => serde_json::to_string_pretty(&crds()).map_err(CliError::other)? + "\n",
        Output::Table | Output::Yaml => yaml()?,
    };
    print(&text)?;
    Ok(Exit::Ok)
}

fn yaml() -> Result<String, CliError> {
    let mut text = String::new();
    for crd in crds() {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&crd).map_err(CliError::other)?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `deploy/crds` is what comes out of the types; `BLESS=1` writes it anew.
    #[test]
    fn the_files_under_deploy_are_what_the_types_say() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/crds");
        for crd in crds() {
            let path = format!("{dir}/{}.yaml", crd.metadata.name.clone().unwrap());
            let made = serde_saphyr::to_string(&crd).unwrap();
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&path, &made).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                made == kept,
                "{path} is old; BLESS=1 cargo test --workspace --lib crds writes it"
            );
        }
    }
}
