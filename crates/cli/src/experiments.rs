//! Experiments of the papers: each is one row with its comparisons and the paper's finding.

use workloads::Size;

/// A figure or table of a paper as an experiment.
#[derive(Debug)]
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Paper, and figure or table in it.
    pub paper: &'static str,
    /// What it is about, in a line.
    pub about: &'static str,
    /// What the paper finds, and on what.
    pub published: &'static str,
    /// Size of the workloads if the user names none: one at which they load the paper's machine.
    pub size: Size,
    /// Arguments of `compare`, for each part. Of a word with bars, as in `bfs:nodes=2048|bfs|bfs:nodes=1000000`, each
    /// piece is for one of [`Size::ALL`].
    pub parts: &'static [&'static str],
}

/// Descriptions of the papers' machines, each with the stock GPU that the paper simulates.
const MACHINES: [(&str, &str); 6] = [
    ("papers/ghost", "rtx2060s"),
    ("papers/ghost-rtx3070", "rtx3070"),
    ("papers/socgpu", "v100"),
    ("papers/war", "gtx480"),
    ("papers/scalar", "gtx480"),
    ("papers/sgmf", "gtx480"),
];

/// Machines that an experiment runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// Those of the paper.
    Papers,
    /// The stock GPUs that the paper simulates, under the paper's scheduler.
    Stock,
}

impl Experiment {
    /// Arguments of `compare` for each part, at a size.
    pub fn lines(&self, size: Size, machines: Machines) -> impl Iterator<Item = String> {
        let sized = move |word: &str| word.split('|').nth(size as usize).unwrap_or(word).to_owned();
        let line = move |part: &&str| {
            let mut words: Vec<String> = part.split_whitespace().map(sized).collect();
            words.extend(["--size".into(), size.name().into()]);
            if machines == Machines::Stock {
                on_stock(&mut words);
            }
            words.join(" ")
        };
        self.parts.iter().map(line)
    }
}

/// Replaces the paper's machine among arguments of `compare` by the stock GPU with the paper's scheduler.
fn on_stock(words: &mut Vec<String>) {
    let machine = |word: &str| MACHINES.iter().find(|(paper, _)| *paper == word);
    let Some((at, (paper, stock))) = words.iter().enumerate().find_map(|(i, w)| Some((i, machine(w)?))) else { return };
    words[at] = (*stock).to_owned();
    let scheduler = config::load(paper).map(|gpu| gpu.sm.issue.scheduler);
    if let Some(scheduler) = scheduler.ok().filter(|_| !words.iter().any(|word| word == "--schedulers")) {
        // Cores that are no SMs refuse `--schedulers`.
        words.extend(["--set".into(), format!("sm.issue.scheduler={scheduler}")]);
    }
}

/// The bundled programs of the GhOST paper's figures as machine code, at the inputs that its scripts name.
macro_rules! ghost {
    ($rest:literal) => {
        concat!(
            "gaussian:n=40 nn:places=42764 lud:n=256 backprop:inputs=65536 bfs:nodes=65536 btree lavamd ",
            "--gpus papers/ghost --code sass ",
            $rest
        )
    };
}

/// In-order cores with these boards under the schedulers of the paper on hazards, on `ptx` with virtual registers or
/// with `allocated` ones.
macro_rules! war {
    ("ptx", $boards:literal) => {
        war!("--code ptx ", "", $boards)
    };
    ("allocated", $boards:literal) => {
        war!("--code ptx ", "--registers allocated ", $boards)
    };
    ($isa:literal, $registers:literal, $boards:literal) => {
        concat!(
            "all --gpus papers/war ",
            $isa,
            $registers,
            "--schedulers lrr,gto,two_level --over inorder --cores inorder,",
            $boards,
            " --show speedup"
        )
    };
}

/// Kernels of the SGMF paper's table 2 (CFD-1, CFD-2, NN, PF, BFS, GE-1, GE-2, BP) and their workloads; the largest size
/// has Rodinia's inputs. The host does the work of the two kernels that take most of the time and are not in the table.
/// On GTX 480s with PTX, further arguments following.
macro_rules! sgmf {
    ($($rest:literal),*) => {
        concat!(
            "cfd:cells=2880,kernels=3|cfd:kernels=3|cfd:kernels=3 nn:places=7680|nn:places=42764|nn:places=42764 ",
            "particlefilter:real_words=2 bfs:nodes=15360,kernels=1|bfs:kernels=1|bfs:nodes=1000000,kernels=1 gaussian ",
            "backprop|backprop|backprop:inputs=65536 ",
            "--kernels compute_step_factor,time_step,distances,normalize_weights_double,bfs_commit,multipliers,eliminate,adjust_weights ",
            "--gpus papers/sgmf --code ptx ",
            $($rest),*
        )
    };
}

