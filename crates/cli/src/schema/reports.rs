//! Reports of runs, comparisons, experiments.

use super::diagnosis::{changes, diagnosis};
use super::lists::{area, core};
use super::terms::{count, dimensions, flag, list, map, nullable, number, object, reference, text, version, word};
use ::energy::Component;
use lab::profile::Level;
use serde_json::{Map, Value, json};

/// `run`.
pub fn run() -> Value {
    report()
}

/// The statistics of a run or a launch: those that `list stats` has.
pub fn statistics() -> Value {
    let one = |info: &lab::StatInfo| {
        let kind = json!({ "type": ["number", "null"], "description": info.description, "unit": info.unit });
        (info.name.to_string(), kind)
    };
    let properties: Map<String, Value> = lab::schema().iter().map(one).collect();
    json!({ "type": "object", "description": "Statistics by name; null where a ratio has no denominator. Statistics of a core design are absent with others.", "properties": properties })
}

/// The report of a run.
pub fn report() -> Value {
    object(
        "The report of a run.",
        [
            ("schema", version()),
            ("version", text("Version of Warpwright.")),
            ("workload", text("Workload, with its parameters.")),
            ("gpu", text("Name of the GPU description.")),
            ("core", text("Core design with its parameters.")),
            ("scheduler", text("Warp scheduler with its parameters.")),
            ("settings", list("Values changed on the command line.", &text("KEY=VALUE."))),
            ("interrupted", flag("Ctrl-C or the cycle limit ended the run: the figures are of what was simulated.")),
            ("error?", text("Why the run failed.")),
            ("kernels", list("Kernel launches in the order of their end.", &kernel())),
            ("total", reference("statistics")),
            ("l2_slice_accesses", list("Of each L2 slice.", &count("Reads and writes.", "requests"))),
            (
                "energy_model",
                nullable(object(
                    "Coefficients that energy was computed with.",
                    [
                        ("name", text("Name of the coefficients.")),
                        ("volts", number("Supply voltage.", "V")),
                        ("core_mhz", number("Core clock.", "MHz")),
                    ],
                )),
            ),
            ("power?", power()),
            ("remarks", list("Anomalies of the input, and choices made for the user.", &text("A remark."))),
            ("output", list("Text that kernels and launch file printed.", &text("Text."))),
            (
                "check",
                nullable(object(
                    "Comparison with the host reference.",
                    [
                        ("passed", flag("The results agree.")),
                        ("details", text("The comparison made, or the difference found.")),
                    ],
                )),
            ),
            ("audit", nullable(audit())),
            ("profile?", profile()),
            ("diagnosis?", diagnosis()),
            ("changes?", changes()),
            ("sampling?", sampling()),
            ("grouping?", grouping()),
            ("memory_checks?", memory_checks()),
            (
                "host",
                object(
                    "Time and memory of the simulation on this machine; the only part that differs from run to run.",
                    [
                        ("seconds", number("Wall-clock time of the simulation.", "s")),
                        ("cycles_per_second", number("Simulated core cycles per second.", "core cycles/s")),
                        (
                            "warp_instructions_per_second",
                            number("Simulated warp instructions per second.", "warp instructions/s"),
                        ),
                        ("peak_memory_bytes", nullable(count("Maximum memory that the process has held.", "bytes"))),
                        ("scaling?", scaling()),
                    ],
                ),
            ),
        ],
    )
}

