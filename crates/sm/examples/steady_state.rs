//! Runs one SM on a loop of a chosen kind, for profilers: how many host instructions does a warp
//! instruction cost, without functional execution and without the memory system?
//!
//! ```text
//! cargo build --release --example steady_state
//! valgrind --tool=callgrind target/release/examples/steady_state matmul 200
//! ```

use config::load;
use gpu::Core;
use isa::Form;
use isa::{
    Access, BarrierArrival, CacheOp, Control, CtaSlot, Dim3, DynInst, Fault, InstSpec, KernelId, LaunchShape,
    MemAccess, OpClass, Pc, ProgramBuilder, RegFile, RegId, Space, StepContext, Traits, WarpSlot, WarpStream,
};
use mem::{Port, RequestKind};
use sm::{Code, CoreOptions, CoreSpec, Env, InOrder, ResidentKernel, Silent, Sm};
use std::sync::Arc;

/// Effect of a line on the stream.
#[derive(Clone, Copy)]
struct Dynamic {
    space: Space,
    /// Address of lane 0 of warp 0, of lane stride, and of iteration stride.
    address: [u64; 3],
    is_access: bool,
}

/// Every warp runs the loop `iterations` times.
struct Loop {
    lines: Vec<Dynamic>,
    iterations: u32,
    at: [(u32, u32); 64],
    number: [u64; 64],
    started: u64,
}

impl WarpStream for Loop {
    type Shared = ();

    fn start_cta(&mut self, _: &(), _: KernelId, _: Dim3, _: CtaSlot, warps: &[WarpSlot]) {
        for w in warps {
            self.at[w.index()] = (0, 0);
            self.number[w.index()] = self.started;
            self.started += 1;
        }
    }

    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        let (line, _) = self.at[warp.index()];
        (line != u32::MAX).then_some(Pc(line))
    }

    fn step(&mut self, _: &(), warp: WarpSlot, _: StepContext, out: &mut DynInst) -> Result<(), Box<Fault>> {
        let (line, iteration) = self.at[warp.index()];
        let what = self.lines[line as usize];
        out.pc = Pc(line);
        (out.mask, out.active, out.diverged) = (u32::MAX, u32::MAX, false);
        out.space = what.space;
        out.barrier = BarrierArrival::default();
        if what.is_access {
            let [base, lane, round] = what.address;
            let start = base + self.number[warp.index()] * 32 * lane.max(4) + u64::from(iteration) * round;
            (0..32).for_each(|i| out.addresses[i] = start + i as u64 * lane);
        }
        let last = self.lines.len() as u32 - 1;
        let next = match line {
            l if l == last => (u32::MAX, 0),
            l if l + 1 == last && iteration + 1 < self.iterations => (0, iteration + 1),
            l => (l + 1, iteration),
        };
        self.at[warp.index()] = next;
        out.next_pc = (next.0 != u32::MAX).then_some(Pc(next.0));
        Ok(())
    }

    fn end_cta(&mut self, _: CtaSlot) {}
}

/// The loops: class, destination, sources, and for accesses space, kind and addresses.
type Line = (OpClass, &'static [u16], &'static [u16], Option<(Space, Access, [u64; 3])>);