/// The token buffers' entries of the SGMF paper's figures: with as many copies of a graph side by side as the fabric has
/// room for, and with one graph.
macro_rules! sgmf_entries {
    ($rest:literal) => {
        sgmf!("--cores inorder,sgmf:copies=0,sgmf --vary core.entries=2,4,8,16,32,64 ", $rest)
    };
}

/// 16 entries over an SM with 64 KB of L1.
macro_rules! sgmf_wide_l1 {
    ($rest:literal) => {
        sgmf!(
            "--cores inorder,sgmf:copies=0,entries=16,sgmf:entries=16 --set sm.l1d.cache.sets=128 --set sm.l1d.cache.index=linear ",
            $rest
        )
    };
}

/// 16 entries with all clocks of the paper's table 1 on both sides: cores at 1400 MHz, and latencies of L2 and DRAM that
/// count core cycles.
macro_rules! sgmf_clocks {
    ($rest:literal) => {
        sgmf!(
            "--cores inorder,sgmf:copies=0,entries=16,clock_ratio=1,sgmf:entries=16,clock_ratio=1 ",
            "--set clocks.core_mhz=1400 --set l2.latency_cycles=60 --set dram.latency_cycles=66 ",
            $rest
        )
    };
}

/// Two kernels of the table in other forms: PF in single precision with its running sum in a register, as a compiler
/// makes it of the loop, and BP with constants of single precision.
macro_rules! sgmf_forms {
    ($rest:literal) => {
        concat!(
            "particlefilter backprop:constant_words=1|backprop:constant_words=1|backprop:inputs=65536,constant_words=1 ",
            "--kernels normalize_weights,adjust_weights_single --gpus papers/sgmf --code ptx ",
            "--cores inorder,sgmf:copies=0,entries=16,sgmf:entries=16,sgmf:copies=0,entries=64,sgmf:entries=64 ",
            $rest
        )
    };
}

/// An SGMF core with ever less that holds it back.
macro_rules! sgmf_limits {
    ($rest:literal) => {
        sgmf!(
            "--cores inorder,sgmf:entries=16,sgmf:copies=0,sgmf:copies=0,skip_masked=true,",
            "sgmf:copies=0,skip_masked=true,l1_latency=2,sgmf:copies=0,skip_masked=true,l1_latency=2,entries=64,",
            "sgmf:copies=0,skip_masked=true,l1_latency=2,perfect_l1=true ",
            $rest
        )
    };
}

