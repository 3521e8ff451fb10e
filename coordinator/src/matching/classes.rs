//! Can all be served? Hosts that can serve the same groups (and share a failure domain, where that
//! counts) are one class, so that the question is small however many hosts there are. It is asked
//! again for each remedy that is tried.

use std::collections::{BTreeMap, VecDeque};

/// Which groups a host can serve, in order, and its failure domain.
pub type Class = (Vec<usize>, usize);

/// Hosts in classes, and what is asked of them.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Slots of each group.
    pub demand: Vec<usize>,
    pub counts: BTreeMap<Class, usize>,
    /// No failure domain may have more.
    pub cap: usize,
}

impl Classes {
    /// One host more in a class.
    pub fn add(&mut self, class: Class) {
        *self.counts.entry(class).or_default() += 1;
    }

    /// One host less in a class.
    pub fn remove(&mut self, class: &Class) {
        if let Some(count) = self.counts.get_mut(class) {
            *count = count.saturating_sub(1);
        }
    }

    /// True when every slot can have a host.
    pub fn fits(&self) -> bool {
        self.served() == self.demand.iter().sum::<usize>()
    }

    /// How many slots can have a host at once: a maximum flow (Edmonds and Karp 1972).
    pub fn served(&self) -> usize {
        let mut net = Net::new(self);
        let mut sum = 0;
        while let Some(more) = net.push() {
            sum += more;
        }
        sum
    }
}

/// Places: source, sink, groups, classes, domains.
struct Net {
    /// Per place: neighbour, and what may still flow there.
    left: Vec<BTreeMap<usize, usize>>,
}

const SOURCE: usize = 0;
const SINK: usize = 1;

impl Net {
    fn new(classes: &Classes) -> Self {
        let groups = classes.demand.len();
        let domain = |number: usize| 2 + groups + classes.counts.len() + number;
        let domains = classes.counts.keys().map(|(_, domain)| domain + 1).max().unwrap_or(0);
        let mut net = Self { left: vec![BTreeMap::new(); domain(domains)] };
        for (group, demand) in classes.demand.iter().enumerate() {
            net.join(SOURCE, 2 + group, *demand);
        }
        for (index, ((serves, number), count)) in classes.counts.iter().enumerate() {
            let class = 2 + groups + index;
            for group in serves {
                net.join(2 + group, class, *count);
            }
            net.join(class, domain(*number), *count);
        }
        for number in 0..domains {
            net.join(domain(number), SINK, classes.cap);
        }
        net
    }

    fn join(&mut self, from: usize, to: usize, capacity: usize) {
        self.left[from].insert(to, capacity);
        self.left[to].entry(from).or_insert(0);
    }

    /// Sends as much as goes along one shortest path.
    fn push(&mut self) -> Option<usize> {
        let mut came: Vec<Option<usize>> = vec![None; self.left.len()];
        let mut queue = VecDeque::from([SOURCE]);
        while let Some(place) = queue.pop_front() {
            for (to, left) in &self.left[place] {
                if *left > 0 && *to != SOURCE && came[*to].is_none() {
                    came[*to] = Some(place);
                    queue.push_back(*to);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = SINK;
        while at != SOURCE {
            let from = came[at]?;
            path.push((from, at));
            at = from;
        }
        let more = path.iter().filter_map(|(from, to)| self.left[*from].get(to)).min().copied()?;
        for (from, to) in path {
            self.left[from].entry(to).and_modify(|left| *left -= more);
            self.left[to].entry(from).and_modify(|left| *left = left.saturating_add(more));
        }
        Some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(demand: &[usize], counts: &[(&[usize], usize, usize)], cap: usize) -> Classes {
        let counts = counts.iter().map(|(serves, domain, n)| ((serves.to_vec(), *domain), *n));
        Classes { demand: demand.to_vec(), counts: counts.collect(), cap }
    }

    #[test]
    fn what_only_some_hosts_can_serve_is_left_to_them() {
        let two = classes(&[2, 3], &[(&[0, 1], 0, 2), (&[1], 0, 3)], usize::MAX);
        assert!(two.fits());
        let short = classes(&[3, 3], &[(&[0, 1], 0, 2), (&[1], 0, 9)], usize::MAX);
        assert_eq!(short.served(), 5);
        assert_eq!(classes(&[], &[], usize::MAX).served(), 0);
    }

    #[test]
    fn a_failure_domain_gives_no_more_than_its_share() {
        let hosts: &[(&[usize], usize, usize)] = &[(&[0], 0, 5), (&[0], 1, 1)];
        assert_eq!(classes(&[4], hosts, 2).served(), 3);
        assert_eq!(classes(&[4], hosts, 3).served(), 4);
    }

    #[test]
    fn a_host_may_come_and_go() {
        let mut one = classes(&[1], &[], usize::MAX);
        assert!(!one.fits());
        one.add((vec![0], 0));
        assert!(one.fits());
        one.remove(&(vec![0], 0));
        assert!(!one.fits());
    }
}
