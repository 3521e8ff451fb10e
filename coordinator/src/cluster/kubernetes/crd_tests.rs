//! The definitions as they are checked in, and what they must have.

use std::path::Path;

use super::*;

/// `BPA_WRITE_GOLDEN=1` writes the files anew.
#[test]
fn deploy_crds_has_the_definitions_of_these_types() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy/crds");
    for crd in crds() {
        let path = dir.join(format!("{}.yaml", crd.metadata.name.clone().unwrap()));
        let yaml = crd_yaml(&crd).unwrap();
        let text = format!(
            "# Generated from the types in common/src/api: `bpa-coordinator crds`.\n---\n{yaml}"
        );
        if std::env::var_os("BPA_WRITE_GOLDEN").is_some() {
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "{} is not what the types give; look at `BPA_WRITE_GOLDEN=1 cargo test --workspace --lib deploy_crds && git diff deploy/crds`",
            path.display()
        );
        let read: Value = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(read, serde_json::to_value(&crd).unwrap(), "YAML that reads back as the same");
    }
}

#[test]
fn each_kind_is_found_by_the_names_that_people_use() {
    let names: Vec<_> = crds().into_iter().map(|crd| crd.spec.names).collect();
    let kinds: Vec<&str> = names.iter().map(|n| n.kind.as_str()).collect();
    assert_eq!(kinds, ["Provisioning", "Site", "Software", "Cluster"]);
    let short: Vec<_> = names.iter().map(|n| n.short_names.clone().unwrap_or_default()).collect();
    assert_eq!(short, [vec!["bpa"], vec!["site"], vec!["sw"], vec!["bpacluster"]]);
    assert_eq!(names[1].singular.as_deref(), Some("site"));
}

/// Calls `look` with each schema of a tree and its path.
fn walk(path: &str, schema: &Value, look: &mut impl FnMut(&str, &Value)) {
    look(path, schema);
    let below = |name: &str| format!("{path}.{name}");
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        walk(&below(name), inner, look);
    }
    for name in ["items", "additionalProperties"] {
        if schema[name].is_object() {
            walk(&below(name), &schema[name], look);
        }
    }
}

#[test]
fn every_field_is_explained_and_every_rule_has_a_message() {
    for kind in [Kind::Provisioning, Kind::Site, Kind::Software, Kind::Cluster] {
        walk(kind.name(), &object(kind), &mut |path, schema| {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let words = field["description"].as_str().unwrap_or_default();
                let top = name == "spec" || name == "status";
                assert!(top || words.len() > 5, "{path}.{name} has no description");
            }
            for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
                assert!(rule["message"].as_str().unwrap().len() > 20, "{path}: {rule}");
            }
        });
    }
}

#[test]
fn what_users_write_has_limits_everywhere() {
    for kind in [Kind::Provisioning, Kind::Site, Kind::Software, Kind::Cluster] {
        walk(kind.name(), &object(kind)["properties"]["spec"], &mut |path, schema| {
            match schema["type"].as_str() {
                Some("array") => assert!(schema["maxItems"].is_number(), "{path}: {schema}"),
                Some("string") => assert!(
                    schema["maxLength"].is_number() || schema["enum"].is_array(),
                    "{path}: {schema}"
                ),
                Some("object") if schema["additionalProperties"].is_object() => {
                    assert!(schema["maxProperties"].is_number(), "{path}: {schema}");
                }
                _ => {}
            }
        });
    }
}

#[test]
fn conditions_are_a_map_by_type() {
    for kind in [Kind::Provisioning, Kind::Site, Kind::Software, Kind::Cluster] {
        let conditions = &object(kind)["properties"]["status"]["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-type"], "map", "{kind}");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]), "{kind}");
    }
}