/// Comparisons.
pub const ALL: &[Experiment] = &[
    Experiment {
        name: "war-fig4",
        paper: "Write-after-Read Hazard Prevention in GPGPUSim, figures 3 and 4",
        about: "what warpboards cost against write-after-read hazards, by scheduler, on virtual and on allocated registers (for PTXplus)",
        published: "GTX 480, PTX: release on commit slows most benchmarks, up to 88 %; release on read at most about 12 %",
        size: Size::Medium,
        parts: &[war!("ptx", "warpboard-commit,warpboard-read"), war!("allocated", "warpboard-commit,warpboard-read")],
    },
    Experiment {
        name: "war-fig5",
        paper: "Write-after-Read Hazard Prevention in GPGPUSim, figure 5",
        about: "what bloomboards cost, by the bits of a bin and by scheduler, on virtual and on allocated registers (for PTXplus)",
        published: "GTX 480, PTX: within 5 % of no protection; 2-bit bins as unbounded ones, 1-bit bins within 5 % of them",
        size: Size::Medium,
        parts: &[
            war!("ptx", "bloomboard-1,bloomboard-2,bloomboard-unbounded"),
            war!("allocated", "bloomboard-1,bloomboard-2,bloomboard-unbounded"),
        ],
    },
    Experiment {
        name: "ghost-fig1",
        paper: "GhOST (ISCA 2024), figure 1",
        about: "share of reordered instructions under idealised out-of-order issue, with and without renaming, addresses and branches known",
        published: "no values are printed; there is much to reorder without any of the three",
        size: Size::Medium,
        parts: &["all --gpus papers/ghost --code sass --cores ideal,ideal-none --show reordered,speedup"],
    },
    Experiment {
        name: "ghost-fig13",
        paper: "GhOST (ISCA 2024), figure 13",
        about: "speedup of GhOST, stalls saved, occupancy; an in-order core with an instruction buffer of 12; predicates ignored, as Accel-Sim's traces lack them; all workloads",
        published: "RTX 2060 Super, machine code, GTO: geometric mean 1.069 over 28 benchmarks, none slower",
        size: Size::Medium,
        parts: &[
            ghost!("--cores inorder,ghost --show speedup,stalls,occupancy --published"),
            ghost!("--cores inorder --instruction-buffer 4,12 --show speedup"),
            ghost!("--cores inorder,ghost --set sm.issue.ignore_predicates=true --show speedup --published"),
            "all --gpus papers/ghost --code sass --cores inorder,ghost --show speedup,occupancy",
        ],
    },
    Experiment {
        name: "ghost-fig14",
        paper: "GhOST (ISCA 2024), figure 14",
        about: "GhOST with precise exceptions of loads",
        published: "RTX 2060 Super, machine code, GTO: geometric mean 1.063 with an issue buffer of 8",
        size: Size::Medium,
        parts: &[
            ghost!("--cores inorder,ghost,ghost-precise --show speedup --published"),
            "all --gpus papers/ghost --code sass --cores inorder,ghost,ghost-precise --show speedup",
        ],
    },
    Experiment {
        name: "ghost-fig15",
        paper: "GhOST (ISCA 2024), figure 15",
        about: "size of GhOST's issue buffer, on two GPUs",
        published: "geometric means with 4, 8, 16, 32 entries: RTX 2060 Super 1.051, 1.068, 1.079, 1.074; RTX 3070 1.042, 1.051, 1.059, 1.066",
        size: Size::Medium,
        parts: &[
            "all --gpus papers/ghost --code sass --cores inorder,ghost-4,ghost,ghost-16,ghost-32 --show speedup --published",
            "all --gpus papers/ghost-rtx3070 --code sass --cores inorder,ghost-4,ghost,ghost-16,ghost-32 --show speedup --published",
        ],
    },
    Experiment {
        name: "ghost-fig16",
        paper: "GhOST (ISCA 2024), figure 16",
        about: "GhOST under each warp scheduler",
        published: "RTX 2060 Super, geometric means: GTO 1.069, LRR 1.071, SRR 1.086: the weaker the scheduler, the larger the gain",
        size: Size::Medium,
        parts: &[
            "all --gpus papers/ghost --schedulers gto,lrr,srr --code sass --cores inorder,ghost --over inorder --show speedup",
        ],
    },
    Experiment {
        name: "ghost-table-first",
        paper: "GhOST (ISCA 2024), section IV",
        about: "GhOST as its text words it: the oldest instruction only while the instruction table is empty",
        published: "no values; its own simulator takes the oldest instruction that is ready first",
        size: Size::Medium,
        parts: &["all --gpus papers/ghost --code sass --cores inorder,ghost,ghost:table_first=true --show speedup"],
    },
    Experiment {
        name: "ghost-fig17",
        paper: "GhOST (ISCA 2024), figure 17",
        about: "GhOST and LOOG; predicates ignored, as Accel-Sim's traces lack them; all workloads",
        published: "RTX 2060 Super, machine code, GTO: geometric means GhOST 1.069, LOOG 0.810; GhOST slows nothing down, LOOG down to 0.349",
        size: Size::Medium,
        parts: &[
            ghost!("--cores inorder,ghost,loog --show speedup --published"),
            ghost!("--cores inorder,ghost,loog --set sm.issue.ignore_predicates=true --show speedup --published"),
            "all --gpus papers/ghost --code sass --cores inorder,ghost,loog --show speedup",
        ],
    },
    Experiment {
        name: "ghost-table5",
        paper: "GhOST (ISCA 2024), table V",
        about: "renaming (r), addresses known (a) and branches known (b) in idealised out-of-order issue",
        published: "RTX 2060 Super, machine code, GTO: all three 1.151, r a 1.144, r b 1.137, a b 1.080, r 1.101, a 1.074, b 1.073, none 1.069",
        size: Size::Medium,
        parts: &[
            "all --gpus papers/ghost --code sass --cores inorder,ideal,ideal-ra,ideal-rb,ideal-ab,ideal-r,ideal-a,ideal-b,ideal-none --show speedup",
        ],
    },
    Experiment {
        name: "socgpu-fig1",
        paper: "SOCGPU (GPGPU 2023), figure 1",
        about: "twice the warps per SM, with twice the registers and without: on the whole chip and, for the paper's Rodinia programs, on a quarter of it, which our grids fill",
        published: "V100, 64 to 128 warps: most applications gain nothing",
        size: Size::Medium,
        parts: &[
            "all --gpus papers/socgpu --cores inorder-war-exact --code sass --warps-per-sm x1,x2 --register-file x1,x2 --show speedup,occupancy",
            "btree backprop bfs gaussian hotspot kmeans lud nn particlefilter pathfinder --gpus papers/socgpu --cores inorder-war-exact --code sass --set sm_count=20 --set l2.partitions=8 --warps-per-sm x1,x2 --register-file x1,x2 --show speedup,occupancy",
        ],
    },
    Experiment {
        name: "socgpu-fig5",
        paper: "SOCGPU (GPGPU 2023), figure 5",
        about: "dependences per instruction in SOCGPU's buffer, and its speedup; predicates ignored, as Accel-Sim's traces lack them",
        published: "V100, machine code, GTO: geometric mean 1.38; speedup and RAW dependences correlate by -0.73, so that Deepbench with few RAW and Stop dependences gains more than Rodinia",
        size: Size::Medium,
        parts: &[
            "all --gpus papers/socgpu --code sass --cores inorder-war-exact,socgpu --show speedup,dependences,reordered --published",
            "all --gpus papers/socgpu --code sass --cores inorder-war-exact,socgpu --set sm.issue.ignore_predicates=true --show speedup --published",
        ],
    },
    Experiment {
        name: "socgpu-fig6",
        paper: "SOCGPU (GPGPU 2023), figure 6",
        about: "energy of SOCGPU over that of its baseline",
        published: "V100, machine code, GTO: 6.5 % less in the mean; rnn_gru_train 41.9 % less, backprop 24.7 % more",
        size: Size::Medium,
        parts: &[
            "all --gpus papers/socgpu --code sass --cores inorder-war-exact,socgpu --show speedup,relative-energy,power --published",
        ],
    },
    Experiment {
        name: "scalar-table1",
        paper: "Balancing Scalar and Vector Execution on GPU Architectures, table 1",
        about: "thread instructions per cycle of the scalar-vector core, with what it may have besides",
        published: "GTX 480, PTX: 3.05 % more in the mean, 8.35 % at most",
        size: Size::Medium,
        parts: &[
            "bfs backprop btree hotspot lud pathfinder nw lavamd --gpus papers/scalar --code ptx --cores inorder,inorder+scalar --show ipc,speedup,scalar --published",
            "bfs backprop btree hotspot lud pathfinder nw lavamd --gpus papers/scalar --code ptx --cores inorder,inorder+scalar,inorder+scalar+early,inorder+scalar+noalu,inorder+scalar+memory,inorder+scalar+half,inorder+scalar+compiler --show speedup,scalar",
        ],
    },
    Experiment {
        name: "scalar-table2",
        paper: "Balancing Scalar and Vector Execution on GPU Architectures, table 2",
        about: "mean power of the scalar-vector core, with what it may have besides",
        published: "GTX 480, PTX: 9.59 % less in the mean, 3.76 to 12.37 %",
        size: Size::Medium,
        parts: &[
            "bfs backprop btree hotspot lud pathfinder nw lavamd --gpus papers/scalar --code ptx --cores inorder,inorder+scalar --show power,relative-energy --published",
            "bfs backprop btree hotspot lud pathfinder nw lavamd --gpus papers/scalar --code ptx --cores inorder,inorder+scalar,inorder+scalar+noalu,inorder+scalar+memory,inorder+scalar+half,inorder+scalar+compiler --show power,relative-energy",
        ],
    },
    Experiment {
        name: "sgmf-fig10",
        paper: "SGMF (ISCA 2014), figure 10",
        about: "one SGMF core and one SM, each with the whole memory system: speedup of eight kernels by entries of the token buffers, with copies of graphs side by side and with one graph; over an SM with 64 KB of L1; with all clocks of table 1 on both sides; two kernels in other forms",
        published: "GTX 480, 16 entries: mean 1.77, PF 1.2 to GE-2 3.75, only CFD-1 (compute_step_factor) below 1; CFD-2 (time_step) falls with more entries up to 8, then rises",
        size: Size::Small,
        parts: &[
            sgmf_entries!("--set sm_count=1 --show time,speedup,configuration --published"),
            sgmf_wide_l1!("--set sm_count=1 --show speedup"),
            sgmf_clocks!("--set sm_count=1 --show speedup"),
            sgmf_forms!("--set sm_count=1 --show speedup"),
        ],
    },
    Experiment {
        name: "sgmf-fig11",
        paper: "SGMF (ISCA 2014), figure 11",
        about: "energy efficiency of one SGMF core over that of one SM, static energy and the memory system included, and without the constant power of chip and board; energy of caches",
        published: "GTX 480, 16 entries: instructions per joule 1.2 to 5.7 times as many, mean 2.37",
        size: Size::Small,
        parts: &[sgmf_entries!(
            "--set sm_count=1 --show efficiency,core-efficiency,own-efficiency,cache-energy,management --published"
        )],
    },
    Experiment {
        name: "sgmf-fig12",
        paper: "SGMF (ISCA 2014), figure 12",
        about: "15 SGMF cores and 15 SMs: speedup of eight kernels by entries of the token buffers, with copies of graphs side by side and with one graph; over SMs with 64 KB of L1; with all clocks of table 1 on both sides; two kernels in other forms",
        published: "GTX 480, 16 entries: 0.25 to 3.5, mean 1.35 (at the section's end about 2.1); GE-1, GE-2 and NN 2.6 to 3.5; BP, CFD-1 and CFD-2 do not depend on the entries",
        size: Size::Small,
        parts: &[
            sgmf_entries!("--show time,speedup,configuration --published"),
            sgmf_wide_l1!("--show speedup"),
            sgmf_clocks!("--show speedup"),
            sgmf_forms!("--show speedup"),
        ],
    },
    Experiment {
        name: "sgmf-fig13",
        paper: "SGMF (ISCA 2014), figure 13",
        about: "energy efficiency of 15 SGMF cores over that of 15 SMs, static energy and the memory system included, and without the constant power of chip and board; energy of caches",
        published: "GTX 480, 16 entries: instructions per joule of GE-1 7.1, GE-2 10.1, CFD-2 about 0.3 times as many whatever the entries; at the section's end about 3.2",
        size: Size::Small,
        parts: &[sgmf_entries!("--show efficiency,core-efficiency,own-efficiency,cache-energy,management --published")],
    },
    Experiment {
        name: "sgmf-choices",
        paper: "SGMF (ISCA 2014), what its text leaves open",
        about: "one SGMF core with 16 entries and copies of graphs: each of its choices and limits changed by itself",
        published: "no values",
        size: Size::Small,
        parts: &[sgmf!(
            "--cores inorder,sgmf:copies=0,sgmf,sgmf:copies=0,copy_block=16,sgmf:copies=0,copy_block=32,",
            "sgmf:copies=0,special_latency=0,sgmf:copies=0,double_interval=16,sgmf:copies=0,epoch_gate=exit,",
            "sgmf:copies=0,balance=threads,sgmf:copies=0,perfect_l1=true,sgmf:copies=0,l1_latency=2,",
            "sgmf:copies=0,write=through,sgmf:copies=0,inject_interval=2,sgmf:copies=0,inject_together=true,",
            "sgmf:copies=0,skip_masked=true,sgmf:copies=0,configuration_bits=0 ",
            "--set sm_count=1 --show speedup"
        )],
    },
    Experiment {
        name: "sgmf-limits",
        paper: "SGMF (ISCA 2014), figures 10 and 12",
        about: "what bounds a fabric of 16 entries, one core and 15: copies of graphs, then no masked threads, then an L1 that hits in 2 fabric cycles, then 64 entries or an L1 that always hits",
        published: "GTX 480, 16 entries: mean speedup 1.77 of one core, 1.35 of 15",
        size: Size::Small,
        parts: &[sgmf_limits!("--set sm_count=1 --show speedup"), sgmf_limits!("--show speedup")],
    },
    Experiment {
        name: "sgmf-management",
        paper: "SGMF (ISCA 2014), section 7.1",
        about: "energy of links, buffers, control and pipelines of units beside that of register file, pipeline and scheduler",
        published: "GTX 480, one core and one SM: 67 % less energy",
        size: Size::Small,
        parts: &[sgmf!(
            "--cores inorder,sgmf:copies=0,entries=16,sgmf:entries=16 --set sm_count=1 --show management,relative-energy,speedup --published"
        )],
    },
];

/// Areas that papers publish. Their parts are arguments of `list`.
pub const AREAS: &[Experiment] = &[Experiment {
    name: "sgmf-area",
    size: Size::Small,
    paper: "SGMF (ISCA 2014), sections 5.1 and 6",
    about: "area of an SGMF core by part, and the size of its token buffers",
    published: "54.30 mm2 at 65 nm, about 21.18 at 40 nm; token buffers of about 18 KB, about 37 % of a register file of 48 KB",
    parts: &["cores sgmf --gpu gtx480"],
}];

/// All experiments.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    ALL.iter().chain(AREAS)
}

/// The experiment called `name`, if it is a comparison.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}
