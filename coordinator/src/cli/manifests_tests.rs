//! apply, delete and plan on directories.

use std::fs;

use super::super::output::Output;
use super::*;
use crate::cluster::World;
use crate::cluster::directory::DirectoryWorld;

const SITE: &str = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: north, labels: {zone: \"007\", on: \"yes\"}}\n";

fn common(dir: &Path) -> Common {
    Common {
        objects: dir.join("objects"),
        state: dir.join("state"),
        output: Output::Table,
        kubernetes: Default::default(),
        log: None,
    }
}

async fn apply_text(common: &Common, text: &str) -> CliResult {
    let file = common.state.with_file_name("input.yaml");
    fs::write(&file, text).unwrap();
    apply(common, &RequiredFiles { files: vec![file] }).await
}

fn delete_args(kind: &str, name: &str) -> DeleteArgs {
    DeleteArgs {
        kind: Some(kind.to_owned()),
        name: Some(name.to_owned()),
        force: false,
        files: Vec::new(),
    }
}

#[tokio::test]
async fn what_is_applied_is_read_back_the_same_and_can_be_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let common = common(dir.path());
    assert_eq!(apply_text(&common, SITE).await.unwrap(), Exit::Ok);
    let path = common.objects.join("site-default-north.yaml");
    let first = fs::read_to_string(&path).unwrap();
    let snapshot = AnyWorld::open(&common).await.unwrap().snapshot().await.unwrap();
    let labels = &snapshot.sites[0].metadata.labels;
    assert_eq!((labels["zone"].as_str(), labels["on"].as_str()), ("007", "yes"));
    apply_text(&common, SITE).await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    apply_text(&common, &format!("{SITE}spec: {{description: changed}}\n")).await.unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("changed"));
    delete(&common, &delete_args("site", "north")).await.unwrap();
    assert!(!path.exists());
    let error = delete(&common, &delete_args("site", "north")).await.unwrap_err();
    assert_eq!(error.exit(), Exit::NotFound);
}

#[tokio::test]
async fn two_objects_whose_names_run_together_have_two_files() {
    let dir = tempfile::tempdir().unwrap();
    let common = common(dir.path());
    for (namespace, name) in [("a", "b-c"), ("a-b", "c"), ("a", "b-c")] {
        let text = SITE.replace("name: north", &format!("name: {name}, namespace: {namespace}"));
        apply_text(&common, &text).await.unwrap();
    }
    assert_eq!(AnyWorld::open(&common).await.unwrap().snapshot().await.unwrap().sites.len(), 2);
    delete(&common, &delete_args("site", "c")).await.unwrap();
    let left = AnyWorld::open(&common).await.unwrap().snapshot().await.unwrap().sites;
    assert_eq!((left.len(), left[0].metadata.name.as_str()), (1, "b-c"));
}

#[tokio::test]
async fn one_bad_document_means_that_nothing_is_applied() {
    let dir = tempfile::tempdir().unwrap();
    let common = common(dir.path());
    let bad = format!("{SITE}---\nkind: Site\n");
    let error = apply_text(&common, &bad).await.unwrap_err();
    assert!(error.to_string().contains("nothing was applied"), "{error}");
    let refused = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p}\nspec: {masters: []}\n";
    let error = apply_text(&common, &format!("{SITE}---\n{refused}")).await.unwrap_err();
    assert!(error.to_string().contains("refused: Provisioning default/p"), "{error}");
    assert!(!common.objects.exists());
}

#[tokio::test]
async fn a_file_of_the_users_own_is_never_rewritten() {
    let dir = tempfile::tempdir().unwrap();
    let common = common(dir.path());
    fs::create_dir(&common.objects).unwrap();
    let mine = common.objects.join("mine.yaml");
    let text = format!("# my comment\n{SITE}---\n{}", SITE.replace("north", "south"));
    fs::write(&mine, &text).unwrap();
    apply_text(&common, SITE).await.unwrap();
    let error =
        apply_text(&common, &format!("{SITE}spec: {{description: x}}\n")).await.unwrap_err();
    assert_eq!(error.exit(), Exit::Conflict);
    assert!(error.to_string().contains("mine.yaml, document 1"), "{error}");
    let error = delete(&common, &delete_args("site", "north")).await.unwrap_err();
    assert_eq!(error.exit(), Exit::Conflict);
    assert_eq!(fs::read_to_string(&mine).unwrap(), text);
    assert_eq!(fs::read_dir(&common.objects).unwrap().count(), 1);
}

#[tokio::test]
async fn a_plan_says_by_its_exit_code_whether_it_fits() {
    let dir = tempfile::tempdir().unwrap();
    let common = common(dir.path());
    let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: m, uid: u}\nspec: {online: true, bootMACAddress: 52:54:00:aa:01:01}\nstatus: {operationalStatus: OK, provisioning: {state: provisioned}}\n";
    let wish = |mac: &str| {
        format!(
            "---\napiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: p}}\nspec:\n  masters:\n  - m-0: {{mac-address: {mac}}}\n"
        )
    };
    for (text, wanted) in [
        (host.to_owned() + &wish("52:54:00:aa:01:01"), Exit::Ok),
        (host.to_owned() + &wish("52:54:00:aa:01:99"), Exit::NotReady),
        (host.to_owned() + &wish("nonsense"), Exit::NotReady),
    ] {
        let file = dir.path().join("in.yaml");
        fs::write(&file, &text).unwrap();
        let exit = plan(&common, &PlanArgs { files: vec![file] }).await.unwrap();
        assert_eq!(exit, wanted, "{text}");
    }
}

#[tokio::test]
async fn a_stuck_deletion_can_be_forced() {
    use crate::cluster::directory::Role;
    let dir = tempfile::tempdir().unwrap();
    let common = common(dir.path());
    let text = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p}\nspec: {masters: [{m: {cpu: 1}}]}\n";
    apply_text(&common, &format!("{text}---\n{SITE}")).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let world = DirectoryWorld::open(&common.objects, &common.state, Role::Runner).unwrap();
    let key = world.snapshot().await.unwrap().provisionings[0].metadata.key();
    world.set_finalizer(&key, true).await.unwrap();
    delete(&common, &delete_args("provisioning", "p")).await.unwrap();
    let error = delete(&common, &delete_args("provisioning", "p")).await.unwrap_err();
    assert!(error.to_string().contains("being deleted already"), "{error}");
    let forced = DeleteArgs { force: true, ..delete_args("provisioning", "p") };
    delete(&common, &forced).await.unwrap();
    let seen = world.snapshot().await.unwrap().provisionings;
    assert_eq!(seen[0].metadata.annotations[FORCE_DELETE], "true");
    let site = DeleteArgs { force: true, ..delete_args("site", "north") };
    assert_eq!(delete(&common, &site).await.unwrap_err().exit(), Exit::Usage);
}
