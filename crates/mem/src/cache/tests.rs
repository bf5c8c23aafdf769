use super::*;
use crate::testing::cache_config;
use config::{Allocate, WriteAllocate, WritePolicy};

fn request(kind: RequestKind, address: u64, token: u32) -> Request {
    Request::new(kind, address, 32, token)
}

fn read(address: u64, token: u32) -> Request {
    request(RequestKind::Read, address, token)
}

fn write(address: u64, token: u32, byte_mask: u32) -> Request {
    Request { byte_mask, ..request(RequestKind::Write, address, token) }
}

const fn taken(outcome: CacheOutcome, answer: Answer) -> CacheAccess {
    CacheAccess { outcome, answer }
}

/// Serves every fetch of `cache` at once and drops everything else that leaves it.
fn serve(cache: &mut Cache) -> Vec<(RequestKind, u64)> {
    let mut sent = Vec::new();
    while let Some(miss) = cache.pop_miss() {
        sent.push((miss.kind, miss.address));
        if !matches!(miss.kind, RequestKind::Write | RequestKind::WriteBack) {
            cache.fill(0, miss.token);
        }
    }
    while cache.pop_ready().is_some() {}
    sent
}

#[test]
fn a_miss_fetches_its_sector_once_and_answers_all_who_wait_in_order() {
    let mut cache = Cache::new(&cache_config());
    assert_eq!(cache.access(0, &read(0x1020, 1)), taken(CacheOutcome::Miss, Answer::WhenReady));
    assert_eq!(cache.access(1, &read(0x1020, 2)), taken(CacheOutcome::Merged, Answer::WhenReady));
    assert_eq!(cache.access(2, &read(0x1040, 3)), taken(CacheOutcome::Miss, Answer::WhenReady), "another sector");
    let (first, second) = (cache.pop_miss().unwrap(), cache.pop_miss().unwrap());
    assert_eq!((first.address, first.bytes, second.address), (0x1020, 32, 0x1040));
    assert!(cache.pop_miss().is_none());
    cache.fill(10, second.token);
    cache.fill(11, first.token);
    let order: Vec<_> = std::iter::from_fn(|| cache.pop_ready()).map(|w| w.token).collect();
    assert_eq!(order, [3, 1, 2]);
    assert_eq!(cache.access(12, &read(0x1020, 4)), taken(CacheOutcome::Hit, Answer::Now));
    assert_eq!(cache.access(12, &read(0x1060, 5)).outcome, CacheOutcome::Miss);
    let c = cache.counters();
    assert_eq!((c.read_hits, c.read_merges, c.read_misses, c.read_sector_misses), (1, 1, 1, 2));
}

#[test]
fn a_line_cache_fetches_whole_lines() {
    let mut cache = Cache::new(&config::Cache { sectored: false, ..cache_config() });
    cache.access(0, &read(0x1020, 1));
    assert_eq!(cache.access(0, &read(0x1060, 2)).outcome, CacheOutcome::Merged);
    let miss = cache.pop_miss().unwrap();
    assert_eq!((miss.address, miss.bytes), (0x1000, 128));
    cache.fill(0, miss.token);
    assert_eq!(cache.access(0, &read(0x1000, 3)).outcome, CacheOutcome::Hit);
}

#[test]
fn mshrs_run_out_of_entries_and_of_merges() {
    let mut cache = Cache::new(&config::Cache { mshr_entries: 2, mshr_merges: 2, ..cache_config() });
    assert!(cache.access(0, &read(0x000, 0)).is_taken());
    assert!(cache.access(0, &read(0x000, 1)).is_taken());
    assert_eq!(cache.access(0, &read(0x000, 2)), CacheAccess::fail(FailReason::MshrMergesFull));
    assert!(cache.access(0, &read(0x080, 3)).is_taken());
    assert_eq!(cache.access(0, &read(0x100, 4)), CacheAccess::fail(FailReason::NoMshr));
    let failure = cache.failure(FailReason::NoMshr);
    let miss = cache.pop_miss().unwrap();
    cache.fill(0, miss.token);
    assert!(cache.fails_again(failure));
    assert_eq!(cache.access(0, &read(0x100, 4)), CacheAccess::fail(FailReason::NoMshr), "waiters still hold it");
    while cache.pop_ready().is_some() {}
    assert!(!cache.fails_again(failure));
    assert!(cache.access(0, &read(0x100, 4)).is_taken());
}

