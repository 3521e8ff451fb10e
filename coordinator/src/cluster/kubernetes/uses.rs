//! What the objects of others that have or choose hosts are called in the API. Pure.

use bpa_common::api::NeighbourKind;
use kube::core::{ApiResource, GroupVersionKind};

/// What a kind is called; newer API servers serve the first version, older ones another.
pub fn resources(kind: NeighbourKind) -> Vec<ApiResource> {
    let (versions, plural): (&[&str], _) = match kind {
        NeighbourKind::Machine => (&["v1beta2", "v1beta1"], "metal3machines"),
        NeighbourKind::Template => (&["v1beta2", "v1beta1"], "metal3machinetemplates"),
        NeighbourKind::Claim => (&["v1alpha1"], "hostclaims"),
    };
    let resource = |version: &&str| {
        let gvk = GroupVersionKind::gvk(kind.group(), version, kind.name());
        ApiResource::from_gvk_with_plural(&gvk, plural)
    };
    versions.iter().map(resource).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_asked_for_first() {
        let names = |kind| -> Vec<String> {
            resources(kind).iter().map(|r| format!("{}/{}", r.api_version, r.plural)).collect()
        };
        let group = "infrastructure.cluster.x-k8s.io";
        assert_eq!(
            names(NeighbourKind::Template),
            ["v1beta2", "v1beta1"].map(|v| format!("{group}/{v}/metal3machinetemplates"))
        );
        assert_eq!(names(NeighbourKind::Machine).len(), 2);
        assert_eq!(names(NeighbourKind::Claim), ["metal3.io/v1alpha1/hostclaims"]);
    }
}
