//! The coordinator at size, against a real kube-apiserver: 10,000 hosts with their hardware data,
//! 1,000 Provisionings on 100 sites.
//!
//! Measured: from `create` of one more Provisioning until all of its hosts are claimed and the order
//! is with the site's agent, one after another while nothing else happens; what the coordinator
//! holds in memory; and whether that grows over as many changes as a busy hour has.
//!
//! The coordinator is this program started again with nothing but its parts: the Kubernetes world,
//! the controllers, the store of runs. Its agents are in memory and take every order: what QUIC
//! costs is measured elsewhere. `BPA_SCALE=hosts,provisionings,samples,changes` makes it smaller.
//! Nothing is asserted about time.

#[path = "scale/coordinator.rs"]
mod coordinator;
#[path = "scale/crowd.rs"]
mod crowd;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bpa_tests::kubernetes::{ControlPlane, User};

use crowd::Crowd;

/// Where the second process finds its API server.
const COORDINATOR: &str = "BPA_SCALE_COORDINATOR";
/// Longest that anything here is waited for.
const LONG: Duration = Duration::from_secs(900);

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub hosts: usize,
    pub provisionings: usize,
    pub samples: usize,
    pub changes: usize,
}

impl Size {
    fn wanted() -> Self {
        let text = std::env::var("BPA_SCALE").unwrap_or_default();
        let numbers: Vec<usize> = text.split(',').filter_map(|n| n.trim().parse().ok()).collect();
        match numbers.as_slice() {
            [hosts, provisionings, samples, changes] => Self {
                hosts: *hosts,
                provisionings: *provisionings,
                samples: *samples,
                changes: *changes,
            },
            _ => Self { hosts: 10_000, provisionings: 1_000, samples: 200, changes: 5_000 },
        }
    }
}

fn main() {
    if let Ok(kubeconfig) = std::env::var(COORDINATOR) {
        coordinator::run(&kubeconfig);
        return;
    }
    let size = Size::wanted();
    let plane = ControlPlane::start();
    plane.install_definitions();
    let crowd = Crowd::connect(&plane.kubeconfig(User::Admin), size.hosts);
    let begin = Instant::now();
    crowd.make_hosts(size.hosts);
    println!(
        "{} hosts with hardware data made in {:.0} s",
        size.hosts,
        begin.elapsed().as_secs_f64()
    );
    let mut house = House::start(&plane);
    println!(
        "first lists complete after {:.1} s, {} MiB resident",
        house.ready(),
        house.resident()
    );

    let begin = Instant::now();
    crowd.make_provisionings(0..size.provisionings);
    for _ in 0..size.provisionings {
        house.order();
    }
    println!(
        "{} provisionings at once: all orders out after {:.1} s, {} MiB resident",
        size.provisionings,
        begin.elapsed().as_secs_f64(),
        house.resident()
    );
    // What follows from the last orders is written first.
    std::thread::sleep(Duration::from_secs(10));

    let mut times: Vec<f64> = (0..size.samples)
        .map(|n| {
            let number = size.provisionings + n;
            let begin = Instant::now();
            crowd.make_provisionings(number..number + 1);
            let name = house.order();
            assert_eq!(name, Crowd::name(number), "only this one was waited for");
            let took = begin.elapsed().as_secs_f64();
            // Its run ends and is written; then all is idle again.
            std::thread::sleep(Duration::from_millis(700));
            took
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] * 1000.0;
    println!(
        "from create to order: p50 {:.0} ms, p95 {:.0} ms, p99 {:.0} ms, most {:.0} ms ({} samples)",
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0),
        times.len()
    );
    println!("resident: {} MiB, peak {} MiB", house.resident(), house.peak());

    let begin = Instant::now();
    let mut seen = vec![house.resident()];
    for part in 0..5 {
        crowd.churn(part, size.changes / 5, size.hosts, size.provisionings);
        std::thread::sleep(Duration::from_secs(3));
        seen.push(house.resident());
    }
    println!(
        "{} changes in {:.0} s: resident MiB {seen:?}, peak {}",
        size.changes,
        begin.elapsed().as_secs_f64(),
        house.peak()
    );
    house.stop();
}

/// The second process.
struct House {
    child: Child,
    lines: Receiver<String>,
    start: Instant,
}

impl House {
    fn start(plane: &ControlPlane) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .env(COORDINATOR, plane.kubeconfig(User::Coordinator))
            // As deploy/coordinator.yaml has it.
            .env("MALLOC_ARENA_MAX", "2")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts again");
        let out = child.stdout.take().expect("it has an output");
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, start: Instant::now() }
    }

    /// Waits for the first lists. Seconds since the start.
    fn ready(&mut self) -> f64 {
        let line = self.line();
        assert_eq!(line, "ready");
        self.start.elapsed().as_secs_f64()
    }

    /// Waits for the next order; the name of its Provisioning.
    fn order(&mut self) -> String {
        let line = self.line();
        line.strip_prefix("order ").unwrap_or_else(|| panic!("`{line}` is no order")).to_owned()
    }

    fn line(&mut self) -> String {
        self.lines.recv_timeout(LONG).expect("the coordinator goes on")
    }

    fn status(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).expect("the coordinator lives");
        let line = text.lines().find(|line| line.starts_with(field)).expect("the kernel tells");
        let kib = line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok());
        kib.expect("a number") >> 10
    }

    /// MiB.
    fn resident(&self) -> u64 {
        self.status("VmRSS")
    }

    /// MiB.
    fn peak(&self) -> u64 {
        self.status("VmHWM")
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.stop();
    }
}
