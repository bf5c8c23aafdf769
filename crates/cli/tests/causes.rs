//! The diagnosis: kernels with a planted cause, whose first sentence names it, and kernels without one.

use crate::common;

use kit::text::with_section;
use serde_json::Value;
use std::fmt::Write;
use std::fs;

/// A planted cause.
struct Planted {
    /// The launch file.
    name: &'static str,
    rule: &'static str,
    /// Text of the line, if the cause has one.
    line: Option<&'static str>,
    /// Changes to the launch file for the repaired kernel: old text, new text.
    repaired: &'static [(&'static str, &'static str)],
    /// The change in words.
    change: &'static str,
    /// Work of the repaired kernel over the work of the planted one.
    work: f64,
    /// Options of the machine.
    machine: &'static [&'static str],
}

const PLANTED: [Planted; 18] = [
    Planted {
        name: "bank_conflicts",
        rule: "bank_conflicts",
        line: Some("sum += as[ty][k] * bs[tx][k];"),
        repaired: &[("bank_conflicts.cubin", "bank_conflicts_repaired.cubin")],
        change: "rows of 33 words",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "strided_stores",
        rule: "unused_store_sectors",
        line: Some("out[x * n + y + i] = in[(y + i) * n + x];"),
        repaired: &[("strided_stores.cubin", "strided_stores_repaired.cubin")],
        change: "by way of shared memory",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "strided_loads",
        rule: "unused_load_sectors",
        line: Some("sum += m[column * rows + row];"),
        repaired: &[("strided_loads.cubin", "strided_loads_repaired.cubin")],
        change: "the matrix stored by rows",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "divergence",
        rule: "divergence",
        line: Some("part[tid] += part[tid + d];"),
        repaired: &[("divergence.cubin", "divergence_repaired.cubin")],
        change: "the first threads add",
        work: 1.0,
        machine: &["--core", "inorder"],
    },
    Planted {
        name: "remainders",
        rule: "integer_division",
        line: Some("if (tid % (2 * d) == 0) {"),
        repaired: &[("divergence_modulo.cubin", "divergence.cubin")],
        change: "masks in place of remainders",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "branches",
        rule: "divergence",
        line: Some("if (is_first) {"),
        repaired: &[("branches.cubin", "branches_repaired.cubin")],
        change: "whole warps take a path",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "division",
        rule: "integer_division",
        line: Some("sum += left % base;"),
        repaired: &[("division.cubin", "division_repaired.cubin"), ("base = 8", "base = 3")],
        change: "shifts and masks",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "atomics",
        rule: "atomics_at_one_address",
        line: Some("atomicAdd(sum, x);"),
        repaired: &[("atomics.cubin", "atomics_repaired.cubin")],
        change: "one atomic a warp",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "slices",
        rule: "slice_camping",
        line: Some("ld.global.cg.f32 %f2, [%rd4];"),
        repaired: &[("pitch = 4096", "pitch = 4160")],
        change: "rows of 4,160 words",
        work: 1.0,
        machine: &["--set", "l2.partition_index=linear"],
    },
    Planted {
        name: "spills",
        rule: "local_memory",
        line: Some("t[k] = t[k] * t[(k + 17) % 48] + 0.5f;"),
        repaired: &[("spills.cubin", "spills_repaired.cubin")],
        change: "no limit of registers",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "occupancy",
        rule: "occupancy",
        line: None,
        repaired: &[("occupancy.cubin", "occupancy_repaired.cubin")],
        change: "256 bytes of shared memory",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "empty_sms",
        rule: "small_grid",
        line: None,
        repaired: &[("ctas = 8", "ctas = 32"), ("i * 0 + 400", "i * 0 + 100")],
        change: "32 CTAs of a quarter of the work",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "tail",
        rule: "tail",
        line: None,
        repaired: &[("ctas = 139", "ctas = 136")],
        change: "136 CTAs, for the same work",
        work: 136.0 / 139.0,
        machine: &[],
    },
    Planted {
        name: "imbalance",
        rule: "imbalance",
        line: None,
        repaired: &[("i % 17 == 0 ? 2000 : 200", "i * 0 + 306")],
        change: "equal CTAs, for the same work",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "instruction_cache",
        rule: "instruction_cache",
        line: Some("a = a * x + 0.5f;"),
        repaired: &[("instruction_cache.cubin", "instruction_cache_repaired.cubin")],
        change: "a loop of half a KiB",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "barriers",
        rule: "barriers",
        line: Some("__syncthreads();"),
        repaired: &[("barriers.cubin", "barriers_repaired.cubin")],
        change: "the work of a warp divided among all",
        work: 1.0,
        machine: &[],
    },
    Planted {
        name: "dependent_issue",
        rule: "dependent_issue",
        line: Some("sums[s] = sums[s] * x + 1.0f;"),
        repaired: &[("dependent_issue.cubin", "dependent_issue_repaired.cubin")],
        change: "four sums in place of one",
        work: 1.0,
        machine: &["--warps-per-sm", "4"],
    },
    Planted {
        name: "launch_latency",
        rule: "launch_latency",
        line: None,
        repaired: &[("repeat = 16", "repeat = 1"), ("rounds = 600", "rounds = 9600")],
        change: "all rounds in one launch",
        work: 1.0,
        machine: &[],
    },
];

