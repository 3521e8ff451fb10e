//! What makes one full assignment better than another, in this order: more assignments that stand
//! are kept; the failure domains are more even; less CPU and memory is left over; earlier names.
//!
//! Each of the four is a sum over the slots, so they make one number whose digits are the four:
//! no sum of a lower one can ever reach one unit of a higher one.

use super::{Catalog, Need};

/// Most slots of one provisioning: `accept` refuses more.
const SLOTS_BITS: u32 = 10;
/// Positions in a catalog have fewer bits.
const RANK_BITS: u32 = 27;
/// Waste of one slot is capped to this many bits.
const WASTE_BITS: u32 = 40;

const WASTE_SHIFT: u32 = RANK_BITS + SLOTS_BITS;
const SPREAD_SHIFT: u32 = WASTE_SHIFT + WASTE_BITS + SLOTS_BITS;
/// The sum of squares of counts is below the square of the slots.
const KEEP_SHIFT: u32 = SPREAD_SHIFT + 2 * SLOTS_BITS + 1;

/// One unit of unevenness.
pub const SPREAD_UNIT: i128 = 1 << SPREAD_SHIFT;

/// A cost; smaller is better.
pub type Cost = i128;

/// The cost of this host for a need, without its failure domain.
pub fn of_host(need: &Need, catalog: &Catalog, host: usize, kept: bool) -> Cost {
    let waste = i128::from(waste(need, catalog, host)) << WASTE_SHIFT;
    // A catalog of 2^27 hosts would not fit into memory.
    let rank = i128::try_from(host).unwrap_or(0);
    waste + rank - if kept { 1 << KEEP_SHIFT } else { 0 }
}

/// What the next host in a domain costs where `count` are used already: the increments of the sum
/// of squares, 1, 3, 5 …, so that an even spread is the cheapest.
pub fn of_next_in_domain(count: usize) -> Cost {
    i128::try_from(2 * count + 1).unwrap_or(i128::MAX >> 64) * SPREAD_UNIT
}

/// CPU and memory that would be left over on a host, in MiB; a thread counts as 4 GiB, the ratio of
/// common machines. What nobody has measured counts nothing.
pub fn waste(need: &Need, catalog: &Catalog, host: usize) -> u64 {
    const MIB_OF_A_THREAD: u64 = 4096;
    let offer = &catalog.offers[host];
    let threads = offer.cpu.unwrap_or(0).saturating_sub(need.cpu.unwrap_or(0));
    let wanted = need.memory.as_ref().map_or(0, |memory| memory.bytes());
    let memory = offer.memory.unwrap_or(0).saturating_sub(wanted) >> 20;
    (u64::from(threads) * MIB_OF_A_THREAD + memory).min((1 << WASTE_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::testing::{offer, size};

    #[test]
    fn no_sum_of_a_lower_preference_reaches_one_of_a_higher() {
        let slots = i128::from((1u32 << SLOTS_BITS) - 1);
        let ranks = slots * ((1 << RANK_BITS) - 1);
        assert!(ranks < 1 << WASTE_SHIFT);
        let waste = slots * (((1i128 << WASTE_BITS) - 1) << WASTE_SHIFT) + ranks;
        assert!(waste < SPREAD_UNIT);
        let spread = slots * slots * SPREAD_UNIT + waste;
        assert!(spread < 1 << KEEP_SHIFT);
        let keep = slots << KEEP_SHIFT;
        assert!(keep.checked_mul(2).is_some(), "and all fit into the number");
    }

    #[test]
    fn waste_is_what_is_left_over() {
        let catalog = Catalog::new(vec![offer("a", 1, 16, 64)]);
        assert_eq!(waste(&size(16, "64Gi"), &catalog, 0), 0);
        assert_eq!(waste(&size(14, "63Gi"), &catalog, 0), 2 * 4096 + 1024);
        assert_eq!(waste(&Need::default(), &catalog, 0), 16 * 4096 + 65536);
    }
}
