//! Microbenchmarks of compute capability 9.0: matrix operations of warp groups, bulk copies, clusters.
//!
//! Their PTX is for sm_90a, which a newer assembler compiles. The quantities are in `measure.rs`.

use super::module::{Kernel, entry, header, repeated};
use std::fmt::Write as _;

/// Lowest compute capability.
pub const SM: u32 = 90;

/// Columns of the operations in a chain.
pub const CHAIN_COLUMNS: [u32; 6] = [8, 16, 32, 64, 128, 256];
/// Columns of those whose latency is measured.
pub const LATENCY_COLUMNS: [u32; 4] = [8, 16, 64, 256];
/// Columns of those that hold accesses to shared memory.
pub const HOLD_COLUMNS: [u32; 3] = [8, 16, 64];

/// Bytes of a bulk copy.
pub const COPY_BYTES: u32 = 4096;
/// Bytes of loads whose latency is measured.
pub const LOAD_BYTES: [u32; 3] = [128, 4096, 32_768];
/// Bytes of a row of a box.
pub const BOX_ROW_BYTES: u32 = 128;
/// Bytes that a warp's load from another CTA brings.
pub const PEER_LOAD_BYTES: u32 = 512;

/// Where an operation has its first factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstFactor {
    Shared,
    Registers,
}

impl FirstFactor {
    /// Both, and what the name of a kernel or quantity has for each.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Shared, ""), (Self::Registers, "_registers")];
}

/// `m64nNk16` of halves, accumulated in single precision.
fn multiply(columns: u32, first: FirstFactor) -> String {
    let sums: Vec<String> = (0..columns / 2).map(|i| format!("%s{i}")).collect();
    let factor = if first == FirstFactor::Shared { "%l1" } else { "{%i0, %i1, %i2, %i3}" };
    let transposed = if first == FirstFactor::Shared { "0, 0" } else { "0" };
    format!(
        "wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{}}}, {factor}, %l2, %q0, 1, 1, {transposed};",
        sums.join(", ")
    )
}

/// Descriptors of the factors in shared memory, which is written: the assembler leaves out operations on memory that is
/// not. Rows of A, then the columns of B, in core matrices of 8 rows of 16 bytes.
fn factors(columns: u32) -> String {
    let mut text = format!(
        ".reg .f32 %s<{}>;\nmov.u32 %r1, scratch;\nand.b32 %r2, %a4, 127;\nmad.lo.u32 %r2, %r2, 16, %r1;\n\
         st.shared.u32 [%r2], %a0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n\
         shr.u32 %r3, %r1, 4;\nand.b32 %r3, %r3, 0x3fff;\ncvt.u64.u32 %l1, %r3;\nor.b64 %l1, %l1, 0x1000080000;\n\
         add.u64 %l2, %l1, 128;\nsetp.ne.u32 %q0, %a3, 0;\n",
        columns / 2
    );
    for i in 0..4 {
        let _ = writeln!(text, "add.u32 %i{i}, %a0, {i};");
    }
    for i in 0..columns / 2 {
        let _ = writeln!(text, "mov.f32 %s{i}, 0f00000000;");
    }
    text
}

fn keep(columns: u32) -> String {
    (0..columns / 2).fold(String::from("mad.wide.u32 %p1, %a4, 512, %p1;\n"), |mut text, i| {
        let _ = writeln!(text, "st.global.f32 [%p1+{}], %s{i};", 4 * i);
        text
    })
}

const FENCE: &str = "wgmma.fence.sync.aligned;\n";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;\n";