#[test]
fn a_set_full_of_lines_under_way_takes_no_more() {
    let one_set = config::Cache { sets: 1, ways: 2, ..cache_config() };
    let mut cache = Cache::new(&one_set);
    assert!(cache.access(0, &read(0x000, 0)).is_taken());
    assert!(cache.access(0, &read(0x080, 1)).is_taken());
    assert_eq!(cache.access(0, &read(0x100, 2)), CacheAccess::fail(FailReason::NoLine));
    let streaming = config::Cache { allocate: Allocate::Streaming, ..one_set };
    let mut cache = Cache::new(&streaming);
    for line in 0..6 {
        assert!(cache.access(0, &read(line * 0x80, 0)).is_taken(), "streaming: a miss needs no line");
    }
    serve(&mut cache);
    assert_eq!(cache.access(1, &read(5 * 0x80, 0)).outcome, CacheOutcome::Hit);
    assert_eq!(cache.access(1, &read(0, 0)).outcome, CacheOutcome::Miss);
}

#[test]
fn a_streaming_cache_keeps_what_is_written_without_waiting_for_a_line() {
    let mut cache = Cache::new(&config::Cache {
        sets: 1,
        ways: 2,
        allocate: Allocate::Streaming,
        write: WritePolicy::WriteThrough,
        write_allocate: WriteAllocate::LazyFetchOnRead,
        ..cache_config()
    });
    for line in 0..4 {
        assert!(cache.access(0, &read(line * 0x80, 0)).is_taken());
    }
    for request in [write(0x200, 0, u32::MAX), write(0x400, 0, 0xff)] {
        let access = cache.access(1, &request);
        assert_eq!((access.outcome, access.answer), (CacheOutcome::Miss, Answer::NextLevel), "{request:?}");
    }
    assert_eq!(cache.access(2, &read(0x200, 0)).outcome, CacheOutcome::Hit, "what was written is there");
    assert_eq!(cache.access(2, &read(0x400, 7)).outcome, CacheOutcome::Miss, "the rest of the sector is not");
    serve(&mut cache);
    assert!(cache.is_idle());
    assert_eq!(cache.counters().written_back_sectors, 0);
}

#[test]
fn the_miss_queue_limits_what_is_taken() {
    let mut cache = Cache::new(&config::Cache { miss_queue: 3, ..cache_config() });
    assert!(cache.access(0, &read(0x000, 0)).is_taken());
    assert!(cache.access(0, &read(0x080, 0)).is_taken());
    assert_eq!(cache.access(0, &read(0x100, 0)), CacheAccess::fail(FailReason::MissQueueFull));
    cache.pop_miss();
    assert!(cache.access(0, &read(0x100, 0)).is_taken());
}

