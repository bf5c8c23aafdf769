//! The ranges of NVTX that are open in each thread. Marks and resources have no meaning here.
//!
//! Ranges that are pushed are popped in their thread. A range that is started belongs to the thread that has started it,
//! until some thread ends it. A thread that has opened none works for the only one that has some open, if there is one:
//! as PyTorch's backward pass does.
//!
//! Frameworks push a range for each operation, whose name ends in numbers (`aten::mm, seq = 5, op_id = 7`). These are no
//! part of the name. Operations of a backward pass have the `seq` of the forward operation. In a thread in which nothing
//! else is open, they are within the ranges that were open around the forward operation.

use crate::{asked, python};
use cuda::origin::Part;
use request::values::By;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// A range without a text.
const UNNAMED: &str = "(unnamed)";

/// Numbers that follow the name of an operation.
const NUMBERS: [&str; 2] = [SEQUENCE, ", op_id = "];
const SEQUENCE: &str = ", seq = ";

/// Maximum number of forward operations that are remembered.
const MOST_FORWARD: usize = 1 << 20;

/// A range that is open.
struct Open {
    domain: u64,
    /// The number by which it is ended; 0 if it was pushed.
    started: u64,
    part: Part,
    forward: Option<u64>,
}

/// Context of a forward operation.
struct Forward {
    thread: ThreadId,
    around: Vec<Part>,
    line: Option<String>,
}

/// The ranges that a thread has opened. It is in the list from its first range to its end.
struct Thread {
    id: ThreadId,
    open: Vec<Open>,
}

static THREADS: Mutex<Vec<Thread>> = Mutex::new(Vec::new());

/// A thread of [`THREADS`], while it runs.
struct Listed(ThreadId);

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&THREADS).retain(|thread| thread.id != self.0);
    }
}

thread_local! {
    static LISTED: OnceCell<Listed> = const { OnceCell::new() };
}

/// Numbers of ranges.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Ranges that were started and not ended.
static STARTED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Names of the program's domains; a handle is a place in it, from 1. 0 is the default domain.
static DOMAINS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The program's registered texts; a handle is a place in it, from 1.
static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Forward operations by their sequence numbers.
static FORWARD: Mutex<Option<HashMap<u64, Forward>>> = Mutex::new(None);

fn lock<T>(shared: &'static Mutex<T>) -> MutexGuard<'static, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(list: &'static Mutex<Vec<String>>, text: String) -> u64 {
    let mut list = lock(list);
    list.push(text);
    list.len() as u64
}

fn get(list: &'static Mutex<Vec<String>>, handle: u64) -> Option<String> {
    let at = usize::try_from(handle.checked_sub(1)?).ok()?;
    lock(list).get(at).cloned()
}

/// The handle of a new domain.
pub fn domain(name: String) -> u64 {
    add(&DOMAINS, name)
}

/// The handle of a text.
pub fn register(text: String) -> u64 {
    add(&TEXTS, text)
}

/// The text of a handle.
pub fn registered(handle: u64) -> Option<String> {
    get(&TEXTS, handle)
}

/// The name of an operation without its numbers, and its sequence number.
fn split(text: &str) -> (&str, Option<u64>) {
    let end = NUMBERS.iter().filter_map(|number| text.find(number)).min().unwrap_or(text.len());
    let sequence = text.find(SEQUENCE).map(|at| &text[at + SEQUENCE.len()..]);
    let digits = sequence.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    (&text[..end], digits.and_then(|digits| digits.parse().ok()))
}

/// Opens a range. `started` is the number by which it is ended, 0 if it is popped. Returns how many of its kind are open
/// around it.
fn begin(domain: u64, text: Option<String>, started: u64) -> i32 {
    let text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| UNNAMED.to_owned());
    let (name, forward) = split(&text);
    let name = match get(&DOMAINS, domain) {
        Some(domain) => format!("{domain}:{name}"),
        None => name.to_owned(),
    };
    if let Some(sequence) = forward {
        note_forward(sequence);
    }
    let range = NEXT.fetch_add(1, Ordering::Relaxed);
    let id = std::thread::current().id();
    if LISTED.try_with(|listed| _ = listed.get_or_init(|| Listed(id))).is_err() {
        return 0;
    }
    let mut threads = lock(&THREADS);
    let at = threads.iter().position(|thread| thread.id == id).unwrap_or_else(|| {
        threads.push(Thread { id, open: Vec::new() });
        threads.len() - 1
    });
    let open = &mut threads[at].open;
    if open.iter().any(|one| one.started != 0) {
        let still = lock(&STARTED);
        open.retain(|one| one.started == 0 || still.contains(&one.started));
    }
    let depth = open.iter().filter(|one| one.domain == domain && one.started == 0).count();
    open.push(Open { domain, started, part: Part { name, range }, forward });
    depth as i32
}

/// Opens a range that is popped. Returns its level, from 0.
pub fn push(domain: u64, text: Option<String>) -> i32 {
    begin(domain, text, 0)
}

/// Closes the last range that was pushed. Returns its level; -1 if there is none.
pub fn pop(domain: u64) -> i32 {
    let id = std::thread::current().id();
    let mut threads = lock(&THREADS);
    let Some(thread) = threads.iter_mut().find(|thread| thread.id == id) else { return -1 };
    let Some(at) = thread.open.iter().rposition(|one| one.domain == domain && one.started == 0) else { return -1 };
    thread.open.remove(at);
    thread.open.iter().filter(|one| one.domain == domain && one.started == 0).count() as i32
}