/// A kernel of two entries, with `lines.0` and `lines.1` lines.
fn kernel(
    name: String,
    lines: (usize, usize),
    opcodes: &[&'static str],
    (attributes, setup, end): (&str, &str, &str),
    body: impl Fn(usize) -> String,
) -> Kernel {
    let of = |name, n| entry(name, attributes, setup, &body(n), end);
    let ptx = header(SM) + &of("short", lines.0) + &of("long", lines.1);
    Kernel { name, lowest_sm: SM, ptx, lines: Some(lines), opcodes: opcodes.to_vec() }
}

/// Operations on the same sums, `n` of them in a group.
fn chain(columns: u32, first: FirstFactor, suffix: &str) -> Kernel {
    let line = multiply(columns, first) + "\n";
    let wires = ("", factors(columns), keep(columns));
    kernel(format!("wgmma_n{columns}{suffix}_chain"), (8, 16), &["HGMMA"], (wires.0, &wires.1, &wires.2), |n| {
        format!("{FENCE}{}{COMMIT}{WAIT}", line.repeat(n))
    })
}

/// Operations that are waited for one by one.
fn latency(columns: u32, first: FirstFactor, suffix: &str) -> Kernel {
    let line = format!("{FENCE}{}\n{COMMIT}{WAIT}", multiply(columns, first));
    let (setup, end) = (factors(columns), keep(columns));
    kernel(format!("wgmma_n{columns}{suffix}_latency"), (8, 16), &["HGMMA"], ("", &setup, &end), |n| line.repeat(n))
}

/// A warp group multiplies while another stores to shared memory, all lanes in one bank, for longer.
fn hold(columns: u32, first: FirstFactor, suffix: &str) -> Kernel {
    const STORES: usize = 12;
    let line = multiply(columns, first) + "\n";
    let setup = factors(columns)
        + "setp.ge.u32 %q1, %a4, 128;\nand.b32 %r4, %a4, 31;\nmad.lo.u32 %r4, %r4, 128, %r1;\nadd.u32 %r4, %r4, 12288;\n";
    let stores = repeated(STORES, |_| "st.volatile.shared.u32 [%r4], %a4;".to_owned());
    kernel(format!("wgmma_n{columns}{suffix}_hold"), (4, 12), &["HGMMA"], ("", &setup, &keep(columns)), |n| {
        format!(
            "@%q1 bra STORES;\n{FENCE}{}{COMMIT}{WAIT}bra JOIN;\nSTORES:\n{stores}JOIN:\nbar.sync 0;",
            line.repeat(n)
        )
    })
}

/// Operations that a chain of other instructions follows, for longer than they take.
fn queue(name: &str, lines: (usize, usize)) -> Kernel {
    const COLUMNS: u32 = 16;
    const LINKS: usize = 32;
    const TURNS: usize = 16;
    let line = multiply(COLUMNS, FirstFactor::Shared) + "\n";
    let setup = factors(COLUMNS) + "mov.b32 %f0, %a0;\n";
    let links = repeated(LINKS, |_| "fma.rn.f32 %f0, %f0, %f0, %f0;".to_owned());
    // In a loop of its own, so that the assembler does not put it between the operations.
    let chain = format!(
        "mov.u32 %r5, {TURNS};\nCHAIN:\n.pragma \"nounroll\";\n{links}sub.u32 %r5, %r5, 1;\nsetp.ne.u32 %q1, %r5, 0;\n@%q1 bra CHAIN;\n"
    );
    let end = keep(COLUMNS) + "st.global.f32 [%p1+64], %f0;\n";
    kernel(name.to_owned(), lines, &["HGMMA"], ("", &setup, &end), |n| {
        format!("{FENCE}{}{COMMIT}{chain}{WAIT}", line.repeat(n))
    })
}

/// A copy of `COPY_BYTES` from shared memory, and the wait until its source has been read.
fn bulk(operation: &str) -> String {
    format!("{operation} [%p2], [%r1], {COPY_BYTES};\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n")
}

const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group";
const REDUCTION: &str = "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32";

/// Each CTA writes its own data.
fn own_data() -> String {
    format!(
        "mov.u32 %r1, scratch;\nmul.wide.u32 %p2, %a5, {COPY_BYTES};\nadd.u64 %p2, %p1, %p2;\n\
         mad.lo.u32 %r2, %a4, 4, %r1;\nst.shared.u32 [%r2], %a4;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
    )
}

/// Copies one after the other, by one thread.
fn copies(name: &str, operation: &str, opcode: &'static str) -> Kernel {
    let line = bulk(operation);
    kernel(name.to_owned(), (4, 12), &[opcode], ("", &own_data(), ""), |n| line.repeat(n))
}

/// A kernel of copies as a whole: one in each trip, by the first thread of each CTA. The others end.
fn whole(name: &str, operation: &str, opcode: &'static str) -> Kernel {
    let setup = own_data() + "setp.ne.u32 %q0, %a4, 0;\n@%q0 exit;\n";
    Kernel {
        name: name.to_owned(),
        lowest_sm: SM,
        ptx: header(SM) + &entry("bench", "", &setup, &bulk(operation), ""),
        lines: None,
        opcodes: vec![opcode],
    }
}

/// Loads into shared memory of `bytes` bytes, each waited for at an `mbarrier`: `copy` brings them from the start of
/// the data, or by the tensor map there.
fn loads(name: String, bytes: u32, copy: &str, opcode: &'static str) -> Kernel {
    let setup = format!(
        ".shared .align 128 .b8 tile[{bytes}];\nmov.u32 %r1, tile;\nmov.u32 %r2, scratch;\nmov.u32 %r5, 0;\n\
         mov.u32 %r6, 0;\nmov.u64 %p2, %p1;\n\
         mbarrier.init.shared::cta.b64 [%r2], 1;\nfence.proxy.async.shared::cta;\n"
    );
    kernel(name, (8, 16), &[opcode], ("", &setup, ""), |n| {
        repeated(n, |i| {
            format!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 %l3, [%r2], {bytes};\n{copy}\n\
                 WAIT{i}:\nmbarrier.try_wait.parity.shared::cta.b64 %q1, [%r2], %r5;\n@!%q1 bra WAIT{i};\nxor.b32 %r5, %r5, 1;"
            )
        })
    })
}

fn bulk_load(bytes: u32) -> Kernel {
    let copy =
        format!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%p1], {bytes}, [%r2];");
    loads(format!("bulk_load_{bytes}_chain"), bytes, &copy, "UBLKCP")
}

