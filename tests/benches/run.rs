//! What coordinator and agent cost: a run through both, beside the same playbook started by hand
//! on the same hosts with the same inventory and variables, in pairs whose order alternates.
//! Nothing is asserted about time: a table is printed, and whether the aim was met.
//!
//! `cargo bench --workspace --bench run` as root; `BPA_BENCH_PAIRS` pairs (default 2).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bpa_tests::process::{Process, Ran, run};
use bpa_tests::root;
use bpa_tests::site::{Options, Site};
use bpa_tests::wait::until;
use jiff::Timestamp;
use serde_json::Value;

/// The lab's name.
const NAME: &str = "b-run";
/// At most this many times what the playbook takes by hand.
const AIM: f64 = 1.02;
/// Runs by hand that differ by more than this, per cent, were disturbed.
const QUIET: f64 = 5.0;
const SPEC: &str = "{masters: [{m-1: {}}], workers: [{w: {count: 2}}], deletionPolicy: Reset}";
/// The hosts come to rest after a reset before the next run begins.
const REST: Duration = Duration::from_secs(10);
/// Looking costs a process each time, so it is done seldom: times come from the status.
const LOOK: Duration = Duration::from_secs(2);

/// What one run of the product took, seconds.
struct Product {
    /// From just before `apply` until the condition `Ready`.
    whole: f64,
    steps: Vec<(String, f64)>,
    /// Processor time of both processes, and of what the agent started (ansible, its supervisor).
    coordinator: f64,
    agent: f64,
    ansible: f64,
    /// The agent's directory of this run.
    directory: PathBuf,
}

impl Product {
    fn playbook(&self) -> f64 {
        self.steps.iter().find(|(name, _)| name == "Kubespray").map_or(f64::NAN, |(_, s)| *s)
    }
}

struct Pair {
    first: &'static str,
    product: Product,
    hand: Hand,
    load: String,
}

/// What the playbook took by hand, seconds of the clock and of a processor.
#[derive(Clone, Copy)]
struct Hand {
    whole: f64,
    cpu: f64,
}

fn main() {
    // `cargo test --benches` starts this too, without the argument of `cargo bench`.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("run: nothing to do outside `cargo bench`");
        return;
    }
    build_binaries();
    let pairs = std::env::var("BPA_BENCH_PAIRS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    println!("load before the lab: {}", load());
    let lab = ["--hosts", "3", "--kind", "node", "--server", "kea"];
    let site = Site::up(NAME, &Options { lab: &lab, bundle: "full", ..Options::default() });
    // The first install finds hosts without the Debian packages, which a reset leaves: not counted.
    eprintln!("run: warming up");
    let warm = product(&site, "warm-up");
    delete(&site, "warm-up");
    let hand = ByHand::new(&site, &warm.directory);
    let done: Vec<Pair> = (1..=pairs).map(|number| pair(&site, &hand, number)).collect();
    print!("{}", report(&done));
}

