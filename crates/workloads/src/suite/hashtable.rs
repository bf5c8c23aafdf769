//! Insertion into a hash table with spin locks.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const EMPTY: i32 = -1;

pub(super) const WORKLOAD: Workload = Workload {
    name: "hashtable",
    summary: "inserts keys into a hash table of linked lists, with a spin lock per bucket",
    character: "atomic compare-and-swap in a divergent loop: threads wait for each other",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("hashtable"),
    parameters: &[
        Parameter::new("keys", "keys inserted", [1 << 14, 1 << 19, 1 << 23], 1, 1 << 26),
        Parameter::new("buckets", "buckets, each with its lock", [1 << 13, 1 << 18, 1 << 22], 1, 1 << 26),
        Parameter::new("block", "threads per CTA", [128; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, buckets, block) = (run.param("keys"), run.param("buckets"), run.param("block"));
    let keys: Vec<u32> = (0..count).map(|_| run.integer(0, u32::MAX.into()) as u32).collect();
    let d_keys = run.upload("keys", &keys)?;
    let locks = run.zeroed::<u32>("locks", buckets)?;
    let heads = run.upload("heads", &vec![EMPTY; buckets])?;
    let links = run.upload("links", &vec![EMPTY; count])?;
    let args =
        [d_keys.into(), locks.into(), heads.into(), links.into(), (count as i32).into(), (buckets as i32).into()];
    run.launch("insert", count.div_ceil(block), block, &args)?;
    let (got_heads, got_links) = (run.download::<i32>(heads)?, run.download::<i32>(links)?);
    run.check(check_lists(&keys, &got_heads, &got_links));
    let got_locks = run.download::<u32>(locks)?;
    run.check_equal("locks", &got_locks, &vec![0; buckets]);
    Ok(())
}

fn bucket(key: u32, buckets: usize) -> usize {
    let hash = key.wrapping_mul(2_654_435_769);
    ((u64::from(hash) * buckets as u64) >> 32) as usize
}

/// Every key is once in the list of its bucket, in any order.
fn check_lists(keys: &[u32], heads: &[i32], links: &[i32]) -> Check {
    let mut times_found = vec![0u32; keys.len()];
    for (number, &head) in heads.iter().enumerate() {
        let mut next = head;
        // A circular list would never end: no list has more entries than there are keys.
        for _ in 0..=keys.len() {
            let Some(index) = usize::try_from(next).ok().filter(|&i| i < keys.len()) else { break };
            if bucket(keys[index], heads.len()) == number {
                times_found[index] += 1;
            }
            next = links[index];
        }
    }
    Check::by_rule("lists", "found once in their bucket's list", keys.len(), |i| {
        (times_found[i] != 1).then(|| ("once".to_owned(), format!("{} times", times_found[i])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_missing_and_what_is_double() {
        let keys = [0, 0, 0];
        assert!(check_lists(&keys, &[2, -1], &[-1, 0, 1]).passed());
        assert_eq!(check_lists(&keys, &[1, -1], &[-1, 0, 1]).mismatches, 1);
        assert_eq!(check_lists(&keys, &[-1, 2], &[-1, 0, 1]).mismatches, 3, "wrong bucket");
        assert!(!check_lists(&keys, &[0, -1], &[1, 2, 0]).passed(), "a ring");
    }

    #[test]
    fn buckets_in_range() {
        for key in [0, 1, 77, u32::MAX] {
            assert!(bucket(key, 3) < 3);
        }
    }
}
