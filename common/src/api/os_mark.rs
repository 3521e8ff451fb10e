//! What we note on a host whose operating system Metal3 installs for us.
//!
//! It is written in the same patch as the image, so that whoever comes later, we after a loss of all
//! status included, knows which hosts were empty before and which had their system already.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Annotation of a BareMetalHost with an [`OsMark`] as JSON.
pub const OS_MARK: &str = "bpa.akraino.org/os";

/// The note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OsMark {
    /// Uid of the Provisioning that asked for it.
    pub provisioning: String,
    /// URL of the image that we wrote. None: it was taken away again, and the host is on its way
    /// back to `available`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Name of the Secret that we wrote as `userData`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// Name of the Secret that we wrote as `networkData`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<String>,
    /// `spec.online` as it was before.
    pub online: bool,
}

impl OsMark {
    /// The note among these annotations. One that can't be read is none of ours.
    pub fn of(annotations: &BTreeMap<String, String>) -> Option<Self> {
        serde_json::from_str(annotations.get(OS_MARK)?).ok()
    }
}

impl std::fmt::Display for OsMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Plain fields can always be written.
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_nothing_else_is_one() {
        let mark =
            OsMark { provisioning: "u".into(), image: Some("i".into()), ..OsMark::default() };
        let text = mark.to_string();
        assert_eq!(text, r#"{"provisioning":"u","image":"i","online":false}"#);
        let read = |text: &str| OsMark::of(&[(OS_MARK.to_owned(), text.to_owned())].into());
        assert_eq!(read(&text), Some(mark.clone()));
        let leaving = OsMark { image: None, ..mark };
        assert_eq!(read(&leaving.to_string()), Some(leaving));
        for wrong in ["", "yes", "{}", r#"{"provisioning":7,"online":true}"#] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(OsMark::of(&BTreeMap::new()), None);
    }
}
