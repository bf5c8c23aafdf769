//! Launches in clusters: errors, attributes of functions, occupancy.

use crate::fake::{KERNELS, Program};
use cuda::module::Request;
use cuda::{Error, Result};

const CLUSTER: Option<[u32; 3]> = Some([2, 1, 1]);

fn launch(program: &mut Program, function: u64, cluster: Option<[u32; 3]>, grid: [u32; 3]) -> Result<()> {
    let x = program.alloc(4096);
    let request = Request { grid, cluster, ..program.request(function, &[x, x, 1], 0) };
    program.driver.launch(&request)
}

fn set(program: &mut Program, attribute: i32, value: i32) -> Result<()> {
    program.driver.modules.set_function_attribute(&program.driver.platform, program.add, attribute, value)
}

fn attributes(program: &Program, function: u64) -> [i32; 5] {
    let of = |n| program.driver.modules.function_attribute(&program.driver.platform, function, n).unwrap();
    [of(10), of(11), of(12), of(13), of(14)]
}

#[test]
fn impossible_clusters_are_errors_that_say_why() {
    let mut program = Program::on("h100", "");
    let add = program.add;
    for (cluster, grid, why) in [
        ([3, 1, 1], [4, 1, 1], "a grid of (4,1,1) is not a multiple of the cluster of (3,1,1)"),
        ([0, 1, 1], [4, 1, 1], "a cluster of (0,1,1) has 0 CTAs, of at most 8"),
        ([4, 4, 1], [4, 4, 1], "a cluster of (4,4,1) has 16 CTAs, of at most 8"),
        ([u32::MAX, u32::MAX, u32::MAX], [1, 1, 1], "CTAs, of at most 8"),
    ] {
        assert_eq!(launch(&mut program, add, Some(cluster), grid), Err(Error::INVALID_CLUSTER_SIZE), "{cluster:?}");
        let said = program.fake.messages().pop().unwrap();
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(launch(&mut program, add, CLUSTER, [4, 1, 1]), Ok(()));
    assert_eq!(set(&mut program, 14, 1), Ok(()));
    assert_eq!(launch(&mut program, add, Some([4, 4, 1]), [4, 4, 1]), Ok(()));
    assert_eq!(launch(&mut program, add, Some([17, 1, 1]), [17, 1, 1]), Err(Error::INVALID_CLUSTER_SIZE));
    program.synchronise();
}

#[test]
fn a_function_may_require_its_clusters() {
    let mut program = Program::on("h100", "");
    let add = program.add;
    assert_eq!(attributes(&program, add), [0; 5]);
    assert_eq!((set(&mut program, 11, -1), set(&mut program, 11, 2)), (Err(Error::INVALID_VALUE), Ok(())));
    assert_eq!(
        (set(&mut program, 12, 1), set(&mut program, 13, 1), set(&mut program, 10, 1)),
        (Ok(()), Ok(()), Ok(()))
    );
    assert_eq!(attributes(&program, add), [1, 2, 1, 1, 0]);
    assert_eq!(launch(&mut program, add, None, [4, 1, 1]), Ok(()));
    assert_eq!(launch(&mut program, add, None, [3, 1, 1]), Err(Error::INVALID_CLUSTER_SIZE));
    assert_eq!(launch(&mut program, add, Some([4, 1, 1]), [4, 1, 1]), Err(Error::INVALID_CLUSTER_SIZE));

    let text = KERNELS.replace("sm_75", "sm_90").replace("7.5", "8.0");
    let text = text
        .replace(".visible .entry spin(.param .u64 out, .param .u32 rounds)\n", "$0")
        .replace(".param .u32 n)\n", ".param .u32 n)\n.reqnctapercluster 4, 1, 1\n");
    let text = text.replace("$0", ".visible .entry spin(.param .u64 out, .param .u32 rounds)\n.explicitcluster\n");
    let module = program.driver.modules.load(&mut program.driver.platform, text.as_bytes()).unwrap();
    let [spin, add] = ["spin", "add"]
        .map(|name| program.driver.modules.function(&mut program.driver.platform, module, name).unwrap());
    assert_eq!((attributes(&program, add), attributes(&program, spin)), ([0, 4, 1, 1, 0], [1, 0, 0, 0, 0]));
    let fixed = program.driver.modules.set_function_attribute(&program.driver.platform, add, 11, 2);
    assert_eq!(fixed, Err(Error::NOT_PERMITTED));
    assert_eq!(launch(&mut program, add, None, [8, 1, 1]), Ok(()));
    assert_eq!(launch(&mut program, add, CLUSTER, [8, 1, 1]), Err(Error::INVALID_CLUSTER_SIZE));
    assert_eq!(launch(&mut program, spin, None, [8, 1, 1]), Err(Error::INVALID_CLUSTER_SIZE), "it says no size");
    program.synchronise();
}

/// 132 SMs, two GPCs of 18 and six of 16: two CTAs of 1024 threads fit on an SM.
#[test]
fn occupancy_counts_clusters_by_gpc() {
    let mut program = Program::on("h100", "");
    let block = [1024, 1, 1];
    let active = |program: &Program, ctas: u32, shared: u32| {
        let of = (Some([ctas, 1, 1]), block, shared);
        program.driver.modules.active_clusters(&program.driver.platform, program.add, of)
    };
    assert_eq!([1, 2, 4, 8].map(|ctas| active(&program, ctas, 0)), [Ok(264), Ok(132), Ok(66), Ok(32)]);
    assert_eq!(active(&program, 8, 200 << 10), Ok(16), "one CTA on an SM");
    assert_eq!(active(&program, 16, 0), Err(Error::INVALID_CLUSTER_SIZE));
    let largest = |program: &Program, shared: u32| {
        program.driver.modules.largest_cluster(&program.driver.platform, program.add, (block, shared))
    };
    assert_eq!(largest(&program, 0), Ok(8));
    set(&mut program, 14, 1).unwrap();
    assert_eq!((active(&program, 16, 0), largest(&program, 200 << 10)), (Ok(16), Ok(16)));

    let mut small = Program::on("h100", "sms_per_gpc=3");
    assert_eq!(largest(&small, 200 << 10), Ok(3));
    let (add, x) = (small.add, small.alloc(64));
    let request = Request { grid: [8, 1, 1], block, cluster: Some([8, 1, 1]), ..small.request(add, &[x, x, 1], 0) };
    assert_eq!(small.driver.launch(&request), Err(Error::INVALID_CLUSTER_SIZE));
}

#[test]
fn older_gpus_have_no_clusters() {
    let mut program = Program::new();
    let add = program.add;
    assert_eq!(launch(&mut program, add, CLUSTER, [4, 1, 1]), Err(Error::NOT_SUPPORTED));
    assert_eq!(launch(&mut program, add, Some([1, 1, 1]), [4, 1, 1]), Ok(()));
    let largest = program.driver.modules.largest_cluster(&program.driver.platform, add, ([32, 1, 1], 0));
    assert_eq!(largest, Err(Error::NOT_SUPPORTED));
    program.synchronise();
}
