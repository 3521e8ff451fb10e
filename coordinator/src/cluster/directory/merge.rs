//! JSON merge patches (RFC 7396), as `kubectl patch --type merge` applies them.

use serde_json::{Map, Value};

/// Applies `patch` to `target`: null removes, objects merge, everything else replaces.
pub fn apply(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (name, change) in patch {
        if change.is_null() {
            fields.remove(name);
        } else {
            apply(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

/// One patch that does what `first` and then `second` do. What `first` removes as a whole and
/// `second` makes again as an object can't be said in one merge patch; no edit of ours does that.
pub fn compose(first: &mut Value, second: &Value) {
    match (first.as_object_mut(), second.as_object()) {
        (Some(into), Some(from)) => {
            for (name, change) in from {
                match into.get_mut(name) {
                    Some(old) if old.is_object() && change.is_object() => compose(old, change),
                    Some(old) => *old = change.clone(),
                    None => {
                        into.insert(name.clone(), change.clone());
                    }
                }
            }
        }
        _ => *first = second.clone(),
    }
}

/// Drops the parts of `patch` that change nothing on `base`. True when nothing is left.
pub fn prune(patch: &mut Value, base: Option<&Value>) -> bool {
    match patch {
        Value::Null => base.is_none(),
        Value::Object(fields) => {
            // On a base that is no object even an empty patch would make one.
            let inner = match base {
                Some(Value::Object(inner)) => Some(inner),
                Some(_) => return false,
                None => None,
            };
            fields.retain(|name, change| !prune(change, inner.and_then(|inner| inner.get(name))));
            fields.is_empty()
        }
        other => base == Some(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patched(mut target: Value, patch: &Value) -> Value {
        apply(&mut target, patch);
        target
    }

    #[test]
    fn the_examples_of_the_standard_hold() {
        for (target, patch, wanted) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!(["a", "b"]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            assert_eq!(patched(target, &patch), wanted);
        }
    }

    #[test]
    fn a_patch_that_changes_nothing_is_dropped() {
        let base = json!({"spec": {"approved": true}, "metadata": {"name": "n"}});
        let mut patch =
            json!({"spec": {"approved": true}, "metadata": {"annotations": {"a": null}}});
        assert!(prune(&mut patch, Some(&base)));
        let mut patch = json!({"spec": {"approved": false, "other": null}});
        assert!(!prune(&mut patch, Some(&base)));
        assert_eq!(patch, json!({"spec": {"approved": false}}));
    }

    /// Objects without null inside, as manifests are once nulls are dropped.
    fn document() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![any::<bool>().prop_map(Value::from), (0..3i32).prop_map(Value::from)];
        leaf.prop_recursive(3, 12, 3, |inner| {
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
        })
        .prop_filter("a manifest is an object", Value::is_object)
    }

    /// Patches: the same, with nulls.
    fn patch() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), (0..3i32).prop_map(Value::from)];
        leaf.prop_recursive(3, 12, 3, |inner| {
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
        })
        .prop_filter("a patch is an object", Value::is_object)
    }

    proptest! {
        #[test]
        fn a_patch_applied_twice_is_applied_once(target in document(), change in patch()) {
            let once = patched(target, &change);
            prop_assert_eq!(patched(once.clone(), &change), once);
        }

        #[test]
        fn composed_patches_do_what_both_did_on_the_object_they_were_made_for(
            target in document(), first in patch(), change in "[a-c]", value in 0..5i32,
        ) {
            let second = json!({change: value});
            let mut both = first.clone();
            compose(&mut both, &second);
            prop_assert_eq!(patched(target.clone(), &both), patched(patched(target, &first), &second));
        }

        #[test]
        fn pruning_changes_no_result(target in document(), change in patch()) {
            let wanted = patched(target.clone(), &change);
            let mut pruned = change;
            prune(&mut pruned, Some(&target));
            let found = patched(target, &pruned);
            prop_assert_eq!(strip_empty(found), strip_empty(wanted));
        }
    }

    /// An object that only a dropped null would have made is no difference that anyone sees.
    fn strip_empty(value: Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(name, inner)| (name, strip_empty(inner)))
                    .filter(|(_, inner)| inner.as_object().is_none_or(|map| !map.is_empty()))
                    .collect(),
            ),
            other => other,
        }
    }
}