/// Opens a range that any thread may end by the number that is returned.
pub fn start(domain: u64, text: Option<String>) -> u64 {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&STARTED).insert(number);
    begin(domain, text, number);
    number
}

/// Ends a range that was started. Returns 0, which nobody reads.
pub fn end(number: u64) -> i32 {
    lock(&STARTED).remove(&number);
    0
}

/// Remembers what is open around the first operation with a sequence number, which is the forward one.
fn note_forward(sequence: u64) {
    let thread = std::thread::current().id();
    if lock(&FORWARD).as_ref().is_some_and(|all| all.contains_key(&sequence)) {
        return;
    }
    // Without the lock: code of the program may run.
    let line = if asked::by() == Some(By::Python) { python::line() } else { None };
    let forward = Forward { thread, around: own().unwrap_or_default(), line };
    let mut all = lock(&FORWARD);
    let all = all.get_or_insert_default();
    if all.len() >= MOST_FORWARD {
        all.clear();
    }
    all.insert(sequence, forward);
}

impl Thread {
    fn ranges(&self) -> Vec<Part> {
        let still = self.open.iter().any(|one| one.started != 0).then(|| lock(&STARTED));
        let is_open = |one: &&Open| one.started == 0 || still.as_ref().is_some_and(|all| all.contains(&one.started));
        self.open.iter().filter(is_open).map(|one| one.part.clone()).collect()
    }
}

/// The ranges that this thread has opened; `None` if it has never opened one.
fn own() -> Option<Vec<Part>> {
    let id = std::thread::current().id();
    lock(&THREADS).iter().find(|thread| thread.id == id).map(Thread::ranges)
}

/// The ranges of the only thread that has some open.
fn of_the_only_one() -> Vec<Part> {
    let threads = lock(&THREADS);
    let mut all = threads.iter().map(Thread::ranges).filter(|ranges| !ranges.is_empty());
    all.next().filter(|_| all.next().is_none()).unwrap_or_default()
}

/// Applies `of` to the forward operation, in another thread, of this thread's outermost backward operation.
fn forward<T>(of: impl FnOnce(&Forward) -> T) -> Option<T> {
    let here = std::thread::current().id();
    let sequences: Vec<u64> = {
        let threads = lock(&THREADS);
        let here = threads.iter().find(|thread| thread.id == here)?;
        here.open.iter().filter_map(|one| one.forward).collect()
    };
    let all = lock(&FORWARD);
    let forward = sequences.iter().find_map(|sequence| all.as_ref()?.get(sequence))?;
    (forward.thread != here).then(|| of(forward))
}

/// The ranges that a launch of this thread belongs to, the outermost first.
pub fn open() -> Vec<Part> {
    let Some(own) = own() else { return of_the_only_one() };
    let mut around = forward(|forward| forward.around.clone()).unwrap_or_default();
    around.extend(own);
    around
}

/// The line of Python that made the forward operation whose backward one this thread makes.
pub fn line_of_forward() -> Option<String> {
    forward(|forward| forward.line.clone()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever has ranges open is one of the threads that others look at.
    static ALONE: Mutex<()> = Mutex::new(());

    fn names() -> String {
        open().into_iter().map(|part| part.name).collect::<Vec<_>>().join("/")
    }

    fn pushed(name: &str) -> i32 {
        push(0, Some(name.to_owned()))
    }

    #[test]
    fn ranges_nest_by_thread_and_domain() {
        let _alone = lock(&ALONE);
        let own = domain("own".into());
        assert_eq!((pushed("a"), pushed("b"), push(own, Some("c".into()))), (0, 1, 0));
        let number = start(0, None);
        assert_eq!(names(), "a/b/own:c/(unnamed)");
        let other = std::thread::spawn(|| {
            let before = names();
            pushed("d");
            (before, names(), pop(0), names())
        });
        assert_eq!(other.join().unwrap(), ("a/b/own:c/(unnamed)".into(), "d".into(), 0, String::new()));
        assert_eq!(pop(0), 1);
        assert_eq!(names(), "a/own:c/(unnamed)");
        std::thread::spawn(move || end(number)).join().unwrap();
        assert_eq!(names(), "a/own:c");
        assert_eq!((pop(own), pop(own), pop(0), pop(0)), (0, -1, 0, -1));
        assert_eq!(names(), "");
        let again = registered(register("text".into()));
        assert_eq!((again.as_deref(), registered(0), registered(u64::MAX)), (Some("text"), None, None));
    }

    #[test]
    fn operations_of_a_backward_pass_are_where_the_forward_ones_were() {
        let _alone = lock(&ALONE);
        pushed("step");
        pushed("layer");
        pushed("aten::mm, seq = 905, op_id = 12");
        assert_eq!(names(), "step/layer/aten::mm");
        (0..3).for_each(|_| _ = pop(0));
        let backward = std::thread::spawn(|| {
            pushed("evaluate_function: MmBackward0, op_id = 31");
            pushed("MmBackward0, seq = 905, op_id = 32, sizes = [[2, 3], []]");
            let around = names();
            (0..2).for_each(|_| _ = pop(0));
            pushed("OtherBackward0, seq = 99905");
            (around, names())
        });
        let (around, unknown) = backward.join().unwrap();
        assert_eq!(around, "step/layer/evaluate_function: MmBackward0/MmBackward0");
        assert_eq!(unknown, "OtherBackward0");
    }
}