/// The report of a profiled launch file.
fn profiled(path: &str, machine: &[&str]) -> Value {
    let args = ["profile", path, "--gpu", "rtx2060s", "--json", "--quiet"];
    serde_json::from_str(&common::succeed(&[&args[..], machine].concat())).unwrap()
}

/// Cycles of the kernels.
fn cycles(report: &Value) -> f64 {
    report["total"]["cycles"].as_f64().unwrap()
}

/// Cycles that `rule` refers to: of the kernels, or of the run.
fn cycles_of(rule: &str, report: &Value) -> f64 {
    if rule == "launch_latency" { report["total"]["total_cycles"].as_f64().unwrap() } else { cycles(report) }
}

/// The first cause is the planted one, with its line, and removing it gains no more than the bound. Gains of latencies are
/// estimates.
#[test]
fn planted_causes_come_first_and_gain_at_most_their_bounds() {
    let folder = common::root().join("crates/cli/tests/causes");
    let scratch = tempfile::tempdir().unwrap();
    let mut table =
        String::from("\n| launch file | cause | gain | change | measured |\n| --- | --- | --- | --- | --- |\n");
    for planted in PLANTED {
        let file = folder.join(format!("{}.toml", planted.name));
        let text = fs::read_to_string(&file).unwrap();
        let report = profiled(file.to_str().unwrap(), planted.machine);
        let first = &report["diagnosis"]["causes"][0];
        assert_eq!(first["rule"], planted.rule, "{}: {first}", planted.name);
        let sentence = first["sentence"].as_str().unwrap();
        if let Some(line) = planted.line {
            let (file, number) = (first["file"].as_str().unwrap(), first["line"].as_u64().unwrap());
            let name = file.rsplit('/').next().unwrap();
            let source = fs::read_to_string(folder.join(name)).unwrap();
            assert_eq!(source.lines().nth(number as usize - 1).unwrap().trim(), line, "{sentence}");
            assert!(sentence.contains(&format!("{name}:{number}")), "{sentence}");
        }
        let changed = planted.repaired.iter().fold(text.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{}: {from}", planted.name);
            text.replace(from, to)
        });
        let changed = changed.replace("module = \"", &format!("module = \"{}/", folder.display()));
        let path = scratch.path().join(format!("{}.toml", planted.name));
        fs::write(&path, changed).unwrap();
        let repaired = profiled(path.to_str().unwrap(), planted.machine);
        let gain = cycles_of(planted.rule, &report) / cycles_of(planted.rule, &repaired) * planted.work;
        let said = first["times_faster"].as_f64().unwrap();
        let is_bound = first["is_bound"].as_bool().unwrap();
        let mut left = repaired["diagnosis"]["causes"].as_array().unwrap().iter();
        let rest =
            left.find(|cause| cause["rule"] == planted.rule).map_or(1.0, |rest| rest["times_faster"].as_f64().unwrap());
        assert!(rest < said, "{} is repaired and accused: {rest} after {said}", planted.name);
        let (words, most) = if is_bound { ("at most", said * 1.001) } else { ("about", said * 2.0) };
        assert!(sentence.contains(&format!(" {words} ")), "{sentence}");
        assert!(gain > 1.05 && gain <= most && (is_bound || gain > said / 2.0), "{}: {gain}, {sentence}", planted.name);
        let Planted { name, rule, change, .. } = planted;
        writeln!(table, "| `{name}` | `{rule}` | {words} {said:.2} | {change} | {gain:.2} |").unwrap();
    }
    table.push('\n');
    let page = common::root().join("docs/diagnosis.md");
    let text = fs::read_to_string(&page).unwrap();
    let updated = with_section(&text, "gains", &table).unwrap();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&page, updated).unwrap();
    } else {
        assert_eq!(text, updated, "BLESS=1 writes the table");
    }
}

