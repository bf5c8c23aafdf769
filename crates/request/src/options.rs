//! The options of a run: one row each, from which every way in is made.
//!
//! To add one: a row here, and its use (most are fields of [`lab::Setup`], filled in [`machine`](crate::machine)). The
//! arguments of the commands, the environment variables of `exec`, the keywords of Python and the tables of the documents
//! follow. A way in that cannot have it says so in the row.

use crate::BadRequest;
use crate::derived::Derived;
use crate::option::{Always, Field, Group, OptionRow, Reasons, Shaped, Way, options};
use crate::shown::{
    Cycles, Destination, EVERY_TIME, Every, POWER_INTERVAL, Recorded, Sample, Statistics, TIMELINE_CYCLES, Warps,
};
use crate::values::{
    Amount, Assignment, Branches, By, Code, Core, NameOrFile, Over, ProfiledAs, Scheduler, Setting, USUAL_GPU,
    USUAL_SEED, Vary,
};
use lab::{DEFAULT_STACK_BYTES, MAX_LOCAL_BYTES, OutOfBounds, RegisterMode, Time};
use launchfile::ModuleOverride;
use std::ffi::OsString;
use std::io;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use workloads::Size;

const OWN_INPUT: Reasons = &[(Way::Exec, "a program has its own input: give it as the program's arguments")];
const ONE_RUN: Reasons = &[
    (Way::Compare, "it is of one run: `warpwright run` has it"),
    (Way::PythonCompare, "it is of one run: `warpwright.run` has it"),
];
const COMPARED: Reasons = &[
    (Way::Run, "it is of a comparison: `warpwright compare` has it"),
    (Way::Exec, "it is of a comparison: `warpwright compare` has it"),
    (Way::Python, "it is of a comparison: `warpwright.compare` has it"),
];
const A_METHOD: Reasons =
    &[(Way::Python, "the result has it as a method"), (Way::PythonCompare, "the result has it as a method")];
const PROGRESS: Reasons =
    &[(Way::Python, "it is the argument `progress`"), (Way::PythonCompare, "it is the argument `progress`")];
const WHOLE_RUN: Reasons = &[
    (Way::Compare, "a comparison is not resumed: run each machine by itself"),
    (
        Way::Exec,
        "a program keeps state of its own between its kernels, which no checkpoint has (`warpwright docs checkpoints`)",
    ),
    (Way::Python, "a checkpoint has the command that continues it: use `warpwright run`"),
    (Way::PythonCompare, "a comparison is not resumed"),
];
const NOT_KEPT: Reasons = &[
    (Way::Sweep, "findings are not stored with a run: `warpwright compare` has it"),
    (Way::PythonSweep, "findings are not stored with a run: `warpwright.compare` has it"),
];
const SHOWN_BY_COMPARISONS: Reasons = &[
    (Way::Compare, "`--show` and `--kernels` choose what is shown"),
    (Way::PythonCompare, "a row has every statistic"),
];
const OF_PROGRAMS: Reasons = &[
    (Way::Run, "it is of a program: `warpwright exec` has it"),
    (Way::Compare, "it is of a program: `warpwright exec` has it"),
    (Way::Python, "it is of a program: `warpwright exec` has it"),
    (Way::PythonCompare, "it is of a program: `warpwright exec` has it"),
];
const FAILURES: Reasons = &[
    (Way::Run, "a failed run always ends so"),
    (Way::Compare, "a failed run always ends so"),
    (Way::Python, "a failed run raises an error"),
    (Way::PythonCompare, "the entry of a failed run has the error"),
];