#[test]
fn write_back_keeps_dirty_data_until_its_line_goes() {
    let config = config::Cache { sets: 1, ways: 1, write_allocate: WriteAllocate::LazyFetchOnRead, ..cache_config() };
    let mut cache = Cache::new(&config);
    assert_eq!(cache.access(0, &write(0x000, 1, u32::MAX)), taken(CacheOutcome::Miss, Answer::Now));
    assert_eq!(cache.access(0, &write(0x020, 1, 0xf)), taken(CacheOutcome::Miss, Answer::Now));
    assert_eq!(cache.access(0, &read(0x000, 2)), taken(CacheOutcome::Hit, Answer::Now), "all bytes known");
    assert_eq!(serve(&mut cache), []);
    assert_eq!(cache.access(0, &read(0x020, 3)), taken(CacheOutcome::Miss, Answer::WhenReady), "rest is fetched");
    assert_eq!(serve(&mut cache), [(RequestKind::Read, 0x20)]);
    assert_eq!(cache.access(0, &read(0x020, 3)).outcome, CacheOutcome::Hit);
    assert_eq!(cache.access(0, &write(0x060, 1, u32::MAX)).outcome, CacheOutcome::Miss);
    cache.access(1, &read(0x1000, 4));
    let expected = [(RequestKind::Read, 0x1000), (RequestKind::WriteBack, 0x0), (RequestKind::WriteBack, 0x60)];
    let mut sent = serve(&mut cache);
    sent.sort_by_key(|&(kind, address)| (kind != RequestKind::Read, address));
    assert_eq!(sent, expected, "two neighbours together, one alone");
    assert_eq!(cache.counters().written_back_sectors, 3);
}

#[test]
fn each_write_policy_on_a_hit() {
    for (policy, local, answer, still_there) in [
        (WritePolicy::WriteBack, false, Answer::Now, true),
        (WritePolicy::WriteThrough, false, Answer::NextLevel, true),
        (WritePolicy::WriteEvict, false, Answer::NextLevel, false),
        (WritePolicy::LocalWriteBackGlobalWriteThrough, true, Answer::Now, true),
        (WritePolicy::LocalWriteBackGlobalWriteThrough, false, Answer::NextLevel, false),
    ] {
        let config = config::Cache { write: policy, write_allocate: WriteAllocate::None, ..cache_config() };
        let mut cache = Cache::new(&config);
        cache.access(0, &read(0x40, 0));
        serve(&mut cache);
        let store = Request { local, ..write(0x40, 9, 0xff) };
        assert_eq!(cache.access(1, &store), taken(CacheOutcome::Hit, answer), "{policy:?}");
        let passed_on: Vec<_> = std::iter::from_fn(|| cache.pop_miss()).collect();
        assert_eq!(passed_on, if answer == Answer::Now { vec![] } else { vec![store] }, "{policy:?}");
        let hit = cache.access(2, &read(0x40, 1)).outcome == CacheOutcome::Hit;
        assert_eq!(hit, still_there, "{policy:?}");
    }
}

#[test]
fn each_write_allocate_policy_on_a_miss() {
    let config = |write_allocate| config::Cache { write_allocate, ..cache_config() };
    let mut none = Cache::new(&config(WriteAllocate::None));
    assert_eq!(none.access(0, &write(0x40, 9, 0xff)), taken(CacheOutcome::Miss, Answer::NextLevel));
    assert_eq!(serve(&mut none), [(RequestKind::Write, 0x40)]);
    assert_eq!(none.access(1, &read(0x40, 0)).outcome, CacheOutcome::Miss);

    let mut naive = Cache::new(&config(WriteAllocate::Write));
    assert_eq!(naive.access(0, &write(0x40, 9, 0xff)), taken(CacheOutcome::Miss, Answer::NextLevel));
    let (fetch, write_through) = (naive.pop_miss().unwrap(), naive.pop_miss().unwrap());
    assert_eq!((fetch.kind, write_through.kind, write_through.token), (RequestKind::Read, RequestKind::Write, 9));
    naive.fill(5, fetch.token);
    assert!(naive.pop_ready().unwrap().silent);
    assert_eq!(naive.access(6, &read(0x40, 0)).outcome, CacheOutcome::Hit);

    let mut fetching = Cache::new(&config(WriteAllocate::FetchOnWrite));
    assert_eq!(fetching.access(0, &write(0x40, 9, 0xff)), taken(CacheOutcome::Miss, Answer::WhenReady));
    let fetch = fetching.pop_miss().unwrap();
    assert_eq!((fetch.kind, fetching.dirty_lines()), (RequestKind::Read, 0));
    fetching.fill(5, fetch.token);
    let waiter = fetching.pop_ready().unwrap();
    assert_eq!((waiter.token, waiter.kind, fetching.dirty_lines()), (9, RequestKind::Write, 1));
    assert_eq!(fetching.access(6, &read(0x40, 0)).outcome, CacheOutcome::Hit);
    assert_eq!(
        fetching.access(6, &write(0x80, 9, u32::MAX)),
        taken(CacheOutcome::Miss, Answer::Now),
        "nothing to fetch"
    );
    assert_eq!(serve(&mut fetching), []);
}