/// `exec`: the report of a program.
pub fn exec() -> Value {
    let mut device = report();
    device["description"] = "Work of a device: the report of a run, and more.".into();
    let more = object(
        "",
        [
            ("device", count("Number of the device, from 0.", "")),
            (
                "transfers",
                list(
                    "Transfers by direction.",
                    &object(
                        "Transfers of a direction.",
                        [
                            ("direction", text("From where to where.")),
                            ("transfers", count("Number of transfers.", "transfers")),
                            ("bytes", count("Bytes of all.", "bytes")),
                            ("seconds", number("Simulated time, each transfer by itself.", "s")),
                        ],
                    ),
                ),
            ),
            (
                "untimed",
                list(
                    "Kernels that were executed without time.",
                    &object(
                        "A kernel.",
                        [
                            ("name", text("Name of the kernel.")),
                            ("launches", count("Number of launches.", "launches")),
                            (
                                "fills",
                                count("Launches that only filled memory: they take the time of a memset.", "launches"),
                            ),
                            ("warp_instructions", count("Warp instructions of all.", "warp instructions")),
                            ("thread_instructions", count("Thread instructions of all.", "thread instructions")),
                        ],
                    ),
                ),
            ),
            ("seconds", number("Simulated time from the device's first use to its last, transfers included.", "s")),
        ],
    );
    if let (Some(all), Some(own)) = (device["properties"].as_object_mut(), more["properties"].as_object()) {
        all.extend(own.clone());
    }
    if let (Some(all), Some(own)) = (device["required"].as_array_mut(), more["required"].as_array()) {
        all.extend(own.iter().cloned());
    }
    object(
        "The report of a CUDA program.",
        [
            ("schema", version()),
            ("version", text("Version of Warpwright.")),
            ("program", text("The command that the program was started with.")),
            (
                "unsupported",
                map(
                    "Functions that are not supported and were called.",
                    &count("Number of calls of the function.", "calls"),
                ),
            ),
            (
                "stand_ins",
                map(
                    "Libraries in whose place Warpwright's kernels ran (`standin_…`); NVIDIA's kernels would take other times.",
                    &count("Number of launches.", "launches"),
                ),
            ),
            ("failures", list("Failures of kernels and modules, at most the first thousand.", &text("A failure."))),
            (
                "failed",
                object(
                    "Numbers of failures.",
                    [
                        ("refused", count("Kernels, and modules as a whole, that cannot run.", "failures")),
                        ("faulted", count("Kernels that ended with a fault, a deadlock or at a bound.", "kernels")),
                        ("launches", count("Requests of launches that returned an error.", "launches")),
                    ],
                ),
            ),
            ("devices", list("Devices that the program used.", &device)),
        ],
    )
}

fn scaling() -> Value {
    let seconds = |what: &str| number(what, "s");
    object(
        "Time on several host threads, predicted from what the parts of this run's windows took on one.",
        [
            ("alone_seconds", seconds("Between tasks: exchange, merge, dispatch.")),
            ("task_seconds", seconds("In tasks: cores and memory system.")),
            ("memory_seconds", seconds("In the memory system, all its tasks.")),
            ("handover_seconds", seconds("Cost on this host of sharing a round with a second thread.")),
            (
                "threads",
                list(
                    "By the number of threads.",
                    &object(
                        "A number of threads.",
                        [
                            ("threads", count("Host threads.", "threads")),
                            ("seconds", seconds("Wall-clock time of the simulation.")),
                            ("times_faster", number("Over one thread.", "")),
                        ],
                    ),
                ),
            ),
        ],
    )
}

fn kernel() -> Value {
    object(
        "A kernel launch.",
        [
            ("launch", count("Number of the launch, from 0.", "")),
            ("name", text("Name of the kernel.")),
            ("code", word("Code that was executed.", &["ptx", "sass"])),
            ("grid", dimensions("CTAs in each dimension.", "CTAs")),
            ("block", dimensions("Threads of a CTA in each dimension.", "threads")),
            ("stream", count("Number of its stream: launches of one stream run in order.", "")),
            ("registers_per_thread", count("Registers that occupancy was computed with.", "registers")),
            ("register_source", word("Where that number is from.", &["estimated", "compiled", "allocated", "given"])),
            ("shared_bytes", count("Shared memory of a CTA.", "bytes")),
            (
                "occupancy",
                object(
                    "How many CTAs fit on an SM.",
                    [
                        ("ctas_per_sm", count("CTAs that fit on an SM.", "CTAs")),
                        ("warps_per_sm", count("Warps of those.", "warps")),
                        ("theoretical_percent", number("Those warps as a share of the warp slots.", "%")),
                        ("limiter", text("The resource that the next CTA lacks.")),
                    ],
                ),
            ),
            ("start_cycle", count("Cycle of the launch: the launch latency begins.", "core cycles")),
            ("statistics", reference("statistics")),
        ],
    )
}