/// Slices are counted one by one, and a hash of addresses makes them equal.
#[test]
fn traffic_is_counted_by_slice() {
    let file = common::root().join("crates/cli/tests/causes/slices.toml");
    let shares = |index: &str| {
        let set = format!("l2.partition_index={index}");
        let report = profiled(file.to_str().unwrap(), &["--set", &set]);
        let slices: Vec<u64> =
            report["l2_slice_accesses"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
        let total = &report["total"];
        assert_eq!(slices.len(), 32);
        assert_eq!(total["l2.accesses"], slices.iter().sum::<u64>());
        assert_eq!(total["l2.busiest_slice"], *slices.iter().max().unwrap() as f64);
        assert!(total["dram.busiest_channel"].as_f64().unwrap() * 16.0 >= total["dram.bytes"].as_f64().unwrap());
        let rules = common::strings(&report["diagnosis"]["causes"], "rule").join(" ");
        (*slices.iter().max().unwrap() as f64 / slices.iter().sum::<u64>() as f64, rules)
    };
    let ((crowded, accused), (spread, rest)) = (shares("linear"), shares("i_poly"));
    assert!(crowded > 0.9 && accused.contains("slice_camping"), "{crowded}: {accused}");
    assert!(spread < 0.1 && !rest.contains("slice_camping"), "{spread}: {rest}");
}

/// Kernels that do well what they do: at sizes that fill the GPU nobody is accused, at others nothing but the size.
#[test]
fn kernels_without_a_flaw_are_not_accused() {
    let diagnosis = |workload: &str, gpu: &str| {
        let args = ["profile", workload, "--size", "medium", "--gpu", gpu, "--json", "--quiet"];
        common::json(&common::succeed(&args))["diagnosis"].clone()
    };
    for (workload, limit) in [("vectoradd", "bandwidth of DRAM"), ("matmul", "banks of shared memory")] {
        let diagnosis = diagnosis(workload, "rtx2060s");
        assert_eq!(diagnosis["causes"], Value::Array(Vec::new()), "{workload}");
        assert!(diagnosis["limit"].as_str().unwrap().contains(limit), "{workload}: {diagnosis}");
    }
    // Two accesses of `nn` share each sector, and the CTAs of `matmul` are equal.
    for gpu in ["v100", "rtx3070"] {
        for workload in ["nn", "saxpy", "reduction", "matmul"] {
            let causes = &diagnosis(workload, gpu)["causes"];
            let rules = common::strings(causes, "rule");
            assert!(rules.iter().all(|&rule| rule == "small_grid"), "{workload} on {gpu}: {causes}");
        }
    }
}

/// Small grids of several kernels are one cause, which costs more than the latency of the launches that they make.
#[test]
fn small_grids_come_before_the_latency_of_their_launches() {
    for gpu in ["rtx2060s", "v100", "a100", "h100", "rtx4090"] {
        let report =
            common::json(&common::succeed(&["run", "nw", "--gpu", gpu, "--core", "inorder", "--json", "--quiet"]));
        let causes = &report["diagnosis"]["causes"];
        assert_eq!(common::strings(causes, "rule")[..2], ["small_grid", "launch_latency"], "{gpu}: {causes}");
        let first = &causes[0];
        let sentence = first["sentence"].as_str().unwrap();
        assert!(sentence.starts_with("nw_grow, nw_shrink: Grids have 3 CTAs on average"), "{sentence}");
        let kernels = cycles(&report);
        let saved = first["saved_cycles"].as_f64().unwrap();
        assert!(saved < kernels && saved > 0.9 * kernels, "{gpu}: {saved} of {kernels}");
    }
}

#[test]
fn the_report_ends_in_the_first_cause_and_the_profile_lists_all() {
    let file = common::root().join("crates/cli/tests/causes/remainders.toml");
    let file = file.to_str().unwrap();
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let run = unwrapped(&common::succeed(&["run", file, "--gpu", "rtx2060s"]));
    assert!(run.contains("Diagnosis reduce is limited by "), "{run}");
    assert!(run.contains("1. Branches and guards leave") && run.contains("profile --show causes"), "{run}");
    let all = unwrapped(&common::succeed(&["profile", file, "--gpu", "rtx2060s", "--show", "causes"]));
    let (first, second) =
        (all.find("1. The division or remainder").unwrap(), all.find("2. Branches and guards").unwrap());
    assert!(first < second && all.contains("at divergence.cu:19"), "{all}");
}

/// The sub-cores of `modern` share the memory pipe: on Ampere an access takes two cycles of it, on Volta one, and a store
/// of a register two. It limits a product of matrices, whose banks of shared memory are half idle.
#[test]
fn the_memory_pipe_of_sub_cores_is_a_roof() {
    const NAME: &str = "cycles of the memory pipe";
    let run = |args: &str| {
        let words: Vec<&str> = args.split(' ').collect();
        common::json(&common::succeed(&[&["run"], &words[..], &["--code", "sass", "--json"]].concat()))
    };
    let roof = |report: &Value| {
        let roofs = report["diagnosis"]["kernels"][0]["roofs"].as_array().unwrap();
        roofs.iter().find(|roof| roof["name"] == NAME).map(|roof| roof["percent"].as_f64().unwrap())
    };
    for (gpu, sms, cycles) in [("rtx3070", 46.0, 2 * 2 + 2), ("v100", 80.0, 2 + 2)] {
        let report = run(&format!("vectoradd --gpu {gpu}"));
        let total = |name: &str| report["total"][name].as_f64().unwrap();
        let warps = total("mix.store");
        assert_eq!(total("sm.memory_pipe_cycles"), warps * f64::from(cycles), "{gpu}");
        let share = 100.0 * total("sm.memory_pipe_cycles") / (total("cycles") * sms);
        assert!((roof(&report).unwrap() - share).abs() < 1e-6, "{gpu}: {share}");
    }
    assert_eq!(roof(&run("vectoradd --gpu rtx3070 --core inorder")), None);
    let product = run("matmul --gpu rtx3070 --set sm_count=4 --param m=128 --param n=128 --param k=128");
    let limit = product["diagnosis"]["limit"].as_str().unwrap();
    assert!(roof(&product).unwrap() > 60.0 && limit.contains(NAME), "{limit}");
}

/// A kernel of PTX with `body`, whose only parameter is an address, in a launch file.
fn of_ptx(folder: &tempfile::TempDir, body: &str, block: u32) -> String {
    let kernel = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{\n.reg .pred %p<2>;\n\
         .reg .b32 %r<4>;\n.reg .f64 %fd<6>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\n\
         {body}ret;\n}}\n"
    );
    let launch = format!(
        "module = \"k.ptx\"\n[buffers.data]\ntype = \"f64\"\nlength = 1024\n[[launch]]\nkernel = \"k\"\ngrid = 34\n\
         block = {block}\nargs = [\"data\"]\n"
    );
    fs::write(folder.path().join("k.ptx"), kernel).unwrap();
    let path = folder.path().join("k.toml");
    fs::write(&path, launch).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The instructions that others awaited for `reason`, the most awaited first, and the share of the reason's slots.
