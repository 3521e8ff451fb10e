//! The variables of a run, in layers: the site's, the order's own, what the order's fields mean,
//! and what the agent insists on. A later layer wins.

use bpa_common::wire::v1::{ClusterPlan, OrderKind};
use serde_json::{Map, Value, json};

use super::super::places::Places;

/// The layers, weakest first. The last one is given by `-e`, which beats everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// From the agent's configuration: whoever may edit it may run anything here, so templates
    /// are theirs to use.
    pub site: Map<String, Value>,
    /// `spec.kubernetes.vars`, plain values.
    pub order: Map<String, Value>,
    /// What the order's own fields mean in kubespray's names.
    pub plan: Map<String, Value>,
    pub insist: Map<String, Value>,
}

/// Makes the layers of a run.
///
/// # Errors
/// When the order's variables are no JSON object, or hold a template: admission has looked before.
pub fn layers(
    site: &toml::Table,
    plan: &ClusterPlan,
    kind: OrderKind,
    places: &Places,
) -> Result<Layers, String> {
    let site = match serde_json::to_value(site).map_err(|e| e.to_string())? {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let order = match plan.vars_json.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).map_err(|e| format!("the variables: {e}"))?,
    };
    if crate::orders::is_template(&plan.vars_json) {
        return Err("the variables hold a template".to_owned());
    }
    let plan = meaning(plan, &order);
    Ok(Layers { site, order, plan, insist: insist(kind, places) })
}

fn meaning(plan: &ClusterPlan, order: &Map<String, Value>) -> Map<String, Value> {
    let mut map = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(name.to_owned(), value);
        }
    };
    set("kube_version", plan.kubernetes_version.as_ref().map(|v| json!(v)));
    set("kube_network_plugin", plan.network_plugin.as_ref().map(|v| json!(v)));
    set("kube_pods_subnet", plan.pod_subnet.as_ref().map(|v| json!(v)));
    set("kube_service_addresses", plan.service_subnet.as_ref().map(|v| json!(v)));
    if let Some((host, port)) = &plan.endpoint {
        set("loadbalancer_apiserver", Some(json!({ "address": host, "port": port })));
        if !order.contains_key("supplementary_addresses_in_ssl_keys") {
            set("supplementary_addresses_in_ssl_keys", Some(json!([host])));
        }
    }
    map
}

fn insist(kind: OrderKind, places: &Places) -> Map<String, Value> {
    let mut map = Map::new();
    let mut set = |name: &str, value: Value| map.insert(name.to_owned(), value);
    set("artifacts_dir", json!(places.artifacts()));
    set("credentials_dir", json!(places.credentials()));
    set("kubeconfig_localhost", json!(true));
    if kind == OrderKind::Reset {
        // Both: playbooks of several ages ask by one or the other.
        set("reset_confirmation", json!(true));
        set("skip_confirmation", json!(true));
    }
    map
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::runs::testing::order;

    fn made(change: impl FnOnce(&mut ClusterPlan), kind: OrderKind) -> Layers {
        let mut order = order(1);
        change(&mut order.cluster);
        let site = toml::from_str("files_repo = \"http://10.77.0.1:8081\"\n").unwrap();
        layers(&site, &order.cluster, kind, &Places::new(Path::new("/s"), &order)).unwrap()
    }

    #[test]
    fn fields_get_kubespray_s_names() {
        let layers = made(
            |plan| {
                plan.kubernetes_version = Some("1.35.4".into());
                plan.pod_subnet = Some("10.244.0.0/16".into());
                plan.service_subnet = Some("10.96.0.0/16".into());
                plan.network_plugin = Some("bridge".into());
                plan.endpoint = Some(("api.edge".into(), 6443));
                plan.vars_json = r#"{"kube_proxy_mode":"iptables"}"#.into();
            },
            OrderKind::Install,
        );
        assert_eq!(
            Value::Object(layers.plan),
            json!({
                "kube_version": "1.35.4",
                "kube_pods_subnet": "10.244.0.0/16",
                "kube_service_addresses": "10.96.0.0/16",
                "kube_network_plugin": "bridge",
                "loadbalancer_apiserver": {"address": "api.edge", "port": 6443},
                "supplementary_addresses_in_ssl_keys": ["api.edge"],
            })
        );
        assert_eq!(Value::Object(layers.order), json!({"kube_proxy_mode": "iptables"}));
        assert_eq!(layers.site["files_repo"], "http://10.77.0.1:8081");
        assert!(!layers.insist.contains_key("reset_confirmation"));
    }

    #[test]
    fn a_reset_is_confirmed_for_good() {
        let layers = made(|_| {}, OrderKind::Reset);
        assert_eq!(layers.insist["reset_confirmation"], json!(true));
        assert!(layers.insist["artifacts_dir"].as_str().unwrap().starts_with("/s/runs/"));
    }

    #[test]
    fn a_template_is_refused_here_too() {
        let mut order = order(1);
        order.cluster.vars_json = r#"{"a":"{{ 1 }}"}"#.into();
        let places = Places::new(Path::new("/s"), &order);
        let site = toml::Table::new();
        assert!(layers(&site, &order.cluster, OrderKind::Install, &places).is_err());
    }
}