fn lines(kind: &str) -> Vec<Line> {
    use OpClass::{Branch, FpAdd, FpFma, IntAdd, IntMad, Load, Store};
    let global = |access, base, lane, round| Some((Space::Global, access, [base, lane, round]));
    let shared = |lane| Some((Space::Shared, Access::Load, [0, lane, 4]));
    match kind {
        "matmul" => vec![
            (Load, &[1], &[40], shared(4)),
            (Load, &[2], &[41], shared(0)),
            (FpFma, &[10], &[1, 2, 10], None),
            (Load, &[3], &[40], shared(4)),
            (Load, &[4], &[41], shared(0)),
            (FpFma, &[10], &[3, 4, 10], None),
            (IntAdd, &[40], &[40], None),
            (IntAdd, &[41], &[41], None),
            (Branch, &[], &[130], None),
        ],
        "stream" => vec![
            (IntMad, &[5], &[6, 7], None),
            (Load, &[1], &[5], global(Access::Load, 0, 4, 1 << 20)),
            (Load, &[2], &[5], global(Access::Load, 1 << 30, 4, 1 << 20)),
            (FpAdd, &[3], &[1, 2], None),
            (Store, &[], &[5, 3], global(Access::Store, 1 << 31, 4, 1 << 20)),
            (Branch, &[], &[130], None),
        ],
        "scatter" => vec![
            (IntMad, &[5], &[6, 7], None),
            (Load, &[1], &[5], global(Access::Load, 0, 4096 + 32, 1 << 16)),
            (IntAdd, &[5], &[1, 5], None),
            (Branch, &[], &[130], None),
        ],
        _ => vec![
            (IntAdd, &[1], &[2, 3], None),
            (FpFma, &[4], &[5, 6, 7], None),
            (IntAdd, &[8], &[9, 2], None),
            (FpFma, &[10], &[11, 6, 7], None),
            (Branch, &[], &[130], None),
        ],
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "alu".into());
    let iterations = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(100);
    let warps = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(32u32);

    let lines = lines(&kind);
    let mut builder = ProgramBuilder::new(kind, 16);
    for (class, dsts, srcs, access) in &lines {
        let regs = |r: &[u16]| r.iter().map(|&r| RegId(r)).collect::<Vec<_>>();
        let mem = access.map(|(space, access, _)| MemAccess { space, access, bytes: 4, cache: CacheOp::All });
        let control = if *class == OpClass::Branch { Control::Branch } else { Control::None };
        builder.push(InstSpec {
            dsts: &regs(dsts),
            srcs: &regs(srcs),
            ..InstSpec::of(Traits { mem, control, ..Traits::of(*class) })
        });
    }
    builder.push(InstSpec::of(Traits { control: Control::Exit, ..Traits::of(OpClass::Exit) }));
    let program = builder.finish(RegFile { vector: 128, predicate: 8, uniform: 0 }, vec![]);
    let mut dynamics: Vec<_> = lines
        .iter()
        .map(|(.., access)| {
            let (space, address) = access.map_or((Space::Global, [0; 3]), |(space, _, address)| (space, address));
            Dynamic { space, address, is_access: access.is_some() }
        })
        .collect();
    dynamics.push(Dynamic { space: Space::Global, address: [0; 3], is_access: false });

    let gpu = load("rtx2060s").expect("a built-in GPU");
    let spec = Arc::new(CoreSpec::new(&gpu, Form::Sass, CoreOptions::default()).expect("a sound GPU"));
    let code = Arc::new(Code::new(Arc::new(program), &spec));
    let block = Dim3::new(32 * warps, 1, 1);
    let shape =
        LaunchShape { grid: Dim3::new(1, 1, 1), block, registers_per_thread: 32, shared_bytes: 0, cluster: None };
    let kernels = [ResidentKernel::new(code, shape, &spec)];
    let stream = Loop { lines: dynamics, iterations, at: [(0, 0); 64], number: [0; 64], started: 0 };
    let mut sm: Sm<Loop, InOrder, Silent> = Sm::new(0, spec, stream, &(), Silent);

    let mut port = Port::default();
    let (mut now, mut ticks) = (0, 0u64);
    sm.start_cta(
        0,
        &mut Env { kernels: &kernels, shared: gpu::Access::Frozen(&()), port: &mut port },
        KernelId(0),
        Dim3::new(0, 0, 0),
    );
    while !sm.is_idle() {
        sm.tick(now, &mut Env { kernels: &kernels, shared: gpu::Access::Frozen(&()), port: &mut port })
            .expect("loops do not fault");
        ticks += 1;
        while let Some((sent, request)) = port.outbox.pop_front() {
            if request.kind != RequestKind::WriteBack {
                port.inbox.push_back((sent + 300, request));
            }
        }
        now = sm.next_event(&port);
    }
    let instructions = sm.counters().warp_instructions;
    println!("{instructions} warp instructions, {} cycles, {ticks} ticks", sm.account().cycles());
}