/// The two binaries, from the sources and in the profile of this bench. The selection is such that
/// cargo chooses the same features, so it compiles nothing twice.
fn build_binaries() {
    let exe = std::env::current_exe().expect("a bench knows its path");
    let folder = exe.parent().and_then(Path::parent).expect("target/PROFILE/deps/run-…");
    let profile = if folder.ends_with("debug") { "dev" } else { "bench" };
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    eprintln!("run: building both binaries");
    let mut build = Command::new(cargo);
    // What cargo says to this bench about its package is part of how some build scripts decide
    // whether they must run again, and would have half of the dependencies compiled anew.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|p| name.to_string_lossy().starts_with(p)) {
            build.env_remove(name);
        }
    }
    run(build
        .args([
            "build",
            "--workspace",
            "--locked",
            "--bins",
            "--bench",
            "run",
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(folder.parent().expect("target/PROFILE"))
        .current_dir(root()))
    .ok();
}

fn pair(site: &Site, hand: &ByHand, number: usize) -> Pair {
    let name = format!("pair-{number}");
    let through = |site: &Site| {
        let product = product(site, &name);
        delete(site, &name);
        product
    };
    sleep(REST);
    let load = load();
    let (first, product, by_hand) = if number % 2 == 1 {
        let product = through(site);
        sleep(REST);
        ("product", product, hand.install(number))
    } else {
        let by_hand = hand.install(number);
        sleep(REST);
        ("by hand", through(site), by_hand)
    };
    let (whole, playbook) = (product.whole, product.playbook());
    eprintln!(
        "run: {name}: whole {whole:.1} s, playbook {playbook:.1} s, by hand {:.1} s",
        by_hand.whole
    );
    Pair { first, product, hand: by_hand, load }
}

/// A run through coordinator and agent, from `apply` to Ready.
fn product(site: &Site, name: &str) -> Product {
    let cpu = |process: &Option<Process>| {
        process.as_ref().map_or((0.0, 0.0), |p| cpu_seconds(&p.pid().to_string()))
    };
    let (coordinator, agent) = (cpu(&site.coordinator), cpu(&site.agent));
    let began = Timestamp::now();
    site.provision(name, SPEC);
    let status = loop {
        sleep(LOOK);
        let status = site.status(name).expect("the Provisioning has a status");
        match status["phase"].as_str() {
            Some("Ready") => break status,
            Some("Failed" | "Invalid") => panic!("{}", site.describe(name)),
            _ => assert!(began.duration_until(Timestamp::now()).as_secs() < 900, "{status}"),
        }
    };
    let ready = status["conditions"].as_array().into_iter().flatten();
    let ready = ready.clone().find(|c| c["type"] == "Ready").expect("Ready is a condition");
    let steps = status["run"]["steps"].as_array().into_iter().flatten();
    let took = |s: &Value| seconds(time(&s["started"]), time(&s["finished"]));
    Product {
        whole: seconds(began, time(&ready["lastTransitionTime"])),
        steps: steps.map(|s| (s["name"].as_str().unwrap_or("?").to_owned(), took(s))).collect(),
        coordinator: cpu(&site.coordinator).0 - coordinator.0,
        agent: cpu(&site.agent).0 - agent.0,
        ansible: cpu(&site.agent).1 - agent.1,
        directory: site.dir.join("agent/runs").join(status["run"]["id"].as_str().unwrap_or("?")),
    }
}

/// Deletes a Provisioning, which resets its hosts.
fn delete(site: &Site, name: &str) {
    site.ctl(&["delete", "provisioning", name]).ok();
    until(&format!("{name} to be gone"), 180, || match site.status(name) {
        Err(_) => Ok(()),
        Ok(status) => Err(status.to_string()),
    });
}

/// A person at the bootstrap host, with the files that the agent wrote for its own run.
struct ByHand {
    netns: String,
    bundle: PathBuf,
    ansible: PathBuf,
    /// Of the agent's run: `hosts.ini`, variables, known hosts.
    inventory: PathBuf,
    home: PathBuf,
}

impl ByHand {
    fn new(site: &Site, inventory: &Path) -> Self {
        let ansible = run(&mut Command::new(root().join("tests/bundle/ansible"))).ok();
        Self {
            netns: site.lab.info.boot.netns.clone(),
            bundle: site.bundle.clone(),
            ansible: Path::new(ansible.out.trim()).join("bin"),
            inventory: inventory.to_owned(),
            home: site.dir.join("hand"),
        }
    }

    /// Installs, then resets.
    fn install(&self, number: usize) -> Hand {
        // A home of its own: no SSH connection of an earlier run is still open.
        let home = self.home.join(number.to_string());
        fs::create_dir_all(&home).expect("a home can be made");
        let (began, before) = (Instant::now(), cpu_seconds("self"));
        let ran = self.playbook("cluster.yml", &home);
        let whole = began.elapsed().as_secs_f64();
        let cpu = cpu_seconds("self").1 - before.1;
        ran.ok();
        assert!(home.join("artifacts/admin.conf").is_file(), "the playbook saved its kubeconfig");
        self.playbook("reset.yml", &home).ok();
        Hand { whole, cpu }
    }

    fn playbook(&self, playbook: &str, home: &Path) -> Ran {
        let file = |name: &str| self.inventory.join(name).display().to_string();
        run(Command::new("ip")
            .args(["netns", "exec", &self.netns])
            .arg(self.ansible.join("ansible-playbook"))
            .args(["-i", &file("hosts.ini"), "-b", "-e", &format!("@{}", file("extra_vars.json"))])
            .args(["-e", &format!("artifacts_dir={}/artifacts", home.display())])
            .args(["-e", &format!("credentials_dir={}/credentials", home.display())])
            .args(["-e", "reset_confirmation=true"])
            .arg(format!("--ssh-extra-args=-o UserKnownHostsFile={}", file("known_hosts")))
            .arg(self.bundle.join(playbook))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("LC_ALL", "C.UTF-8")
            .env("ANSIBLE_CONFIG", self.bundle.join("ansible.cfg")))
    }
}

/// The tables, and whether the aim was met.
fn report(pairs: &[Pair]) -> String {
    let mut text = String::from(
        "\nOne control plane and two workers, seconds.\n\
         pair  first     whole  playbook  by hand  whole/hand  playbook/hand  load\n",
    );
    for (at, Pair { first, product, hand, load }) in pairs.iter().enumerate() {
        let (whole, playbook, hand) = (product.whole, product.playbook(), hand.whole);
        let _ = writeln!(
            text,
            "{:<4}  {first:<7}  {whole:>6.2}  {playbook:>8.2}  {hand:>7.2}  {:>10.3}  {:>13.3}  \
             {load}",
            at + 1,
            whole / hand,
            playbook / hand,
        );
    }
    let whole = median(pairs.iter().map(|p| p.product.whole / p.hand.whole));
    let playbook = median(pairs.iter().map(|p| p.product.playbook() / p.hand.whole));
    let _ = writeln!(text, "median {whole:>45.3}  {playbook:>13.3}");
    text += &processor(pairs);
    text += &steps(pairs);
    let said = |ratio: f64| if ratio <= AIM { "met" } else { "MISSED" };
    let _ = writeln!(
        text,
        "Aim: at most {AIM} times the playbook by hand. {} by the playbook ({playbook:.3}), {} by \
         the whole run ({whole:.3}).",
        said(playbook),
        said(whole)
    );
    text + &quietness(pairs)
}

/// Processor time at the bootstrap host and the coordinator's: other load disturbs it much less
/// than it disturbs the clock.
fn processor(pairs: &[Pair]) -> String {
    let mut text = String::from(
        "\nProcessor time, seconds (work on the hosts not included).\n\
         pair  coordinator  agent  its ansible  ansible by hand  all/hand\n",
    );
    for (at, Pair { product: p, hand, .. }) in pairs.iter().enumerate() {
        let _ = writeln!(
            text,
            "{:<4}  {:>11.2}  {:>5.2}  {:>11.2}  {:>15.2}  {:>8.3}",
            at + 1,
            p.coordinator,
            p.agent,
            p.ansible,
            hand.cpu,
            (p.coordinator + p.agent + p.ansible) / hand.cpu,
        );
    }
    text
}

/// Where the time of the whole run is.
fn steps(pairs: &[Pair]) -> String {
    let mut text = String::from("\nMedian of each step:\n");
    let mut inside = vec![0.0; pairs.len()];
    for (name, _) in pairs.first().map_or(&[][..], |p| &p.product.steps) {
        let took = |p: &Pair| p.product.steps.iter().find(|(n, _)| n == name).map_or(0.0, |s| s.1);
        inside.iter_mut().zip(pairs).for_each(|(sum, pair)| *sum += took(pair));
        let _ = writeln!(text, "  {name:<12} {:>6.2} s", median(pairs.iter().map(took)));
    }
    let between = median(pairs.iter().zip(inside).map(|(p, inside)| p.product.whole - inside));
    let _ = writeln!(text, "  {:<12} {between:>6.2} s\n", "between them");
    text
}

/// The same playbook by hand should take the same time each time: how far that held.
fn quietness(pairs: &[Pair]) -> String {
    let by_hand = || pairs.iter().map(|p| p.hand.whole);
    let (least, most) = (by_hand().fold(f64::MAX, f64::min), by_hand().fold(0.0, f64::max));
    let spread = (most / least - 1.0) * 100.0;
    if pairs.len() < 2 || spread <= QUIET {
        return String::new();
    }
    format!(
        "The runs by hand differ by {spread:.0} % among themselves: the machine was not quiet, and \
         the ratios are no better than that.\n"
    )
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

fn time(value: &Value) -> Timestamp {
    let text = value.as_str().unwrap_or_default();
    text.parse().unwrap_or_else(|e| panic!("`{text}` is no time: {e}"))
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// User and system time of a process, and of those of its children that have ended
/// (`proc_pid_stat(5)`, fields 14 to 17).
fn cpu_seconds(pid: &str) -> (f64, f64) {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(4);
    let seconds: Vec<f64> =
        ticks.filter_map(|t| t.parse::<f64>().ok()).map(|t| t / 100.0).collect();
    match seconds[..] {
        [user, system, of_children, system_of_children] => {
            (user + system, of_children + system_of_children)
        }
        _ => (f64::NAN, f64::NAN),
    }
}

/// Load averages over 1, 5 and 15 minutes, and the number of processors.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let three: Vec<&str> = text.split_whitespace().take(3).collect();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} on {cpus} CPUs", three.join(" "))
}
