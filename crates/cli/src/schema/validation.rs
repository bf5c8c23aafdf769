//! The model beside hardware and other simulators.

use super::terms::{count, flag, list, map, nullable, number, object, text, version, word};
use serde_json::{Value, json};

/// `microbench` and `validate GPU`: of a GPU, of several, or the list of quantities.
pub fn microbench() -> Value {
    let figure = object(
        "A figure of hardware.",
        [
            ("gpu", text("The GPU measured or described.")),
            ("low", number("Lowest value published, in the row's unit.", "")),
            ("high", number("Highest value published, in the row's unit.", "")),
            ("source", text("Where it is from.")),
            ("note", text("Remark.")),
        ],
    );
    let found = || {
        nullable(object(
            "The model's figure.",
            [
                ("value", number("The figure, in the row's unit.", "")),
                ("deviation_percent", nullable(number("Deviation from the nearest published value.", "%"))),
                ("verdict", nullable(word("Verdict on the deviation.", &["within 10 %", "within 30 %", "beyond"]))),
                ("given", nullable(flag("A number of the description that sets it has the published value's source."))),
            ],
        ))
    };
    let row = object(
        "A quantity.",
        [
            ("gpu", text("Name of the GPU description.")),
            ("quantity", text("Name of the quantity.")),
            ("group", text("Group of the quantity.")),
            ("unit", text("Unit of all figures of the row.")),
            ("published", nullable(figure)),
            ("ptx", found()),
            ("machine_code", found()),
            ("reason", nullable(text("Why it deviates."))),
        ],
    );
    let summary = || {
        nullable(object(
            "How many rows are how near.",
            [
                ("rows", count("Rows with a published value.", "rows")),
                ("within_10_percent", count("Of these within 10 %.", "rows")),
                ("within_30_percent", count("Of these within 30 %.", "rows")),
                ("beyond_with_reason", count("Of those beyond 30 % the ones with a stated reason.", "rows")),
                ("predicted_rows", count("Rows whose value is a prediction, not given by the same source.", "rows")),
                ("predicted_within_10_percent", count("Of these within 10 %.", "rows")),
                ("predicted_within_30_percent", count("Of these within 30 %.", "rows")),
            ],
        ))
    };
    let keys = || {
        [
            ("gpu", text("Name of the GPU description.")),
            ("rows", list("Quantities.", &row)),
            ("ptx", summary()),
            ("machine_code", summary()),
        ]
    };
    let quantity = object(
        "A quantity that can be measured.",
        [
            ("name", text("Name, as --only takes it.")),
            ("unit", text("Its unit.")),
            ("description", text("Description.")),
        ],
    );
    json!({ "anyOf": [
        object("A GPU.", keys()),
        object("Several GPUs.", [("gpus", list("Tables.", &object("A GPU.", keys())))]),
        object("With --list.", [("quantities", list("Quantities.", &quantity))]),
    ] })
}

/// `validate accelsim`.
pub fn accelsim() -> Value {
    let row = || {
        object(
            "Accel-Sim's figures.",
            [
                ("trace", text("Name of the trace.")),
                ("config", text("Name of Accel-Sim's configuration.")),
                ("cycles", count("Cycles, launch latencies included.", "core cycles")),
                ("warp_instructions", count("Instructions issued by warps.", "warp instructions")),
                ("thread_instructions", count("Instructions executed by threads.", "thread instructions")),
                ("seconds", number("Run time.", "s")),
                ("memory_mib", number("Memory.", "MiB")),
                ("kernel_cycles", list("Of each kernel.", &count("Cycles.", "core cycles"))),
            ],
        )
    };
    let kernel = json!({ "type": "array", "description": "Name and cycles of a kernel.", "prefixItems": [text("Name."), count("Cycles.", "core cycles")], "minItems": 2, "maxItems": 2 });
    let ours = object(
        "Our figures.",
        [
            ("cycles", count("Cycles, launch latencies included.", "core cycles")),
            ("warp_instructions", count("Instructions issued by warps.", "warp instructions")),
            ("thread_instructions", count("Instructions executed by threads.", "thread instructions")),
            ("seconds", number("Run time.", "s")),
            ("memory_mib", nullable(number("Maximum memory held.", "MiB"))),
            ("kernels", list("Of each kernel.", &kernel)),
        ],
    );
    let compared = object(
        "A trace.",
        [
            ("accelsim", row()),
            ("ours", ours),
            ("deviation_percent", number("Deviation of our cycles from Accel-Sim's.", "%")),
            ("same_instructions", flag("Both executed the same number of instructions.")),
            ("speed_ratio", number("Accel-Sim's run time over ours.", "ratio")),
        ],
    );
    let failed = object("A row without figures of ours.", [("accelsim", row()), ("reason", text("Why."))]);
    let summary = object(
        "Means and extremes over rows.",
        [
            ("rows", count("Rows.", "rows")),
            ("mean_deviation_percent", number("Mean of the magnitudes of the deviations.", "%")),
            ("greatest_deviation_percent", number("The greatest magnitude.", "%")),
            ("least_speed_ratio", number("The least speed ratio.", "ratio")),
            ("mean_speed_ratio", number("Geometric mean of the speed ratios.", "ratio")),
            ("less_memory", nullable(flag("Every row takes less memory than in Accel-Sim."))),
        ],
    );
    object(
        "Traces beside Accel-Sim's.",
        [
            ("schema", version()),
            ("rows", list("Traces.", &compared)),
            ("failed", list("Traces without figures of ours.", &failed)),
            ("summary", nullable(summary)),
        ],
    )
}

