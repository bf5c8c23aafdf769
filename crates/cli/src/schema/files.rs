//! Files of PTX and machine code, and kernels on a fabric.

use super::terms::{count, dimensions, flag, list, map, nullable, object, text, word};
use serde_json::{Value, json};

/// `inspect`: of PTX, of machine code, or with `--fabric`.
pub fn inspect() -> Value {
    json!({ "anyOf": [ptx(), code(), fabric()] })
}

fn entries() -> Value {
    let entry = object(
        "An entry of a fat binary.",
        [
            ("kind", word("Kind of file.", &["cubin", "ptx", "other"])),
            ("architecture", text("Architecture, as sm_75.")),
            ("compressed", flag("Its contents are compressed.")),
            ("shown", flag("It is the one that is shown.")),
            ("readable", flag("Code of its architecture can be read.")),
        ],
    );
    list("Entries of a fat binary.", &entry)
}

fn variable() -> Value {
    object(
        "A variable or a parameter.",
        [
            ("name", text("Name.")),
            ("space", text("State space.")),
            ("ty", text("Type of an element.")),
            ("bytes", nullable(count("Size; null if the launch or another module decides.", "bytes"))),
        ],
    )
}

fn mix(description: &str) -> Value {
    map(description, &count("How often it occurs.", "instructions"))
}

fn source_name() -> Value {
    nullable(text("Name in the source, where the other is mangled."))
}

fn remarks(description: &str) -> Value {
    let remark = object(
        "A remark on a line.",
        [
            ("severity", word("How bad it is.", &["error", "warning", "note"])),
            ("line", count("Line, from 1.", "")),
            ("column", count("Column, from 1.", "")),
            ("message", text("Message.")),
            ("hint", nullable(text("Remedy for the author of the file."))),
        ],
    );
    list(description, &remark)
}

fn ptx() -> Value {
    let allocation = object(
        "The result of register allocation.",
        [
            ("mode", text("allocated or hazard-free.")),
            ("registers_per_thread", nullable(count("Registers; null if it does not fit.", "registers"))),
            ("spilled_words", count("Words kept in local memory.", "words")),
            ("recomputed_words", count("Words computed again where they are used.", "words")),
            ("spilled_predicates", count("Predicates kept in registers.", "predicates")),
            ("fences", count("Instructions that only wait.", "instructions")),
        ],
    );
    let executable = object(
        "Facts of a kernel that can be executed.",
        [
            ("instructions", count("Instructions, called functions included.", "instructions")),
            ("registers_per_thread", count("Registers per thread, estimated from liveness.", "registers")),
            ("allocations", list("Register allocation in each mode.", &allocation)),
            ("shared_bytes", count("Static shared memory per CTA.", "bytes")),
            ("local_bytes", count("Local memory per thread.", "bytes")),
            ("parameter_bytes", count("Parameters.", "bytes")),
            ("max_threads", nullable(count("Maximum number of threads per CTA.", "threads"))),
            ("required_threads?", dimensions("Threads per CTA that the file fixes.", "threads")),
            ("classes", mix("Instructions by operation class.")),
        ],
    );
    let kernel = object(
        "A kernel.",
        [
            ("name", text("Name in the file.")),
            ("source_name", source_name()),
            ("line", count("Line of its header.", "")),
            ("parameters", list("Parameters.", &variable())),
            ("instructions", count("Instructions in its body.", "instructions")),
            ("virtual_registers", map("Virtual registers by type.", &count("Number declared.", "registers"))),
            ("declared_shared_bytes", count("Shared memory that its body declares.", "bytes")),
            ("declared_local_bytes", count("Local memory per thread that its body declares.", "bytes")),
            ("opcodes", mix("Instructions by opcode.")),
            ("executable", nullable(executable)),
            ("not_executable", remarks("Instructions and features that cannot be executed.")),
        ],
    );
    object(
        "A file of PTX.",
        [
            ("file", text("As the user named it.")),
            ("entries?", entries()),
            ("version", text("PTX ISA version.")),
            ("target", list("Architecture and options.", &text("A word."))),
            ("address_bits", count("32 or 64.", "bits")),
            ("variables", list("Variables.", &variable())),
            ("kernels", list("Kernels.", &kernel)),
            ("functions", list("Device functions with a body.", &text("Name."))),
            ("diagnostics", remarks("Findings of the parser.")),
            ("has_errors", flag("There are errors: the kernels are what could be understood.")),
        ],
    )
}

fn early_read() -> Value {
    object(
        "A read of a register that comes too early.",
        [
            ("writer", count("Index of the instruction that makes the value.", "")),
            ("writer_text", text("Its text.")),
            ("reader", count("Index of the instruction that reads it.", "")),
            ("reader_text", text("Its text.")),
            ("distance", count("From issue to issue by the stall counts.", "cycles")),
            ("needed", nullable(count("The least distance by the latencies; null: nothing waits.", "cycles"))),
            ("reason", nullable(text("Why the latency is not exact there, if that is known."))),
        ],
    )
}