fn awaited(path: &str, core: &str, reason: &str) -> Vec<(String, f64)> {
    let report = profiled(path, &["--core", core]);
    let all = report["total"][format!("slots.{reason}")].as_f64().unwrap();
    let rows = report["profile"]["kernels"][0]["instructions"].as_array().unwrap();
    let slots = |row: &Value| {
        let causes = row["causes"].as_array().unwrap();
        causes.iter().filter(|cause| cause[0] == reason).map(|cause| cause[1].as_f64().unwrap()).sum::<f64>()
    };
    let mut awaited: Vec<_> =
        rows.iter().map(|row| (row["text"].as_str().unwrap().to_owned(), slots(row) / all)).collect();
    awaited.sort_by(|a, b| b.1.total_cmp(&a.1));
    awaited
}

/// Products of matrices by their shapes; of half precision by lanes, elements and products with a sum.
#[test]
fn operations_of_tensor_cores_and_of_half_precision_are_counted() {
    let scratch = tempfile::tempdir().unwrap();
    let page = scratch.path().join("page.html");
    let sizes = ["--param", "m=64", "--param", "n=128", "--param", "k=192"];
    let args = ["run", "wmma", "--gpu", "v100", "--json", "--html", page.to_str().unwrap()];
    let report = common::json(&common::succeed(&[&args[..], &sizes].concat()));
    assert_eq!(report["total"]["sm.matrix_multiply_adds"], 64 * 128 * 192);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("FP16 and BF16 FLOP/cycle") && page.contains("tensor FLOP/cycle"));
    let body = "fma.rn.f16x2 %r2, %r1, %r1, %r1;\nadd.f16x2 %r3, %r2, %r1;\nst.global.u32 [%rd1], %r3;\n";
    let half = profiled(&of_ptx(&scratch, body, 64), &[]);
    assert_eq!(half["total"]["sm.half_operations"], 34 * 64 * (4 + 2));
}