options! {
    Machine {
        /// GPU: a built-in one (`warpwright list gpus`) or the path of a description
        gpu: Vec<NameOrFile>, "NAME|FILE", "v100", { aliases: &["gpus"], is_axis: true, is_traced: true, usual: Some("the launch file's, else {}"), usual_value: || USUAL_GPU.into(), exec_default: Some(USUAL_GPU) };
        /// Core design with its parameters, such as ghost:issue_buffer=16 (`warpwright list cores`)
        core: Vec<Core>, "NAME", "ghost", { aliases: &["cores"], is_axis: true, usual: Some("the GPU description's") };
        /// Warp scheduler with its parameters, such as two_level:active=4 (`warpwright list schedulers`)
        scheduler: Vec<Scheduler>, "NAME", "lrr", { aliases: &["schedulers"], is_axis: true, is_traced: true, usual: Some("the GPU description's") };
        /// Values to compare: of the GPU description, as sm.issue.schedulers=1,2,4, or of a parameter of the cores or the schedulers that have it, as core.issue_buffer=4,8,16 or scheduler.active=4,8; several of these are combined, and two are shown as a grid
        vary: Vec<Vary>, "KEY=A,B", "sm.issue.schedulers=1,2", { absent: &[COMPARED] };
        /// Baseline of speedups and other relative figures, for each column with everything else the same: a core design or warp scheduler, which runs even if --cores or --schedulers leaves it out, or a value among those that vary, as headings have it (registers=x1, replacement=lru, gpu=v100)
        over: Option<Over>, "NAME|AXIS=VALUE", "inorder", { absent: &[COMPARED], usual: Some("the first column; of the same GPU, where other things vary too") };
        /// A figure of your own from statistics (`warpwright list stats`), shown after the others: + - * / and parentheses, as in "bytes per instruction=dram.bytes / warp_instructions". Without a value where a statistic is absent or a divisor is zero
        derive: Vec<Derived>, "NAME=EXPRESSION", "bytes=dram.bytes / 2", { absent: &[COMPARED] };
        /// Take the workloads as versions of the same work: a column each, with speedups over the first
        as_columns: bool, "", "1", { absent: &[COMPARED] };
        /// Run everything this many times with small random changes that should not matter: the cluster of SMs that gets the first CTA, the addresses of data, two cycles of L2 latency. Figures are means, with half of the width of their 95 % confidence interval
        repeat: Option<NonZeroU32>, "NUMBER", "3", { absent: &[COMPARED], usual: Some("1") };
        /// Part of the run that is simulated in time: all, none, launches by number and kernels by name (kernels=3,7..9,NAME), CTAs of each launch (ctas=0..79), or representative launches (representative, representative:tolerance=5). The rest is executed without time, or left out of a trace. Ranges include both ends (`warpwright docs sampling`)
        time: Always<Time>, "CHOICE", "ctas=0..3", { default: Some("all") };
        /// End each run soon after this number of simulated core cycles, launch latency included, and report the part that was simulated. Checked every few thousand cycles. Without time (--time), warp instructions count. Later CUDA calls of a program fail
        max_cycles: Option<u64>, "NUMBER", "100000000";
        /// End the run as failed after this number of core cycles in which all warps repeated themselves and changed nothing: a livelock. Without time (--time), warp instructions count. 0 turns this off
        livelock_cycles: Always<u64>, "NUMBER", "2000000", { default: Some("1000000") };
        /// Run and count kernels as under a profiler, to compare with its figures: one at a time, with the part of the launch that it counts as launch latency (`cycles in all` are the profiler's), and under ncu with empty caches. Cycles are those of the description's core clock. Settings given replace these
        profiled_as: Option<ProfiledAs>, "TOOL", "ncu";
        /// Simulate in time also launches of a program that only fill memory, at least as much as the L2 holds. Otherwise they take the time of a memset and leave the L2 empty (`warpwright docs cuda`)
        time_fills: bool, "", "1", { absent: &[OF_PROGRAMS] };
        /// Check each instruction against the program order of its warp (hazard auditor) and report the violations. Takes about twice as long
        audit: bool, "", "1", { absent: &[NOT_KEPT] };
        /// Check memory accesses: reads of memory that was never written, races of warps in shared memory and of CTAs in global memory. Takes several times as long
        check_memory: bool, "", "1", { absent: &[NOT_KEPT] };
        /// Count issue slots, latencies and accesses by instruction, and list those that took most slots; a comparison shows which instructions each machine helps or hurts. Takes about a quarter longer
        profile: bool, "", "1", { absent: &[NOT_KEPT] };
    }
    Changes {
        /// A value of the GPU description, such as sm.issue.schedulers=2 or clocks.core_mhz=1.5GHz; `warpwright list settings` names them
        set: Vec<Setting>, "KEY=VALUE", "sm.issue.schedulers=2", { is_traced: true, python: Some("settings") };
        /// Warp slots of an SM, 128 at most: a number, or a multiple of the description's such as x2
        warps_per_sm: Vec<Amount>, "N|xF", "x0.5", { is_axis: true };
        /// Registers of an SM: a number, or a multiple of the description's such as x2
        register_file: Vec<Amount>, "N|xF", "x2", { is_axis: true };
        /// Instructions fetched after a branch until it issues
        branches: Vec<Branches>, "FETCHED", "stall", { is_axis: true };
        /// Entries of each warp's instruction buffer; designs with a buffer of their own keep it
        instruction_buffer: Vec<u32>, "N", "4", { is_axis: true };
    }
    Input {
        /// How much work, of bundled workloads: small, medium (about a million warp instructions) or large (about ten million)
        size: Option<Size>, "SIZE", "small", { usual: Some("{}"), usual_value: || Size::default().name().into(), absent: &[OWN_INPUT] };
        /// A parameter of a bundled workload (`warpwright list workloads` names them) or an entry of a launch file's table of values
        param: Vec<Assignment>, "NAME=VALUE", "n=1000", { python: Some("params"), absent: &[OWN_INPUT] };
        /// A file in place of the module of a launch file, or in place of the one that it calls NAME. A comparison takes several with commas: a column a version
        module: Vec<ModuleOverride>, "[NAME=]FILE", "kernels.ptx=other.cubin", { python: Some("modules"), absent: &[OWN_INPUT] };
        /// Seed of the generated inputs of bundled workloads
        seed: Option<u64>, "NUMBER", "7", { usual: Some("{}"), usual_value: || USUAL_SEED.to_string(), absent: &[OWN_INPUT] };
        /// Code to run, of bundled workloads and programs that have both
        code: Always<Code>, "CODE", "ptx", { aliases: &["isa"], default: Some("auto") };
        /// Registers that PTX runs with: virtual, allocated, or hazard-free, allocated so that no write overtakes a read. Bundled workloads and programs then run as PTX
        registers: Option<RegisterMode>, "WHICH", "allocated", { usual: Some("{}"), usual_value: || RegisterMode::default().name().into() };
        /// Maximum number of registers per thread to allocate; values that do not fit are spilled to local memory
        max_registers: Option<u32>, "NUMBER", "32", { usual: Some("as many as the GPU allows") };
        /// Stack of each thread where machine code does not bound its own, with recursion or calls through pointers
        stack_bytes: Option<u32>, "BYTES", "2048", { usual: Some("the launch file's, else {}"), usual_value: || DEFAULT_STACK_BYTES.to_string(), most: Some(MAX_LOCAL_BYTES as u64) };
        /// Effect of a kernel's access to global memory outside all allocations: error, or warn or allow, with which such accesses near allocations are harmless, as on hardware
        out_of_bounds: Always<OutOfBounds>, "POLICY", "allow", { default: Some("error"), exec_default: Some("warn") };
        /// Leave out the first bytes of device memory, in multiples of 256. Nothing should depend on it but the distribution of addresses over L2 and DRAM: several values show how much of a result is chance
        shift_addresses: Option<u64>, "BYTES", "4096";
        /// Let machine code in traces, cubins and fat binaries of another architecture than the GPU's run
        any_architecture: bool, "", "1";
        /// Let kernels of different streams of a trace run at the same time; Accel-Sim runs one after the other
        concurrent_streams: bool, "", "1", { absent: &[&[(Way::Exec, "a program says itself which kernels run at the same time")]] };
    }
    Energy {
        /// Show energy by component and by kernel
        energy: bool, "", "1", { absent: &[&[(Way::Compare, "`--show energy` shows it"), (Way::Python, "the report always has it"), (Way::PythonCompare, "the reports always have it")]] };
        /// Coefficients of a GPU that comes with the program, or a file of them (`warpwright docs energy`)
        energy_model: Option<NameOrFile>, "NAME|FILE", "v100", { usual: Some("the GPU description's energy.model") };
        /// Write power over time, by component, to a CSV file
        power: Option<PathBuf>, "FILE", "power.csv", { writes: true, absent: &[ONE_RUN, A_METHOD] };
        /// Draw power over time: FILE.png as PNG, any other as SVG
        power_plot: Option<PathBuf>, "FILE", "power.svg", { writes: true, absent: &[ONE_RUN, A_METHOD] };
        /// Write every statistic over time, and power, to a CSV file: a row for each interval of CYCLES core cycles; unrelated to sampled simulation
        sample: Option<Sample>, "CYCLES FILE", "1000,samples.csv", { writes: true, absent: &[ONE_RUN] };
        /// Core cycles between two points of power over time, which the JSON then holds too
        power_interval: Option<NonZeroU64>, "CYCLES", "500", { usual: Some("{}, if it is asked for"), usual_value: || POWER_INTERVAL.to_string(), absent: &[ONE_RUN] };
    }
    Timeline {
        /// Write the timeline of each instruction, cycle by cycle: FILE.json for Perfetto (ui.perfetto.dev), any other for Konata
        timeline: Option<Recorded>, "FILE", "lud.kanata", { writes: true, absent: &[ONE_RUN] };
        /// Core cycles that the timeline shows, counted from the start of the run, such as 5000..7000
        cycles: Option<Cycles>, "FROM..TO", "5000..7000", { usual: Some("{}, from the first CTA of the SM on"), usual_value: || TIMELINE_CYCLES.to_string(), needs: &["timeline"], python: Some("timeline_cycles"), absent: &[ONE_RUN] };
        /// SMs that the timeline shows
        sm: Vec<u16>, "A,B", "1", { default: Some("0"), python: Some("timeline_sms"), needs: &["timeline"], absent: &[ONE_RUN] };
        /// Warp slots that the timeline shows, such as 0..7
        warps: Option<Warps>, "FIRST..LAST", "0..7", { usual: Some("all"), needs: &["timeline"], python: Some("timeline_warps"), absent: &[ONE_RUN] };
        /// Kernels that the timeline or a profile shows: those with NAME in their names
        kernel: Option<String>, "NAME", "matmul", { usual: Some("all"), python: Some("timeline_kernel"), needs: &["timeline", "profile"], absent: &[&[(Way::Compare, "`--kernels` chooses the rows"), (Way::PythonCompare, "it is of one run: `warpwright.run` has it")]] };
    }
    Checkpoints {
        /// Write a checkpoint, from which the run can be resumed, when a kernel has ended and TIME (such as 60s, 10m, 0s for each kernel) has passed since the last one. FILE.kernels.jsonl gets the report of each kernel at once (`warpwright docs checkpoints`)
        checkpoint: Option<Every>, "every=TIME,file=FILE", "every=0s,file=bfs.checkpoint", { usual: Some("every={}s,file=WORKLOAD-GPU-CORE.checkpoint"), usual_value: || EVERY_TIME.as_secs().to_string(), absent: &[WHOLE_RUN] };
        /// Continue a run from its checkpoint; the report is the same as without interruption. Without WORKLOAD, the options of that run hold, and options given replace them
        resume: Option<PathBuf>, "FILE", "bfs.checkpoint", { absent: &[WHOLE_RUN] };
    }
    Output {
        /// Print the results as JSON, or write them to FILE
        json: Option<Destination>, "FILE", "report.json", { writes: true, absent: &[A_METHOD] };
        /// Print the results as a table of comma-separated values, or write it to FILE
        csv: Option<Destination>, "FILE", "report.csv", { writes: true, absent: &[A_METHOD] };
        /// Show what changed from a run whose report was written earlier with --json=FILE (`warpwright docs diagnosis`)
        baseline: Option<PathBuf>, "FILE", "before.json", { absent: &[&[(Way::Compare, "its first column is the baseline, or the one that `--over` names"), (Way::Exec, "it is of one run: `warpwright run` has it"), (Way::Python, "`against` of the result compares two runs"), (Way::PythonCompare, "its first column is the baseline, or the one that `over` names")]] };
        /// Write the results as a page to look at and to send: one HTML file that needs no other (`warpwright docs page`)
        html: Option<PathBuf>, "FILE", "report.html", { writes: true, absent: &[A_METHOD] };
        /// Write the results to this folder: report.txt and report.json; of a program also power.csv, with --power-interval; of a sweep also report.csv, report.html and a picture of each comparison as report-1.svg, report-1.png and so on
        out: Option<PathBuf>, "FOLDER", "results", { writes: true, is_of_sweeps: true, absent: &[&[(Way::Run, "--json, --csv, --html and --power name files"), (Way::Compare, "--json, --csv and --html name files")], A_METHOD] };
        /// Print neither progress nor results: only errors, and the JSON or CSV asked for
        quiet: bool, "", "1", { is_traced: true, short: Some('q'), absent: &[PROGRESS] };
        /// Which statistics the report shows
        stats: Always<Statistics>, "STATS", "all", { default: Some("summary"), absent: &[SHOWN_BY_COMPARISONS, A_METHOD] };
        /// List each launch, however many there are
        all_kernels: bool, "", "1", { absent: &[SHOWN_BY_COMPARISONS, A_METHOD] };
        /// Group the kernels of a program by what launched them (`warpwright docs ranges`)
        by: Option<By>, "WHAT", "nvtx", { absent: &[OF_PROGRAMS] };
        /// Show the launches of these kernels only, a row for each, in place of whole workloads
        kernels: Vec<String>, "A,B", "matmul", { absent: &[COMPARED] };
        /// While it runs, redraw a view of several lines on the terminal: CTAs, time left, warp instructions per cycle, SMs, issue slots
        watch: bool, "", "1", { absent: &[&[(Way::Compare, "a comparison shows how many of its runs have ended"), (Way::Exec, "the terminal is the program's")], PROGRESS] };
        /// Make the exit status 1 if a kernel was refused or faulted, a launch failed or the report is not whole, and the program's own status is 0
        strict: bool, "", "1", { absent: &[FAILURES] };
        /// Host threads, which runs at the same time share; results do not depend on them
        threads: Option<NonZeroUsize>, "NUMBER", "2", { short: Some('j'), aliases: &["jobs"], usual: Some("one per processor") };
        /// Run on one host thread, measure the parts of each window, and print how long the run would take on 2 to 64 threads
        scaling: bool, "", "1", { absent: &[&[(Way::Compare, "its runs share the host"), (Way::Exec, "the program shares the host"), (Way::Python, "it is printed"), (Way::PythonCompare, "its runs share the host")]] };
    }
}

