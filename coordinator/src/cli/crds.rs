//! `crds`: the CustomResourceDefinitions, as they are applied to a management cluster.

use serde_json::{Value, json};

use super::exit::{CliError, CliResult, Exit};
use super::output::{Output, print};
use crate::cluster::kubernetes::{crd_yaml, crds};

/// Prints them: YAML documents, or one JSON list.
pub fn print_crds(output: Output) -> CliResult {
    let crds = crds();
    let text = match output {
        Output::Json => {
            let items: Vec<Value> = crds
                .iter()
                .map(serde_json::to_value)
                .collect::<Result<_, _>>()
                .map_err(CliError::other)?;
            let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
            serde_json::to_string_pretty(&list).map_err(CliError::other)? + "\n"
        }
        Output::Table | Output::Yaml => {
            let documents: Result<Vec<String>, _> = crds.iter().map(crd_yaml).collect();
            format!("---\n{}", documents.map_err(CliError::other)?.join("---\n"))
        }
    };
    print(&text)?;
    Ok(Exit::Ok)
}
