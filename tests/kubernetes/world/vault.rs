//! Our own secrets: in one Secret, and two processes never undo each other's work.

use bpa_coordinator::cluster::Vault;
use bpa_coordinator::cluster::kubernetes::SecretVault;
use bpa_coordinator::sites::{Invitation, known_sites, site_add};
use jiff::Timestamp;

use super::*;

/// A vault in a namespace of its own.
async fn vault(namespace: &str) -> SecretVault {
    let options = KubernetesOptions {
        kubeconfig: Some(shared().kubeconfig(User::Other)),
        namespaces: vec![namespace.to_owned()],
        system_namespace: Some(namespace.to_owned()),
        ..Default::default()
    };
    SecretVault::open(&KubernetesWorld::connect(options).await.unwrap()).unwrap()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_kept_listed_and_removed_in_one_secret() {
    let kubectl = shared().namespace("vault");
    let vault = vault("vault").await;
    blocking(move || {
        assert!(vault.get("epoch").unwrap().is_none());
        vault.put("epoch", b"1").unwrap();
        vault.put("epoch", b"2").unwrap();
        assert!(vault.create("sites/north/key", b"k").unwrap());
        assert!(!vault.create("sites/north/key", b"other").unwrap());
        assert_eq!(&**vault.get("sites/north/key").unwrap().unwrap(), b"k");
        assert_eq!(vault.list("sites/").unwrap(), ["sites/north/key"]);
        vault.remove("sites/north/key").unwrap();
        vault.remove("sites/north/key").unwrap();
        assert!(vault.put("../x", b"1").is_err());
    })
    .await;
    let secret = kubectl.get("secret", "bpa-coordinator-identity");
    assert_eq!(secret["data"], serde_json::json!({"epoch": "Mg=="}));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_never_undo_each_others_work() {
    shared().namespace("vault-two");
    let vaults = [vault("vault-two").await, vault("vault-two").await];
    let writers = vaults.clone().into_iter().enumerate().map(|(who, vault)| {
        blocking(move || {
            let mut made = 0;
            for n in 0..15 {
                vault.put(&format!("own/{who}/{n}"), b"x").unwrap();
                made += usize::from(vault.create(&format!("both/{n}"), b"x").unwrap());
            }
            made
        })
    });
    let made: usize = futures_util::future::join_all(writers).await.into_iter().sum();
    assert_eq!(made, 15, "each of the common ones has one maker");
    let [vault, _] = vaults;
    let all = blocking(move || vault.list("").unwrap()).await;
    assert_eq!(all.len(), 45, "nothing was lost: {all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_line_is_made_beside_a_running_coordinator() {
    shared().namespace("vault-join");
    let [here, there] = [vault("vault-join").await, vault("vault-join").await];
    let line = |vault: SecretVault, site: &str| {
        let invitation = Invitation {
            site: site.to_owned(),
            ttl: Duration::from_secs(3600),
            addresses: vec!["192.0.2.1:7443".to_owned()],
            replace: false,
        };
        blocking(move || site_add(&vault, &invitation, Timestamp::now()).unwrap())
    };
    let (a, b) = tokio::join!(line(here.clone(), "north"), line(there, "south"));
    assert_eq!(a.ca_fingerprint, b.ca_fingerprint, "one authority, whoever was first");
    let known = blocking(move || known_sites(&here).unwrap()).await;
    let names: Vec<&str> = known.iter().map(|site| site.site.as_str()).collect();
    assert_eq!(names, ["north", "south"]);
}