fn grouping() -> Value {
    let kernel = object(
        "A kernel of a group.",
        [
            ("name", text("Name of the kernel.")),
            ("launches", count("Launches within the group.", "launches")),
            ("cycles", number("Sum of their cycles, without launch latency.", "core cycles")),
        ],
    );
    let group = object(
        "A group, with those within it.",
        [
            ("path", list("Names, the outermost first; empty for launches with nothing open.", &text("A name."))),
            ("launches", count("Launches.", "launches")),
            ("untimed", count("Launches without cycles: executed without time, or not ended.", "launches")),
            ("cycles", number("Sum of their cycles, without launch latency; inferred ones included.", "core cycles")),
            ("seconds", number("The same as simulated time.", "s")),
            ("share_percent", nullable(number("Of the cycles of all kernels.", "%"))),
            ("kernels", list("The three kernels of most cycles.", &kernel)),
        ],
    );
    let launch = object(
        "Origin of a launch.",
        [
            ("launch", count("Number of the launch.", "")),
            ("group", count("Its group, an index of the groups.", "")),
            (
                "ranges",
                list(
                    "Numbers of the ranges, the outermost first: launches with the same number were made in the same one. 0 for lines of Python.",
                    &count("Number of a range.", ""),
                ),
            ),
        ],
    );
    object(
        "The kernels of a program by what launched them (`--by`).",
        [
            ("by", word("Criterion of the groups.", &["nvtx", "python"])),
            ("groups", list("Each before the groups within it; on one level, the group of most cycles first.", &group)),
            ("launches", list("Each launch.", &launch)),
        ],
    )
}

fn sampling() -> Value {
    let group = object(
        "Launches that are alike.",
        [
            ("name", text("Name of the kernel.")),
            ("grid", dimensions("CTAs in each dimension.", "CTAs")),
            ("block", dimensions("Threads of a CTA in each dimension.", "threads")),
            ("launches", count("Number of launches.", "launches")),
            ("timed", count("Launches that were simulated in time, all CTAs of them.", "launches")),
            (
                "cycles_per_warp_instruction",
                nullable(number("Mean of those that others are inferred from.", "core cycles/warp instruction")),
            ),
            ("spread_percent", nullable(number("Standard deviation of the cycles of a launch over the mean.", "%"))),
            ("spread_is_borrowed", flag("The deviation is of all groups together: the group has too few launches.")),
            (
                "from_other_groups",
                flag("Cycles are inferred from other launches of the kernel: none of the group was timed."),
            ),
        ],
    );
    let launch = object(
        "A launch.",
        [
            ("launch", count("Number of the launch, from 0.", "")),
            ("name", text("Name of the kernel.")),
            ("how", word("How it was carried out.", &["timed", "partly", "functional", "skipped"])),
            ("group", nullable(count("Its group, an index of groups.", ""))),
            ("ctas", nullable(list("First and last CTA that were timed, if not all were.", &count("A CTA.", "")))),
            ("warp_instructions", nullable(count("Its warp instructions, if they are known.", "warp instructions"))),
            ("timed_cycles", nullable(count("Cycles that were simulated.", "core cycles"))),
            ("inferred_cycles", nullable(number("Cycles of the whole launch, if they were inferred.", "core cycles"))),
            ("error_cycles", nullable(number("Half of the width of their interval of 95 %.", "core cycles"))),
        ],
    );
    object(
        "The part simulated in time, and inferences about the rest. All other figures are of the simulated part.",
        [
            ("choice", text("The choice of --time.")),
            ("launches", count("Number of launches.", "launches")),
            ("timed", count("Launches that were simulated in time.", "launches")),
            ("partly", count("Launches some CTAs of which were.", "launches")),
            ("untimed", count("Launches executed without time, or left out of a trace.", "launches")),
            (
                "unknown",
                count("Of those, launches of kernels of which none was timed: in no inferred figure.", "launches"),
            ),
            ("timed_warp_instructions", count("Warp instructions simulated in time.", "warp instructions")),
            (
                "untimed_warp_instructions",
                nullable(count("Warp instructions of the rest, if known.", "warp instructions")),
            ),
            (
                "timed_cycles",
                count("Cycles of launches that were simulated, launch latency left aside.", "core cycles"),
            ),
            ("inferred_cycles", number("Cycles that were inferred.", "core cycles")),
            ("total_cycles", number("Both together.", "core cycles")),
            ("error_cycles", nullable(number("Half of the width of the interval of 95 %.", "core cycles"))),
            ("error_percent", nullable(number("The same over the total.", "%"))),
            ("seconds", number("The total as time.", "s")),
            ("groups", list("Launches that are alike, in the order of their first launches.", &group)),
            ("kernels", list("Every launch.", &launch)),
        ],
    )
}