/// `validate accelwattch`.
pub fn accelwattch() -> Value {
    let watts = |description: &str| number(description, "W");
    let percent = |description: &str| number(description, "%");
    let part = object(
        "A component.",
        [
            ("part", text("Name of the component.")),
            ("published_watts", watts("AccelWattch's power.")),
            ("ours_watts", watts("Our model's from the same counts.")),
        ],
    );
    let kernel = object(
        "A kernel.",
        [
            ("kernel", text("Name of the kernel.")),
            ("published_watts", watts("AccelWattch's power.")),
            ("ours_watts", watts("Our model's from the same counts.")),
            ("measured_watts", watts("Power of the board.")),
            ("parts", list("Components.", &part)),
        ],
    );
    let summary = object(
        "Means of the magnitudes of relative errors.",
        [
            ("kernels", count("Kernels.", "kernels")),
            ("ours_from_published_percent", percent("Ours from AccelWattch's.")),
            ("published_from_measured_percent", percent("AccelWattch's from measured power.")),
            ("ours_from_measured_percent", percent("Ours from measured power.")),
            (
                "counted_from_published_percent",
                percent("Sum of the parts that are computed from counts, from AccelWattch's."),
            ),
            ("counted_share_percent", percent("Share of power that is computed from counts.")),
            ("taken_share_percent", percent("Share of power that is taken as published.")),
        ],
    );
    let of_counts = object(
        "Kernels of AccelWattch's artifact.",
        [("schema", version()), ("kernels", list("Kernels.", &kernel)), ("summary", summary)],
    );
    let run = object(
        "A kernel that was run.",
        [
            ("kernel", text("Name of the kernel.")),
            ("measured_watts", watts("Power of the board.")),
            ("hardware_variant_watts", nullable(watts("AccelWattch's power from hardware counters."))),
            ("simulated_variant_watts", watts("AccelWattch's power from Accel-Sim.")),
            ("ours_watts", watts("Power of our run.")),
            ("cycles", number("Cycles of the launch, launch latency included.", "core cycles")),
        ],
    );
    let left_out = object(
        "A kernel without a figure of ours.",
        [("kernel", text("Name of the kernel.")), ("reason", text("Why."))],
    );
    let of_runs = object(
        "With --rerun: power of runs.",
        [
            ("schema", version()),
            ("gpu", text("Our GPU description.")),
            ("core", text("Core design.")),
            ("energy_model", text("Coefficients.")),
            ("runs", list("Kernels.", &run)),
            ("left_out", list("Kernels without a figure of ours.", &left_out)),
            ("ours", agreement("Ours with measured power.")),
            ("hardware_variant", agreement("AccelWattch's from hardware counters with measured power.")),
            ("simulated_variant", agreement("AccelWattch's from Accel-Sim with measured power.")),
        ],
    );
    json!({ "anyOf": [of_counts, of_runs] })
}

fn agreement(description: &str) -> Value {
    object(
        description,
        [
            ("runs", count("Runs that it is over.", "runs")),
            ("mean_error_percent", number("Mean of the absolute deviations.", "%")),
            ("median_error_percent", number("Their median.", "%")),
            ("p90_error_percent", number("Nine tenths of them are at most this.", "%")),
            ("signed_mean_percent", number("Mean of the deviations with their signs.", "%")),
            ("correlation", nullable(number("Pearson's correlation.", ""))),
            ("log_correlation", nullable(number("The same of the logarithms.", ""))),
        ],
    )
}

/// `validate hardware`.
pub fn hardware() -> Value {
    json!({ "anyOf": [beside_a_gpu(), of_own_table()] })
}

fn agreement_with_gpu() -> Value {
    agreement("Agreement with the GPU.")
}