#[test]
fn fetch_on_write_keeps_write_read_write_in_order() {
    let mut cache = Cache::new(&config::Cache { write_allocate: WriteAllocate::FetchOnWrite, ..cache_config() });
    assert!(cache.access(0, &write(0x40, 1, 0x1)).is_taken());
    assert!(cache.access(0, &write(0x40, 2, 0x2)).is_taken(), "writes may follow each other");
    assert!(cache.access(0, &read(0x40, 3)).is_taken());
    assert_eq!(cache.access(0, &write(0x40, 4, 0x4)), CacheAccess::fail(FailReason::WriteBehindRead));
}

#[test]
fn a_write_to_a_sector_under_way_is_not_lost() {
    let mut cache = Cache::new(&cache_config());
    cache.access(0, &read(0x40, 1));
    assert_eq!(cache.access(0, &write(0x40, 2, 0xff)), taken(CacheOutcome::Merged, Answer::Now));
    assert_eq!(cache.dirty_lines(), 0);
    serve(&mut cache);
    assert_eq!(cache.dirty_lines(), 1);
    assert_eq!(cache.access(1, &read(0x40, 3)).outcome, CacheOutcome::Hit);
}

#[test]
fn atomics_leave_their_sector_dirty() {
    let mut cache = Cache::new(&cache_config());
    assert_eq!(cache.access(0, &request(RequestKind::Atomic, 0x40, 1)).outcome, CacheOutcome::Miss);
    serve(&mut cache);
    assert_eq!(cache.dirty_lines(), 1);
    let again = Request { byte_mask: 0xf, ..request(RequestKind::Atomic, 0x40, 1) };
    assert_eq!(cache.access(1, &again), taken(CacheOutcome::Hit, Answer::Now));
    assert_eq!(cache.access(1, &read(0x40, 1)).outcome, CacheOutcome::Hit);
}

#[test]
fn ports_are_busy_for_as_long_as_the_bytes_take() {
    let mut cache = Cache::new(&config::Cache { sectored: false, port_bytes: 32, ..cache_config() });
    cache.access(0, &read(0x40, 1));
    let miss = cache.pop_miss().unwrap();
    cache.fill(10, miss.token);
    assert!(!cache.fill_port_free(13) && cache.fill_port_free(14), "a 128-byte line takes four cycles");
    let whole_line = Request { address: 0, bytes: 128, ..read(0, 1) };
    cache.access(20, &whole_line);
    assert!(!cache.data_port_free(23) && cache.data_port_free(24));
}

#[test]
fn a_fill_nobody_asked_for_is_ignored() {
    let mut cache = Cache::new(&cache_config());
    cache.fill(0, 3);
    cache.fill(0, 3000);
    assert!(cache.pop_ready().is_none() && cache.is_idle());
}

#[test]
fn preloaded_sectors_hit_and_invalidated_ones_do_not() {
    let mut cache = Cache::new(&cache_config());
    cache.preload(0x40, 32);
    assert_eq!(cache.access(0, &read(0x40, 0)).outcome, CacheOutcome::Hit);
    cache.invalidate();
    assert_eq!(cache.access(0, &read(0x40, 0)).outcome, CacheOutcome::Miss);
    cache.preload(0x40, 32);
    assert_eq!(cache.access(0, &read(0x40, 1)).outcome, CacheOutcome::Merged, "under way already");
    assert_eq!(serve(&mut cache), [(RequestKind::Read, 0x40)]);
    assert_eq!(cache.access(0, &read(0x40, 0)).outcome, CacheOutcome::Hit);
}