fn power() -> Value {
    let mut interval = object(
        "An interval, with the power of each component.",
        [
            ("start_cycle", count("First core cycle.", "core cycles")),
            ("end_cycle", count("Core cycle after the last.", "core cycles")),
            ("seconds", number("Its length.", "s")),
            ("watts", number("Mean power of the GPU and its board.", "W")),
        ],
    );
    for component in Component::ALL {
        interval["properties"][component.name()] = number(component.description(), "W");
    }
    object(
        "Power over time.",
        [
            ("interval_cycles", count("Length of an interval; the last may be shorter.", "core cycles")),
            ("intervals", list("Intervals in order, without gaps.", &interval)),
        ],
    )
}

fn audit() -> Value {
    let instruction = || {
        nullable(object(
            "An instruction.",
            [
                ("pc", count("Number of the instruction in the kernel.", "")),
                ("text", text("The instruction.")),
                ("issued", nullable(count("Cycle in which it issued.", "core cycles"))),
            ],
        ))
    };
    let first = object(
        "The first violation of the kind.",
        [
            ("kernel", nullable(text("Name of the kernel."))),
            ("cycle", count("Cycle of the violation.", "core cycles")),
            ("warp", count("Warp slot.", "")),
            ("younger", instruction()),
            ("what", text("Action of the younger instruction that came too early.")),
            ("older", instruction()),
        ],
    );
    let violation = object(
        "Violations of a kind.",
        [("kind", text("Kind of hazard.")), ("count", count("Number of them.", "violations")), ("first", first)],
    );
    object(
        "Findings of the hazard auditors.",
        [
            ("instructions", count("Warp instructions checked.", "warp instructions")),
            ("dependences", count("Dependences checked.", "dependences")),
            ("violations", list("Kinds of which there are violations.", &violation)),
        ],
    )
}

/// Pairs of a name or number and what is counted of it.
fn pairs(description: &str) -> Value {
    list(description, &json!({ "type": "array", "minItems": 2, "maxItems": 2 }))
}

