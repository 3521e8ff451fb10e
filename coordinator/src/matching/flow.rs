//! Min-cost flow from groups over hosts and failure domains, by successive shortest paths.
//!
//! The network: each group gives as many units as it has slots; a unit goes over one host (which
//! takes one) into that host's failure domain, whose every next unit costs more (a convex cost, so
//! flow finds the optimum). Shortest paths are found on groups and domains alone: a heap for each
//! pair knows the best host to go over. Literature: Ahuja, Magnanti, Orlin, *Network Flows*, 9.7
//! (successive shortest paths), 14 (convex costs).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::cost::{Cost, of_next_in_domain};

/// A host that may serve some groups. Hosts are named by their place in the list.
#[derive(Clone, Debug)]
pub struct Node {
    pub domain: usize,
    /// Group and what this host costs it.
    pub costs: Vec<(usize, Cost)>,
}

type Heap = BinaryHeap<Reverse<(Cost, usize)>>;

/// A flow in the making. It is the cheapest of its size at any time.
pub struct Flow {
    nodes: Vec<Node>,
    groups: usize,
    /// Per host: the group that holds it.
    holder: Vec<Option<usize>>,
    /// Per domain: how many of its hosts are held.
    used: Vec<usize>,
    /// No domain may have more.
    cap: usize,
    even: bool,
    /// Per group and domain: free hosts. Entries that no longer hold are dropped when met.
    free: Vec<Vec<Heap>>,
    /// Per group: hosts that another group holds, by that group.
    swap: Vec<BTreeMap<usize, Heap>>,
    /// Per domain: hosts that a group holds and could give back.
    undo: Vec<BTreeMap<usize, Heap>>,
}

/// How the search came to a place: from where, over which host.
#[derive(Clone, Copy)]
struct Step {
    from: usize,
    host: usize,
}

impl Flow {
    /// No flow yet. With `even`, each next host in a domain costs more; never more than `cap` in
    /// one domain.
    pub fn new(nodes: Vec<Node>, groups: usize, domains: usize, even: bool, cap: usize) -> Self {
        let mut free: Vec<Vec<Heap>> = vec![vec![Heap::new(); domains]; groups];
        for (host, node) in nodes.iter().enumerate() {
            for (group, cost) in &node.costs {
                free[*group][node.domain].push(Reverse((*cost, host)));
            }
        }
        Self {
            holder: vec![None; nodes.len()],
            nodes,
            groups,
            used: vec![0; domains],
            cap,
            even,
            free,
            swap: vec![BTreeMap::new(); groups],
            undo: vec![BTreeMap::new(); domains],
        }
    }

    /// The group that holds each host.
    pub fn holders(&self) -> &[Option<usize>] {
        &self.holder
    }

    /// Gives one more host to a group, moving others where that is cheapest. `Err`: there is no
    /// way; the groups that compete are true.
    pub fn augment(&mut self, start: usize) -> Result<(), Vec<bool>> {
        let (dist, came) = self.search(start);
        let ends = (0..self.used.len()).filter(|domain| self.used[*domain] < self.cap);
        let best = ends
            .filter_map(|domain| {
                let next = if self.even { of_next_in_domain(self.used[domain]) } else { 0 };
                Some((dist[self.groups + domain]? + next, domain))
            })
            .min();
        let Some((_, domain)) = best else {
            return Err(dist[..self.groups].iter().map(Option::is_some).collect());
        };
        self.used[domain] += 1;
        self.walk_back(self.groups + domain, start, &came);
        Ok(())
    }

    /// Shortest distances from a group to all places (groups, then domains). Costs may be negative
    /// but no cycle is, since the flow is the cheapest of its size.
    fn search(&mut self, start: usize) -> (Vec<Option<Cost>>, Vec<Option<Step>>) {
        let places = self.groups + self.used.len();
        let mut dist: Vec<Option<Cost>> = vec![None; places];
        let mut came: Vec<Option<Step>> = vec![None; places];
        let mut waits = vec![false; places];
        let mut queue = VecDeque::from([start]);
        dist[start] = Some(0);
        while let Some(place) = queue.pop_front() {
            waits[place] = false;
            let Some(here) = dist[place] else { continue };
            for (to, cost, host) in self.ways(place) {
                if dist[to].is_none_or(|old| here + cost < old) {
                    dist[to] = Some(here + cost);
                    came[to] = Some(Step { from: place, host });
                    if !std::mem::replace(&mut waits[to], true) {
                        queue.push_back(to);
                    }
                }
            }
        }
        (dist, came)
    }

    /// The best way to each neighbour of a place.
    fn ways(&mut self, place: usize) -> Vec<(usize, Cost, usize)> {
        let mut ways = Vec::new();
        let holder = &self.holder;
        if place < self.groups {
            for (domain, heap) in self.free[place].iter_mut().enumerate() {
                if let Some((cost, host)) = top(heap, |host| holder[host].is_none()) {
                    ways.push((self.groups + domain, cost, host));
                }
            }
            for (group, heap) in &mut self.swap[place] {
                if let Some((cost, host)) = top(heap, |host| holder[host] == Some(*group)) {
                    ways.push((*group, cost, host));
                }
            }
        } else {
            for (group, heap) in &mut self.undo[place - self.groups] {
                if let Some((cost, host)) = top(heap, |host| holder[host] == Some(*group)) {
                    ways.push((*group, cost, host));
                }
            }
        }
        ways
    }

    /// Moves hosts along the path that ends in `place`.
    fn walk_back(&mut self, place: usize, start: usize, came: &[Option<Step>]) {
        let mut at = place;
        let mut moves = Vec::new();
        // A path visits no place twice.
        while at != start
            && let Some(step) = came[at]
        {
            moves.push((step.host, (step.from < self.groups).then_some(step.from)));
            at = step.from;
        }
        for (host, group) in moves {
            self.hand(host, group);
        }
    }

    /// Gives a host to a group, or frees it.
    fn hand(&mut self, host: usize, group: Option<usize>) {
        self.holder[host] = group;
        let Node { domain, costs } = &self.nodes[host];
        let Some(group) = group else {
            for (other, cost) in costs {
                self.free[*other][*domain].push(Reverse((*cost, host)));
            }
            return;
        };
        let own = costs.iter().find(|(g, _)| *g == group).map_or(0, |(_, cost)| *cost);
        for (other, cost) in costs {
            if *other != group {
                let heap = self.swap[*other].entry(group).or_default();
                heap.push(Reverse((*cost - own, host)));
            }
        }
        self.undo[*domain].entry(group).or_default().push(Reverse((-own, host)));
    }
}

/// The cheapest entry that still holds.
fn top(heap: &mut Heap, holds: impl Fn(usize) -> bool) -> Option<(Cost, usize)> {
    while let Some(Reverse((cost, host))) = heap.peek().copied() {
        if holds(host) {
            return Some((cost, host));
        }
        heap.pop();
    }
    None
}