#[test]
fn dirty_lines_are_written_back_one_by_one_and_stay() {
    let config = config::Cache { sectored: false, write_allocate: WriteAllocate::FetchOnWrite, ..cache_config() };
    let mut cache = Cache::new(&config);
    for line in [0x80, 0x200, 0x300] {
        cache.access(0, &write(line, 0, 0xf));
        serve(&mut cache);
    }
    cache.access(0, &write(0x400, 0, 0xf));
    let fetch = cache.pop_miss().unwrap();
    assert!((0..3).all(|_| cache.write_back_one(1)) && !cache.write_back_one(1), "one line is under way");
    let expected = [0x80, 0x200, 0x300].map(|line| (RequestKind::WriteBack, line));
    assert_eq!(serve(&mut cache), expected);
    assert_eq!(cache.access(2, &read(0x220, 1)).outcome, CacheOutcome::Hit);
    cache.fill(3, fetch.token);
    while cache.pop_ready().is_some() {}
    assert!(cache.write_back_one(4) && cache.dirty_lines() == 0);
    assert_eq!(serve(&mut cache), [(RequestKind::WriteBack, 0x400)]);
    // Unknown bytes of a sector stay missing after the write-back.
    let mut sectors = Cache::new(&cache_config());
    sectors.access(0, &write(0x40, 0, 0xf));
    assert!(sectors.write_back_one(0));
    assert_eq!(sectors.access(1, &read(0x40, 1)).outcome, CacheOutcome::Miss);
}

#[test]
fn a_line_that_goes_before_its_waiters_are_answered_leaves_nothing_reserved() {
    let mut cache = Cache::new(&config::Cache { sets: 1, ways: 1, ..cache_config() });
    assert!(cache.access(0, &read(0x00, 1)).is_taken());
    let miss = cache.pop_miss().unwrap();
    cache.fill(1, miss.token);
    assert_eq!(cache.access(2, &write(0x80, 2, u32::MAX)), taken(CacheOutcome::Miss, Answer::Now), "takes the line");
    assert_eq!(cache.access(3, &read(0x00, 3)), taken(CacheOutcome::Miss, Answer::WhenReady), "joins those who wait");
    let atomic = request(RequestKind::Atomic, 0x00, 4);
    assert_eq!(cache.access(3, &atomic), CacheAccess::fail(FailReason::WriteBehindRead));
    assert_eq!(serve(&mut cache), []);
    assert!(cache.is_idle());
    assert!(cache.access(4, &atomic).is_taken(), "the line is not stuck");
}

#[test]
fn bytes_written_to_a_short_line_are_known_once_it_is_whole() {
    // The second half of 128 bytes is a line of its own.
    let mut sectored = Cache::new(&config::Cache { line_bytes: 64, ..cache_config() });
    sectored.access(0, &write(0x1040, 1, 0xffff));
    assert_eq!(sectored.access(0, &read(0x1040, 2)).outcome, CacheOutcome::Miss, "half a sector is not known");
    serve(&mut sectored);
    sectored.access(1, &write(0x2040, 3, 0xffff));
    sectored.access(1, &write(0x2040, 4, 0xffff_0000));
    assert_eq!(sectored.access(2, &read(0x2040, 5)).outcome, CacheOutcome::Hit);
    let mut whole = Cache::new(&config::Cache { sectored: false, line_bytes: 64, ..cache_config() });
    whole.access(0, &Request { bytes: 64, ..write(0x1040, 1, u32::MAX) });
    assert_eq!(whole.access(1, &read(0x1060, 2)).outcome, CacheOutcome::Hit);
}
