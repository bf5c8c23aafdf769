//! The causes of a run's time, and its changes from another run.

use super::terms::{count, flag, list, nullable, number, object, text};
use serde_json::Value;

/// A cause that can be removed.
fn cause() -> Value {
    object(
        "A cause that can be removed.",
        [
            ("rule", text("Name of the rule, as `warpwright docs diagnosis` has it.")),
            ("kernel", text("Name of the kernel; empty if the cause is of the whole run.")),
            ("sentence", text("The cause with its figures and its gain.")),
            ("remedy", text("Suggested change.")),
            ("instruction", nullable(text("The instruction, of a run with a profile."))),
            ("pc", nullable(count("Its place in the code, from 0.", ""))),
            ("file", nullable(text("File of its line."))),
            ("line", nullable(count("Its line, from 1.", ""))),
            ("saved_cycles", number("Cycles that the cause costs.", "core cycles")),
            ("times_faster", number("How many times as fast the kernel is without it.", "")),
            (
                "is_bound",
                flag("Whether these two are bounds; otherwise estimates by the slots that are lost to a latency."),
            ),
        ],
    )
}

/// Why a run took the time it took.
pub fn diagnosis() -> Value {
    let roof = object(
        "The share of a roof that the kernel used.",
        [("name", text("The roof.")), ("percent", number("Share in use over the kernel's cycles.", "%"))],
    );
    let kernel = object(
        "The roofs of a kernel.",
        [("kernel", text("Name of the kernel.")), ("roofs", list("Its roofs.", &roof))],
    );
    object(
        "Why the run took the time it took; absent for cores that are not SMs or have no time.",
        [
            ("limit", text("The roof that limits the longest kernel, or the reason of its waits.")),
            ("causes", list("Causes that can be removed, the greatest gain first.", &cause())),
            ("kernels", list("The roofs of the kernels that were looked at, the longest kernel first.", &kernel)),
        ],
    )
}

/// The changes from another run.
pub fn changes() -> Value {
    let figure = object(
        "A figure that differs.",
        [
            ("name", text("Name of the statistic or the roof.")),
            ("unit", text("Its unit.")),
            ("before", nullable(number("In the run before.", ""))),
            ("after", nullable(number("In the run after.", ""))),
        ],
    );
    let named = object(
        "A part of the machine that differs.",
        [
            ("name", text("`gpu`, `core`, `scheduler` or `settings`.")),
            ("before", text("In the run before.")),
            ("after", text("In the run after.")),
        ],
    );
    let cycles = || number("Its part of the change in cycles; negative if there are fewer.", "core cycles");
    let slots = object(
        "Issue slots of a reason, or those that issued.",
        [
            ("reason", text("`issued`, or the reason of empty slots.")),
            ("before", count("Slots in the run before.", "issue slots")),
            ("after", count("Slots in the run after.", "issue slots")),
            ("cycles", cycles()),
        ],
    );
    let spot = || {
        nullable(object(
            "The line in a version; null if it is not there.",
            [
                ("file", nullable(text("File of the line, without folders; null for an instruction."))),
                ("number", count("Line from 1, or the place of the instruction in the code, from 0.", "")),
                ("slots", count("Issue slots that it took.", "issue slots")),
                ("issued", count("Warp instructions that it issued.", "warp instructions")),
                ("waits_for", nullable(text("The reason of most slots in which it waited."))),
            ],
        ))
    };
    let line = object(
        "A line whose issue slots differ; an instruction if the code has no lines.",
        [("text", text("Its text.")), ("before", spot()), ("after", spot()), ("cycles", cycles())],
    );
    let kernel = object(
        "A kernel in both runs, or in one.",
        [
            ("name", text("Its name.")),
            ("name_before", nullable(text("Its name in the run before, if it was another one."))),
            ("cycles_before", nullable(number("Cycles of its launches in the run before.", "core cycles"))),
            ("cycles_after", nullable(number("Cycles of its launches in the run after.", "core cycles"))),
            ("lines", list("Lines whose slots differ, the greatest change first, if both runs were profiled.", &line)),
        ],
    );
    object(
        "The changes from another run, the baseline.",
        [
            ("baseline", text("The file, or the column, that is the baseline.")),
            ("is_equal", flag("Whether every statistic is equal.")),
            ("times_faster", nullable(number("Time of kernels before over the time after.", ""))),
            ("machine", list("Differences of the machine.", &named)),
            ("figures", list("Main statistics that differ.", &figure)),
            ("issue_slots", list("Issue slots that account for the change in cycles, the greatest first.", &slots)),
            ("kernels", list("Kernels, the greatest change first.", &kernel)),
            ("roofs", list("Shares of the roofs of the longest kernel that differ.", &figure)),
            ("causes_gone", list("Causes that only the baseline has.", &cause())),
            ("causes_new", list("Causes that only this run has.", &cause())),
        ],
    )
}