fn profile() -> Value {
    let latency = |description: &str| {
        object(
            description,
            [
                ("mean", number("Mean.", "core cycles")),
                ("p95", count("95th percentile.", "core cycles")),
                ("max", count("The longest.", "core cycles")),
                ("histogram", pairs("Longest time of a group in core cycles, and its warp instructions.")),
            ],
        )
    };
    let served = |&level: &Level| {
        let optional = if level.is_everywhere() { "" } else { "?" };
        (format!("{}{optional}", level.key()), count(level.served(), "transactions"))
    };
    let memory = object(
        "Accesses to memory.",
        [
            ("accesses", count("Issues that access memory with any lane.", "warp instructions")),
            ("transactions", count("Transactions, or passes through the banks of shared memory.", "transactions")),
            ("sectors", count("Sectors of 32 bytes moved.", "sectors")),
            ("excess_sectors", count("Sectors that the bytes of active lanes would not need.", "sectors")),
            ("conflict_cycles", count("Cycles that bank conflicts take.", "core cycles")),
            (
                "excess_passes",
                count(
                    "Passes through the banks of shared memory beyond those that the bytes of all active lanes need.",
                    "passes",
                ),
            ),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .chain(Level::ALL.iter().map(served)),
    );
    let line = |description: &str| {
        object(
            description,
            [
                ("file?", text("Path as the compiler recorded it; absent for PTX within a cubin.")),
                ("line", count("From 1.", "")),
                ("text?", text("The line, if the source is at hand.")),
            ],
        )
    };
    let energy = object(
        "Dynamic energy that it caused.",
        [("joules", number("In all.", "J")), ("parts", pairs("Component, and its energy in joules."))],
    );
    let instruction = object(
        "Profile of a static instruction.",
        [
            ("pc", count("Its number in the kernel, from 0.", "")),
            ("text", text("The instruction.")),
            ("place", text("Its position in the code; empty if unknown.")),
            ("source", nullable(line("Line of the source."))),
            ("calls", list("Calls that it was inlined for, the innermost first.", &line("A call."))),
            ("ptx", nullable(line("Of machine code: the line of PTX."))),
            ("issues", count("How often it issued.", "warp instructions")),
            ("lanes", count("Active lanes over all issues.", "thread instructions")),
            ("divergences", count("Issues after which lanes of the warp had diverged.", "warp instructions")),
            ("stalls", pairs("Reason, and issue slots that stayed empty because it waited.")),
            ("causes", pairs("Reason, and issue slots that stayed empty because another instruction waited for it.")),
            ("latency", nullable(latency("From issue to write-back."))),
            ("latency_by_level", pairs("Furthest level that data came from, and the latency of these issues.")),
            ("memory", nullable(memory)),
            ("energy", nullable(energy)),
        ],
    );
    let kernel = object(
        "A kernel, over all its launches.",
        [
            ("name", text("Its name.")),
            ("length", count("Instructions of its code.", "instructions")),
            ("instructions", list("Those to which anything happened.", &instruction)),
        ],
    );
    object(
        "Where issue slots and time went, by instruction.",
        [
            ("nobody", pairs("Reason, and issue slots that stayed empty where no instruction waited.")),
            ("shared_energy", nullable(pairs("Component, and energy in joules that belongs to no instruction."))),
            ("kernels", list("Kernels in the order in which they first ran.", &kernel)),
        ],
    )
}

fn memory_checks() -> Value {
    let finding = object(
        "The first access of an instruction.",
        [
            ("kind", text("Kind of finding, as `warpwright docs cli` lists them.")),
            ("count", count("Accesses by threads.", "accesses")),
            ("kernel", text("Name of the kernel.")),
            ("pc", count("Number of the instruction in the kernel.", "")),
            ("text", text("The instruction.")),
            ("place", text("Its file and line.")),
            ("origin", text("File and line of the source it was compiled from; empty if unknown.")),
            ("cta", dimensions("Position in the grid.", "")),
            ("thread", dimensions("Position in the CTA.", "")),
            ("what", text("Address, and what is wrong with it.")),
            ("earlier_pc", nullable(count("Of races, the instruction of the earlier access.", ""))),
        ],
    );
    object(
        "Findings of the memory checks.",
        [
            ("instructions", count("Warp instructions checked.", "warp instructions")),
            ("accesses", map("Accesses by kind.", &count("Accesses by threads.", "accesses"))),
            ("findings", list("The first access of each instruction.", &finding)),
        ],
    )
}

/// `compare`.
pub fn compare() -> Value {
    comparison()
}

/// A comparison, by itself or as a part of an experiment.
pub fn comparison() -> Value {
    let column = object(
        "A machine: a column of the tables.",
        [
            ("label", text("Distinguishes it from the other columns.")),
            ("gpu", text("GPU description: name or path.")),
            ("core", text("Core design with its parameters.")),
            ("scheduler", nullable(text("Warp scheduler; the GPU description's if null."))),
            ("settings", list("Values of the GPU description that differ.", &text("KEY=VALUE."))),
            ("version?", text("The code that it runs, of versions of the same work.")),
            ("baseline", count("Index of the column that its relative figures are over.", "")),
        ],
    );
    let mean = object(
        "Geometric mean of a column's speedups.",
        [
            ("speedup", nullable(number("The mean; null of nothing.", "ratio"))),
            ("repeats?", spread()),
            ("workloads", count("Workloads that it is over.", "workloads")),
        ],
    );
    let in_common = object(
        "Means over the programs that both have.",
        [
            ("workloads", count("Number of them.", "workloads")),
            ("ours", number("Geometric mean of our speedups.", "ratio")),
            ("published", number("Geometric mean of the paper's.", "ratio")),
        ],
    );
    let published_mean = object(
        "A paper's mean for the core design.",
        [
            ("speedup", nullable(number("Geometric mean over all its programs.", "ratio"))),
            ("programs", nullable(count("Number of those programs.", "programs"))),
            ("in_common", nullable(in_common)),
            ("source", text("Where it is from.")),
        ],
    );
    object(
        "Workloads on several machines.",
        [
            ("schema", version()),
            ("columns", list("Machines, in the order of the tables.", &column)),
            ("geometric_means", list("Of each column.", &mean)),
            ("published_means", list("Of each column.", &nullable(published_mean))),
            ("runs", list("Each workload on each machine, row by row.", &compared_run())),
        ],
    )
}

fn spread() -> Value {
    object(
        "A figure over repeated runs.",
        [
            ("runs", count("Number of runs.", "runs")),
            ("mean", number("Mean over them.", "ratio")),
            ("half", number("Half of the width of the 95 % confidence interval around the mean.", "ratio")),
        ],
    )
}

fn compared_run() -> Value {
    let ratio = |description: &str| nullable(number(description, "ratio"));
    let percent = |description: &str| nullable(number(description, "%"));
    let published = object(
        "A paper's figures for such a run.",
        [
            ("speedup", ratio("Speedup over the paper's baseline.")),
            ("stall_reduction_percent", percent("Slots lost to hazards, less than in order.")),
            ("occupancy_percent", percent("Resident warps as a share of warp slots.")),
            ("ipc", nullable(number("Thread instructions per cycle.", "thread instructions/cycle"))),
            ("watts", nullable(number("Mean power.", "W"))),
            ("relative_energy", ratio("Energy, relative to the paper's baseline.")),
            ("efficiency", ratio("Instructions per joule, relative to the paper's baseline.")),
        ],
    );
    object(
        "A workload on a machine.",
        [
            ("workload", text("The workload; with --kernels, the kernel.")),
            ("column", count("Index of the machine.", "")),
            ("status", word("How the run ended.", &["complete", "failed", "interrupted"])),
            ("reason", nullable(text("Why it failed."))),
            ("speedup", ratio("Time of kernels in the baseline's column over that in this one.")),
            ("repeats?", spread()),
            ("stall_reduction_percent", percent("Slots lost to hazards, less than in the baseline's column.")),
            ("relative_energy", ratio("Energy, relative to the baseline's column.")),
            (
                "relative_management",
                ratio("Energy of managing values and instructions, relative to the baseline's column."),
            ),
            ("published", nullable(published)),
            ("changes?", changes()),
            (
                "derived?",
                list(
                    "Figures of the user's own (`--derive`).",
                    &object(
                        "A figure.",
                        [("name", text("Its name.")), ("value", nullable(number("From statistics of the run.", "")))],
                    ),
                ),
            ),
            ("report", nullable(reference("report"))),
        ],
    )
}

/// `reproduce`: comparisons, or areas.
pub fn reproduce() -> Value {
    let headline = object(
        "The mean speedup of a column on both machines.",
        [
            ("part", count("Number of the first part with it, from 1.", "")),
            ("label", text("The column.")),
            ("papers_machine", text("GPU description of the paper's machine.")),
            ("on_papers", number("Geometric mean there.", "ratio")),
            ("repeats_on_papers?", spread()),
            ("stock_gpu", text("The stock GPU.")),
            ("on_stock", number("Geometric mean there.", "ratio")),
            ("repeats_on_stock?", spread()),
            ("published", nullable(number("The paper's mean over all its programs.", "ratio"))),
            ("published_in_common", nullable(number("The paper's mean over the programs that ran here.", "ratio"))),
        ],
    );
    let claim = object(
        "A claim of the paper.",
        [
            ("claim", text("In words.")),
            ("published", text("The published value or bound.")),
            ("ours", nullable(number("Ours; null if no run shows it.", ""))),
            ("half", nullable(number("Half of the 95 % confidence interval, of repeated runs.", ""))),
            ("rows", count("Rows that ours is over.", "")),
            ("verdict", word("Result of the comparison.", &["holds", "same_sign", "not", "unknown"])),
            ("why", text("Known cause of the difference.")),
        ],
    );
    let comparisons = object(
        "An experiment of comparisons.",
        [
            ("schema", version()),
            ("figure", text("Name of the experiment.")),
            ("paper", text("The paper and its figure.")),
            ("published", text("Findings of the paper.")),
            ("size", word("Size of the workloads.", &["small", "medium", "large"])),
            ("parts", list("Comparisons on the paper's machine.", &reference("comparison"))),
            ("stock", list("The same on the stock GPU, with --stock.", &reference("comparison"))),
            ("headlines", list("Mean speedups on both, with --stock.", &headline)),
            ("claims", list("Claims of the paper.", &claim)),
        ],
    );
    let areas = object(
        "An experiment of areas.",
        [
            ("schema", version()),
            ("figure", text("Name of the experiment.")),
            ("paper", text("The paper and its figure.")),
            ("published", text("Findings of the paper.")),
            ("parts", list("Cores that are not SMs.", &area())),
            ("sms", list("Cores that are SMs, with their structures.", &core())),
            ("claims", list("Claims of the paper.", &claim)),
        ],
    );
    json!({ "anyOf": [comparisons, areas] })
}

/// JSON of `sweep`: a comparison of workloads, or an experiment.
pub fn sweep() -> Value {
    let mut schema = reproduce();
    if let Some(any) = schema["anyOf"].as_array_mut() {
        any.insert(0, comparison());
    }
    schema
}
