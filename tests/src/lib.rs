//! The harness of the end-to-end scenarios: a lab, a coordinator, an agent, as real processes in
//! their namespaces. Nothing here knows the insides of the product: it uses the two commands and
//! the files that they document.

pub mod forward;
mod hand;
pub mod kubernetes;
pub mod lab;
pub mod management;
pub mod process;
pub mod site;
pub mod told;
pub mod wait;

use std::path::PathBuf;

/// Tells each story in both worlds: on a directory of manifests, and on a Kubernetes API server.
#[macro_export]
macro_rules! in_both_worlds {
    ($($story:ident),+ $(,)?) => {
        mod directory {
            $(#[test]
            fn $story() {
                super::$story($crate::management::World::Directory);
            })+
        }
        mod kubernetes {
            $(#[test]
            fn $story() {
                super::$story($crate::management::World::Kubernetes);
            })+
        }
    };
}

/// The root of the checkout.
pub fn root() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests.parent().map_or_else(|| tests.clone(), PathBuf::from)
}

/// A binary of ours, built by `cargo build --workspace` into the folder of this test.
pub fn binary(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap_or_default();
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    path.push(name);
    assert!(path.exists(), "{} is not there: run `cargo build --workspace` first", path.display());
    path
}