/// A load of a box from its tensor's start.
const BOX_LOAD: &str =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%p2, {%r6, %r6}], [%r2];";

fn box_load(bytes: u32) -> Kernel {
    loads(format!("tensor_load_{bytes}_chain"), bytes, BOX_LOAD, "UTMALDG")
}

/// Loads of a row, each by the next tensor map.
fn fresh_maps() -> Kernel {
    let copy = format!("{BOX_LOAD}\nadd.u64 %p2, %p2, 128;");
    loads("tensor_map_chain".to_owned(), BOX_ROW_BYTES, &copy, "UTMALDG")
}

/// CTAs of a kernel in clusters of two.
const CLUSTER: &str = ".reqnctapercluster 2, 1, 1\n";
/// Each CTA has `%r5`: its own place in the cluster's shared memory, and `%r6`: the other's.
const PEERS: &str = "mov.u32 %r1, scratch;\nmov.u32 %r2, %cluster_ctarank;\nxor.b32 %r3, %r2, 1;\n\
                     mapa.shared::cluster.u32 %r5, %r1, %r2;\nmapa.shared::cluster.u32 %r6, %r1, %r3;\n";
const CLUSTER_BARRIER: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

/// Each lane's word has its own address in the cluster's shared memory, as the other CTA sees it.
fn peer_chase() -> Kernel {
    let setup = format!(
        "{PEERS}mad.lo.u32 %r7, %a4, 4, %r1;\nmad.lo.u32 %r5, %a4, 4, %r5;\nmad.lo.u32 %r6, %a4, 4, %r6;\n\
         st.shared.u32 [%r7], %r5;\n{CLUSTER_BARRIER}"
    );
    let end = format!("{CLUSTER_BARRIER}st.global.u32 [%p1], %r6;");
    kernel("cluster_chase".to_owned(), (8, 16), &["LD"], (CLUSTER, &setup, &end), |n| {
        repeated(n, |_| "ld.shared::cluster.u32 %r6, [%r6];".to_owned())
    })
}

/// Loads of 16 bytes a lane from the other CTA, eight in flight.
fn peer_loads() -> Kernel {
    const IN_FLIGHT: usize = 8;
    let mut setup = format!("{PEERS}and.b32 %r7, %a4, 31;\nmad.lo.u32 %r6, %r7, 16, %r6;\n{CLUSTER_BARRIER}");
    for sum in 60..64 {
        let _ = writeln!(setup, "mov.u32 %r{sum}, 0;");
    }
    let end = format!(
        "{CLUSTER_BARRIER}xor.b32 %r60, %r60, %r61;\nxor.b32 %r60, %r60, %r62;\nxor.b32 %r60, %r60, %r63;\nst.global.u32 [%p1], %r60;"
    );
    kernel("cluster_loads".to_owned(), (8, 16), &["LD"], (CLUSTER, &setup, &end), |n| {
        repeated(n, |i| {
            let first = 8 + 4 * (i % IN_FLIGHT);
            let words: Vec<String> = (first..first + 4).map(|r| format!("%r{r}")).collect();
            let mut text =
                format!("ld.shared::cluster.v4.u32 {{{}}}, [%r6+{}];", words.join(", "), i * PEER_LOAD_BYTES as usize);
            if i % IN_FLIGHT == IN_FLIGHT - 1 {
                for (word, r) in (0..4).flat_map(|word| (0..IN_FLIGHT).map(move |n| (word, 8 + 4 * n + word))) {
                    let _ = write!(text, "\nxor.b32 %r{0}, %r{0}, %r{r};", 60 + word);
                }
            }
            text
        }) + "add.u32 %r6, %r6, %a1;"
    })
}

/// Barriers of a cluster of two CTAs.
fn cluster_barriers() -> Kernel {
    kernel("cluster_barriers".to_owned(), (8, 16), &["UCGABAR_ARV"], (CLUSTER, "", ""), |n| CLUSTER_BARRIER.repeat(n))
}

/// Every kernel.
pub fn kernels() -> Vec<Kernel> {
    let mut all = Vec::new();
    for (first, suffix) in FirstFactor::ALL {
        all.extend(CHAIN_COLUMNS.map(|columns| chain(columns, first, suffix)));
        all.extend(LATENCY_COLUMNS.map(|columns| latency(columns, first, suffix)));
        all.extend(HOLD_COLUMNS.map(|columns| hold(columns, first, suffix)));
    }
    all.extend([
        queue("wgmma_queue", (1, 7)),
        queue("wgmma_full_queue", (8, 16)),
        copies("bulk_stores", STORE, "UBLKCP"),
        copies("bulk_reductions", REDUCTION, "UBLKRED"),
        whole("bulk_store_kernel", STORE, "UBLKCP"),
        whole("bulk_reduction_kernel", REDUCTION, "UBLKRED"),
        fresh_maps(),
        peer_chase(),
        peer_loads(),
        cluster_barriers(),
    ]);
    all.extend(LOAD_BYTES.iter().flat_map(|&bytes| [bulk_load(bytes), box_load(bytes)]));
    all
}