fn code() -> Value {
    let bank = || {
        let bank =
            object("A constant bank.", [("bank", count("Its number.", "")), ("bytes", count("Its size.", "bytes"))]);
        list("Constant banks.", &bank)
    };
    let parameter = object(
        "A parameter.",
        [
            ("bank_offset", count("Offset in constant bank 0.", "bytes")),
            ("offset", count("Offset from the first parameter.", "bytes")),
            ("bytes", count("Its size.", "bytes")),
        ],
    );
    let obstacle = object(
        "Something that is not executable.",
        [
            ("address", nullable(count("Byte address in the function.", ""))),
            ("message", text("The instruction and why.")),
        ],
    );
    let numbers = |description: &str| list(description, &count("Number.", ""));
    let line = object(
        "An instruction.",
        [
            ("address", count("Byte address in the function.", "")),
            ("text", nullable(text("As NVIDIA's disassembler writes it."))),
            ("word", numbers("Upper and lower half.")),
            ("stall_cycles", count("Cycles until the warp's next instruction may issue.", "core cycles")),
            ("yields", flag("The scheduler prefers another warp next.")),
            ("write_barrier", nullable(count("Scoreboard set when the results are written.", ""))),
            ("read_barrier", nullable(count("Scoreboard set when the sources are read.", ""))),
            ("waits_for", numbers("Scoreboards that it waits for.")),
            ("reuse", numbers("Source slots that the operand cache keeps.")),
        ],
    );
    let kernel = object(
        "A kernel.",
        [
            ("name", text("Name in the file.")),
            ("source_name", source_name()),
            ("instructions", count("Instructions.", "instructions")),
            ("registers_per_thread", count("Registers per thread.", "registers")),
            ("shared_bytes", count("Static shared memory per CTA.", "bytes")),
            ("frame_bytes", count("Stack frame per thread.", "bytes")),
            ("stack_bytes", count("Stack per thread that it needs at least.", "bytes")),
            ("barriers", count("CTA barriers.", "barriers")),
            ("max_threads", nullable(dimensions("Maximum number of threads per CTA.", "threads"))),
            ("required_threads?", dimensions("Threads per CTA that the file fixes.", "threads")),
            ("parameters", list("Parameters.", &parameter)),
            ("constant_banks", bank()),
            ("opcodes", mix("Instructions by opcode.")),
            ("executable", flag("All its instructions can be executed.")),
            ("classes", nullable(mix("Instructions by operation class."))),
            ("not_executable", list("Instructions and features that cannot be executed.", &obstacle)),
            ("early_reads?", list("Reads that come too early by a GPU's latencies.", &early_read())),
            ("stalls_without_yield?", count("Stall counts above 11 without a yield.", "instructions")),
            ("code?", list("Its instructions.", &line)),
        ],
    );
    object(
        "A file of machine code.",
        [
            ("file", text("As the user named it.")),
            ("entries", entries()),
            ("architecture", text("Architecture, as sm_75.")),
            ("variables", list("Variables with a name.", &variable())),
            ("constant_banks", bank()),
            ("kernels", list("Kernels.", &kernel)),
            ("functions", list("Functions that cannot be launched.", &text("Name."))),
        ],
    )
}

fn fabric() -> Value {
    let units = |description: &str| map(description, &count("Units.", "units"));
    let part = object(
        "A graph of the kernel.",
        [
            ("region", count("Region of the kernel.", "")),
            ("line", count("Line of its first instruction.", "")),
            ("after_barrier", flag("It begins after a barrier.")),
            ("next", text("Where its threads continue.")),
            ("copies", count("Copies side by side.", "copies")),
            ("nodes", count("Nodes of all copies.", "nodes")),
            ("units", units("Units by kind, of all copies.")),
            ("delays", count("Nodes that delay a token, of all copies.", "nodes")),
            ("unbalanced_ports", count("Ports of a copy whose tokens arrive at different times.", "ports")),
            ("critical_path", count("Firings on the longest path.", "firings")),
            ("wire_length", count("Sum of the shortest routes.", "links")),
            ("links", count("Links that its routes take.", "links")),
            ("failed_placements", count("Placements that could not be routed.", "placements")),
            ("configuration_bits", count("Bits of configuration.", "bits")),
            ("live_loads", count("Live values that a thread loads.", "values")),
            ("live_stores", count("Live values that a thread stores.", "values")),
            ("live_bytes", count("Bytes of both.", "bytes")),
        ],
    );
    let cut = object(
        "A region that was cut.",
        [
            ("region", count("Region of the kernel.", "")),
            ("line", count("Line of its first instruction.", "")),
            ("parts", count("Parts that it was cut into.", "parts")),
            ("reasons", list("Reasons that concern the whole region.", &text("A reason."))),
            ("stores", count("Live values that a thread stores because of the cuts.", "values")),
            ("loads", count("Live values that a thread loads because of the cuts.", "values")),
            ("bytes", count("Bytes of both.", "bytes")),
        ],
    );
    let mapped = object(
        "Use of the fabric by the kernel.",
        [
            ("parts", list("Graphs in the order of their configuration.", &part)),
            ("cuts", list("Regions that were cut.", &cut)),
            ("uniform_values", count("Values that all threads share.", "values")),
            ("live_values", count("Values kept in memory between graphs.", "values")),
            ("live_bytes", count("Their bytes a thread.", "bytes")),
        ],
    );
    let reason = object(
        "Why it cannot be mapped.",
        [
            ("line", nullable(count("Line in the file.", ""))),
            ("instruction", nullable(text("The instruction."))),
            ("message", text("The reason.")),
        ],
    );
    let kernel = object(
        "A kernel.",
        [
            ("name", text("Name in the file.")),
            ("source_name", source_name()),
            ("mapped", nullable(mapped)),
            ("reasons", list("All reasons why it cannot be mapped.", &reason)),
        ],
    );
    object(
        "Kernels on a fabric.",
        [
            ("file", text("As the user named it.")),
            ("core", text("Core with the fabric.")),
            ("columns", count("Columns of the grid of units.", "columns")),
            ("rows", count("Rows of the grid of units.", "rows")),
            ("units", units("Units of the fabric by kind.")),
            ("links", count("Links of the fabric.", "links")),
            ("kernels", list("Kernels.", &kernel)),
        ],
    )
}