/// The texts of an option, by its row.
pub type Texts = Vec<(&'static OptionRow, Vec<OsString>)>;

/// The option called `name`.
pub fn row(name: &str) -> Option<&'static OptionRow> {
    ROWS.iter().find(|row| row.name == name)
}

/// The words of a command line of `way` that give these options, by their names in the table.
///
/// # Panics
/// There is no such option.
pub fn words<const N: usize>(way: Way, given: [(&str, OsString); N]) -> Vec<OsString> {
    let words = |(name, text)| row(name).expect("an option of the table").words(way, &[text]);
    given.into_iter().flat_map(words).collect()
}

impl Options {
    /// As if nothing was given.
    pub fn new(way: Way) -> Self {
        let mut options = Self::empty(way);
        for row in ROWS {
            if let Some(default) = row.default_of(way) {
                options.field_mut(row).add(default.as_ref()).expect("a default is a value of its option");
            }
        }
        options
    }

    /// The options that `texts` give.
    ///
    /// # Errors
    /// A text is not a value of its option, `way` does not have an option, or two options exclude each other: all that
    /// is wrong; an option is called as `called` says.
    pub fn read(way: Way, texts: &Texts, called: &dyn Fn(&OptionRow) -> String) -> Result<Self, BadRequest> {
        let mut options = Self::new(way);
        let mut problems = Vec::new();
        for (row, texts) in texts {
            if let Some(reason) = row.reason(way) {
                problems.push(format!("{}: {} does not have it: {reason}", called(row), way.name()));
                continue;
            }
            let field = options.field_mut(row);
            field.clear();
            for text in texts {
                if let Err(why) = field.add(text).and_then(|()| row.check_bound(text)) {
                    problems.push(format!("{}: {why}", called(row)));
                }
            }
        }
        problems.extend(options.contradictions());
        if problems.is_empty() { Ok(options) } else { Err(BadRequest::new(problems.join("\n"))) }
    }

