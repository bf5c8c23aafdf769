//! Lists of choices.

use super::terms::{count, list, number, object, text};
use serde_json::Value;

fn named() -> Value {
    object("A thing with a name.", [("name", text("Name on the command line.")), ("description", text("Description."))])
}

fn parameter() -> Value {
    object(
        "A parameter of a core design or a warp scheduler.",
        [
            ("name", text("Name.")),
            ("description", text("Meaning of the setting, with its unit.")),
            ("accepts", text("Values that it takes, in words.")),
            ("default", text("Its value if it is not given.")),
        ],
    )
}

fn published() -> Value {
    let figure = object(
        "A published area or power beside ours.",
        [
            ("what", text("The quantity.")),
            ("unit", text("Unit of both figures.")),
            ("published", number("The paper's figure, in `unit`.", "")),
            ("ours", number("Ours in the paper's process, in `unit`.", "")),
            ("source", text("Where it is from.")),
        ],
    );
    list("Published figures with ours.", &figure)
}

/// The area of a core that is not an SM.
pub fn area() -> Value {
    let part = object(
        "A part of the core, all instances together.",
        [
            ("name", text("Description.")),
            ("charged_to", text("Component that its energy is charged to.")),
            ("instances", count("Number of instances.", "")),
            ("bits", count("Bits that it stores in all.", "bits")),
            ("area_um2", number("Area.", "um2")),
            ("leakage_nw", number("Leakage beyond the static power of the GPU's cores.", "nW")),
            ("source", text("Where its area is from.")),
        ],
    );
    object(
        "Area of a core that is not an SM.",
        [
            ("node_nm", number("Process of the GPU.", "nm")),
            ("volts", number("Supply voltage.", "V")),
            ("die_mm2", number("Area of the die.", "mm2")),
            ("cores", count("Cores of the GPU.", "cores")),
            ("area_mm2", number("Area of a core.", "mm2")),
            ("parts", list("Parts of a core.", &part)),
            ("notes", list("Notes on its sizes.", &text("A note."))),
            ("published?", published()),
        ],
    )
}

pub(super) fn core() -> Value {
    let structure = object(
        "A hardware structure in an SM.",
        [
            ("name", text("Description.")),
            ("instances", count("Number of instances.", "")),
            ("entries", count("Entries of an instance.", "entries")),
            ("bits", count("Bits of an entry.", "bits")),
            ("read_ports", count("Entries that can be read in a cycle.", "ports")),
            ("write_ports", count("Entries that can be written in a cycle.", "ports")),
            ("compared_bits", count("Bits that can be compared in a cycle.", "bits")),
            ("total_bits", count("Bits in an SM.", "bits")),
            ("area_um2?", number("Area in an SM.", "um2")),
            ("leakage_uw?", number("Leakage in an SM.", "uW")),
            ("read_pj?", number("Energy of reading an entry.", "pJ")),
            ("write_pj?", number("Energy of writing an entry.", "pJ")),
            ("search_pj?", number("Energy of using its comparators or its matrix.", "pJ")),
        ],
    );
    let sum = |description: &str| {
        object(
            description,
            [
                ("area_um2", number("Area in an SM.", "um2")),
                ("die_percent", number("Share of all SMs' in the die.", "%")),
                ("leakage_uw", number("Leakage in an SM.", "uW")),
                ("instruction_pj", number("Energy of a warp instruction with two sources and a result.", "pJ")),
                ("clock_pj", number("Energy of a cycle of all clocks without gating.", "pJ")),
            ],
        )
    };
    let cost = object(
        "Cost of the structures.",
        [
            ("node_nm", number("Process of the GPU.", "nm")),
            ("volts", number("Supply voltage.", "V")),
            ("die_mm2", number("Area of the die.", "mm2")),
            ("sms", count("SMs of the GPU.", "SMs")),
            ("all", sum("All structures.")),
            ("beyond_in_order", sum("Cost beyond the in-order core's structures.")),
            ("published?", published()),
        ],
    );
    object(
        "A core design.",
        [
            ("name", text("Name on the command line.")),
            ("description", text("Description.")),
            ("stands_for?", text("The design and parameters that it is a short name of.")),
            ("parameters", list("Parameters.", &parameter())),
            ("structures?", list("Hardware structures of an SM.", &structure)),
            ("cost?", cost),
            ("area?", area()),
        ],
    )
}

fn workload() -> Value {
    let parameter = object(
        "A parameter of the workload.",
        [
            ("name", text("Name on the command line.")),
            ("description", text("Meaning of the parameter.")),
            ("small", count("Value at size small.", "")),
            ("medium", count("Value at size medium.", "")),
            ("large", count("Value at size large.", "")),
            ("min", count("Least value.", "")),
            ("max", count("Greatest value.", "")),
            ("multiple_of", count("The value must be a multiple of this.", "")),
        ],
    );
    let on_fabric = object(
        "A kernel on the fabric of sgmf.",
        [
            ("kernel", text("Name of the kernel.")),
            ("outcome", text("whole, in N parts, or refused.")),
            ("reasons?", text("Why it is in parts or refused.")),
        ],
    );
    let in_paper = object(
        "A paper that evaluates the program.",
        [
            ("paper", text("The paper, as its machine is called: war of papers/war.")),
            ("name", text("The program's name there.")),
        ],
    );
    object(
        "A bundled workload.",
        [
            ("name", text("Name on the command line.")),
            ("description", text("Computation.")),
            ("character", text("Feature that makes it interesting.")),
            ("suite", text("Benchmark suite whose program it follows, or own.")),
            ("papers", list("Papers that evaluate the program.", &in_paper)),
            ("parameters", list("Its parameters.", &parameter)),
            ("sgmf", list("Its kernels on the fabric of sgmf.", &on_fabric)),
        ],
    )
}

/// `list`.
pub fn lists() -> Value {
    let gpu = object(
        "A GPU description.",
        [
            ("name", text("Name on the command line.")),
            ("description", text("Description.")),
            ("kind", text("Whether it describes hardware, Accel-Sim's description of it, or a paper's machine.")),
        ],
    );
    let scheduler = object(
        "A warp scheduler.",
        [
            ("name", text("Name on the command line.")),
            ("description", text("Description.")),
            ("parameters?", list("Parameters.", &parameter())),
        ],
    );
    let stat = object(
        "A statistic of reports.",
        [
            ("name", text("Name in `total` and `statistics`.")),
            ("unit", text("Its unit.")),
            ("description", text("Meaning.")),
        ],
    );
    let setting = object(
        "A key of a GPU description.",
        [
            ("key", text("Dotted path, as for --set.")),
            ("unit", text("Unit; empty for choices and switches.")),
            ("values", text("Values that it takes, in words.")),
            ("description", text("Meaning.")),
        ],
    );
    object(
        "The lists asked for.",
        [
            ("gpus?", list("GPU descriptions.", &gpu)),
            ("cores?", list("Core designs.", &core())),
            ("core_choices?", list("Choices that may follow the name of a core design.", &named())),
            ("scalar_parameters?", list("Parameters of a scalar path.", &parameter())),
            ("schedulers?", list("Warp schedulers.", &scheduler)),
            ("workloads?", list("Bundled workloads.", &workload())),
            ("figures?", list("Experiments of papers.", &named())),
            ("stats?", list("Statistics.", &stat)),
            ("settings?", list("Keys of GPU descriptions.", &setting)),
        ],
    )
}