/// The applications whose cycles on a GPU are part of the product.
fn beside_a_gpu() -> Value {
    let row = object(
        "A run.",
        [
            ("suite", text("Suite of the program.")),
            ("name", text("Program and input.")),
            ("input", text("Where the input is from.")),
            ("hardware", count("Cycles on the GPU.", "core cycles")),
            ("ours", count("Cycles of ours.", "core cycles")),
            ("accelsim", count("Accel-Sim's published cycles.", "core cycles")),
            ("kernels", count("Cycles of ours without launches.", "core cycles")),
            (
                "launching",
                count("Cycles of launches before their first CTAs in the GPU's and Accel-Sim's.", "core cycles"),
            ),
            ("error_percent", number("Deviation of ours from the GPU's.", "%")),
            ("accelsim_error_percent", number("Deviation of Accel-Sim's from the GPU's.", "%")),
            ("kernels_error_percent", nullable(number("The same without launches.", "%"))),
            ("older", nullable(text("Commit of our cycles where the model has changed since."))),
            ("cause", nullable(text("Why ours is an outlier."))),
        ],
    );
    let share = || {
        object(
            "A suite, or all applications.",
            [
                ("suite", text("Name.")),
                ("ours", agreement_with_gpu()),
                ("accelsim", agreement_with_gpu()),
                ("ours_of_kernels", agreement_with_gpu()),
                ("accelsim_of_kernels", agreement_with_gpu()),
            ],
        )
    };
    let left_out = object(
        "A run without a figure of ours.",
        [("suite", text("Suite of the program.")), ("name", text("Program and input.")), ("reason", text("Why."))],
    );
    let older = object(
        "A figure of the table that is older than the model.",
        [
            ("suite", text("Suite of the program.")),
            ("name", text("Program and input.")),
            ("recorded", count("Cycles without launches, in the table.", "core cycles")),
            ("now", count("The same of this build.", "core cycles")),
        ],
    );
    let rerun = object(
        "With --rerun, which runs were repeated.",
        [
            ("repeated", count("Runs with a figure in the table.", "runs")),
            ("older", list("Of these, runs with other cycles than the table has.", &older)),
        ],
    );
    object(
        "Applications beside a GPU.",
        [
            ("schema", version()),
            (
                "hardware",
                object(
                    "Where the GPU's figures are from.",
                    [
                        ("gpu", text("The GPU.")),
                        ("clock_mhz", number("Its clock.", "MHz")),
                        ("profiler", text("Profiler that counted its cycles.")),
                        ("launch_cycles", count("Cycles of a launch before its first CTA.", "core cycles")),
                        ("launch_source", text("Where that is from.")),
                        ("source", text("Where the cycles are from.")),
                    ],
                ),
            ),
            ("gpu", text("Our GPU description.")),
            (
                "measured",
                object(
                    "The build that our figures are of.",
                    [
                        ("core", text("Core design.")),
                        ("profiled_as", text("Profiler whose way of running kernels was imitated.")),
                        ("launch_cycles", count("Cycles of a launch in ours.", "core cycles")),
                        ("version", text("Version of Warpwright.")),
                        ("commit", text("Its commit.")),
                        ("date", text("Day of the last run.")),
                        ("sample", map("Cycles of workloads in that build.", &count("Cycles.", "core cycles"))),
                    ],
                ),
            ),
            ("rows", list("Runs.", &row)),
            ("suites", list("Agreement by suite.", &share())),
            ("applications", share()),
            ("left_out", list("Runs without a figure of ours.", &left_out)),
            ("rerun", nullable(rerun)),
        ],
    )
}

/// A table of the user's.
fn of_own_table() -> Value {
    let row = object(
        "A kernel of a run.",
        [
            ("suite", text("Suite of the program.")),
            ("program", text("Name of the executable.")),
            ("arguments", text("Its command line.")),
            ("kernel", text("Name of the kernel; empty for all of the run.")),
            ("counter", text("Profiler or counter of the cycles.")),
            ("profiled_as", word("Profiler that was imitated.", &["ncu", "nvprof"])),
            ("hardware", number("Measured cycles of all launches.", "core cycles")),
            ("launches", count("Launches in ours.", "launches")),
            ("ours", count("Cycles of ours, with launches.", "core cycles")),
            ("kernels", count("Cycles of ours without launches.", "core cycles")),
            ("error_percent", number("Deviation of ours.", "%")),
            ("kernels_error_percent", nullable(number("The same without launches.", "%"))),
        ],
    );
    let share = || {
        object(
            "A suite, or all rows.",
            [("suite", text("Name.")), ("ours", agreement_with_gpu()), ("ours_of_kernels", agreement_with_gpu())],
        )
    };
    let not_compared = object(
        "A row without figures of ours.",
        [
            ("program", text("Name of the executable.")),
            ("arguments", text("Its command line.")),
            ("kernel", text("Name of the kernel.")),
            ("reason", text("Why.")),
        ],
    );
    object(
        "With --measured: the table beside ours.",
        [
            ("schema", version()),
            ("gpu", text("Our GPU description.")),
            ("core", text("Core design.")),
            ("rows", list("Kernels of runs.", &row)),
            ("suites", list("Agreement by suite.", &share())),
            ("all", share()),
            ("not_compared", list("Rows without figures of ours.", &not_compared)),
        ],
    )
}