    /// The texts of the options that have values, defaults among them.
    pub fn texts(&self) -> Texts {
        let texts = |row: &'static OptionRow| (row, self.field(row).texts());
        ROWS.iter()
            .filter(|row| row.reason(self.way).is_none())
            .map(texts)
            .filter(|(_, texts)| !texts.is_empty())
            .collect()
    }

    /// The same with absolute paths: another process may run in another folder.
    ///
    /// # Errors
    /// The current folder is not known.
    pub fn absolute(mut self) -> io::Result<Self> {
        for row in ROWS {
            self.field_mut(row).absolute()?;
        }
        Ok(self)
    }

    /// Options that exclude each other.
    fn contradictions(&self) -> Vec<String> {
        let name = |name: &str| row(name).map_or_else(String::new, |row| row.called(self.way));
        let mut found = Vec::new();
        if self.max_registers.is_some() && self.registers.unwrap_or_default() == RegisterMode::Virtual {
            found.push(format!(
                "{} is for registers that are allocated: give {} allocated too",
                name("max_registers"),
                name("registers")
            ));
        }
        if self.scaling && self.threads.is_some() {
            found.push(format!("{} runs on one host thread: leave {} out", name("scaling"), name("threads")));
        }
        let printed = [("json", &self.json), ("csv", &self.csv)].into_iter();
        for (option, _) in printed.filter(|(_, to)| self.way == Way::Exec && **to == Some(Destination::Printed)) {
            found.push(format!("{}: name a file; standard output is the program's", name(option)));
        }
        let sample = self.sample.as_ref().map(|sample| sample.interval);
        if let Some((sample, power)) = sample.zip(self.power_interval).filter(|(sample, power)| sample != power) {
            found.push(format!(
                "{} {sample} and {} {power}: a run has one interval",
                name("sample"),
                name("power_interval")
            ));
        }
        found
    }

    /// The options that are given without one that they need, each with what to do.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let called = |name: &&str| self.called(name);
        let is_given = |row: &OptionRow| {
            let default: Option<OsString> = row.default_of(self.way).map(OsString::from);
            self.field(row).texts() != Vec::from_iter(default)
        };
        let is_there = |name: &&str| row(name).is_some_and(|row| !self.field(row).texts().is_empty());
        ROWS.iter()
            .filter(|row| !row.needs.is_empty() && is_given(row) && !row.needs.iter().any(&is_there))
            .map(|row| {
                let needs: Vec<String> = row.needs.iter().map(called).collect();
                format!("{} has no effect without {}: give it too", self.called(row.name), needs.join(" or "))
            })
            .collect()
    }

    /// Name of an option in messages to the one who asks.
    pub fn called(&self, name: &str) -> String {
        row(name).map_or_else(|| name.to_owned(), |row| row.called(self.way))
    }
}