/// Slots for which the memory pipe is full are charged to the access in it.
#[test]
fn a_full_memory_pipe_is_charged_to_the_access_in_it() {
    let conflicts = common::root().join("crates/cli/tests/causes/bank_conflicts.toml");
    for core in ["modern", "inorder", "ghost"] {
        let args = ["profile", conflicts.to_str().unwrap(), "--gpu", "rtx2060s", "--core", core, "--order", "awaited"];
        let text = common::succeed(&args);
        let first = text.lines().skip_while(|line| !line.contains("awaited")).nth(1).unwrap();
        assert!(first.contains("LDS"), "{core}: {first}");
    }
}

/// FP64 units take an instruction of a warp in 16 cycles and more. Those for other units, which wait, too, hold nothing.
#[test]
fn a_busy_unit_is_charged_to_the_instruction_in_it() {
    let scratch = tempfile::tempdir().unwrap();
    let products: String = (0..32).map(|k| format!("fma.rn.f64 %fd{0}, %fd{0}, %fd5, %fd5;\n", k % 4 + 1)).collect();
    let starts: String = (1..6).map(|k| format!("cvt.rn.f64.u32 %fd{k}, %r1;\n")).collect();
    let sums = "add.f64 %fd1, %fd1, %fd2;\nadd.f64 %fd3, %fd3, %fd4;\nadd.f64 %fd1, %fd1, %fd3;\n\
                st.global.f64 [%rd1], %fd1;\n";
    let doubles = of_ptx(&scratch, &format!("{starts}{products}{sums}"), 1024);
    for core in ["modern", "inorder", "ghost"] {
        let busy = awaited(&doubles, core, "unit_busy");
        let of_doubles: f64 = busy.iter().filter(|(text, _)| text.contains("f64")).map(|(_, share)| share).sum();
        let is_first = busy[0].0.starts_with("fma.rn.f64");
        assert!(is_first && of_doubles > 0.9, "{core}: {of_doubles} of {:?}", &busy[..4]);
    }
}

/// All warps meet, then one loads, and the others wait for it at a barrier: for its load.
#[test]
fn a_barrier_is_charged_to_what_its_last_warp_waited_for() {
    let scratch = tempfile::tempdir().unwrap();
    let body = "bar.sync 0;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra meet;\nld.global.u32 %r2, [%rd1];\n\
                add.u32 %r3, %r2, 1;\nst.global.u32 [%rd1+4], %r3;\nmeet:\nbar.sync 0;\n";
    let waits = of_ptx(&scratch, body, 256);
    for core in ["modern", "inorder", "ghost"] {
        let barrier = awaited(&waits, core, "barrier");
        assert!(barrier[0].0.starts_with("ld.global.u32") && barrier[0].1 > 0.5, "{core}: {:?}", &barrier[..4]);
    }
}
