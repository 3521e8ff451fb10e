//! What Metal3 accepts as an image (BareMetalHost `spec.image`), so that a mistake is told before a
//! host is taken.

use bpa_common::api::OsSpec;
use serde_json::Value;

use super::shown;

const CHECKSUMS: [&str; 4] = ["md5", "sha256", "sha512", "auto"];
const FORMATS: [&str; 5] = ["raw", "qcow2", "vdi", "vmdk", "live-iso"];

/// What is wrong with an image.
pub fn problems(os: &OsSpec) -> Vec<String> {
    let mut problems = Vec::new();
    let text = |field: &str| os.image[field].as_str().unwrap_or_default();
    let url = os.image_url();
    if url.is_empty() {
        problems.push(
            "spec.os.image.url is empty: wanted where the image is, such as http://images.site/ubuntu.qcow2; without spec.os only hosts with an installed system are taken".to_owned(),
        );
    } else if url
        .split_once("://")
        .is_none_or(|(scheme, rest)| scheme.is_empty() || rest.is_empty())
    {
        problems.push(format!(
            "spec.os.image.url is `{}`: wanted a URL such as http://images.site/ubuntu.qcow2",
            shown(url)
        ));
    }
    let none_needed = text("format") == "live-iso" || url.starts_with("oci://");
    if text("checksum").is_empty() && !url.is_empty() && !none_needed {
        problems.push(
            "spec.os.image.checksum is empty: Metal3 wants the image's checksum, or the URL of a file with it (only `format: live-iso` and oci:// do without)".to_owned(),
        );
    }
    for (field, allowed) in [("checksumType", &CHECKSUMS[..]), ("format", &FORMATS[..])] {
        let found = match &os.image[field] {
            Value::Null => continue,
            found => found.as_str().unwrap_or("(no text)"),
        };
        if !allowed.contains(&found) {
            problems.push(format!(
                "spec.os.image.{field} is `{}`: wanted one of {}",
                shown(found),
                allowed.join(", ")
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(image: Value) -> String {
        problems(&OsSpec { image, ..OsSpec::default() }).join("\n")
    }

    #[test]
    fn an_image_that_metal3_would_take_has_no_problem() {
        for image in [
            json!({"url": "http://x/i", "checksum": "abc"}),
            json!({"url": "http://x/i", "checksum": "abc", "checksumType": "auto", "format": "qcow2"}),
            json!({"url": "http://x/i.iso", "format": "live-iso"}),
            json!({"url": "oci://x/i"}),
        ] {
            assert_eq!(found(image.clone()), "", "{image}");
        }
    }

    #[test]
    fn each_mistake_says_what_was_wanted() {
        for (image, words) in [
            (Value::Null, "spec.os.image.url is empty"),
            (json!({"url": " "}), "spec.os.image.url is empty"),
            (json!({"url": "image", "checksum": "a"}), "is `image`: wanted a URL"),
            (json!({"url": "http://x/i"}), "spec.os.image.checksum is empty"),
            (json!({"url": "oci://x", "format": "iso"}), "format is `iso`: wanted one of raw"),
            (json!({"url": "oci://x", "checksumType": 7}), "checksumType is `(no text)`"),
        ] {
            let found = found(image.clone());
            assert!(found.contains(words), "{image}: {found}");
        }
    }
}
