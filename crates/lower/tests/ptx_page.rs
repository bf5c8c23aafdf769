//! `docs/ptx.md` lists the forms of PTX instructions in the table of [`ptx::isa`] and which of them can be
//! executed. Renew it with `BLESS=1`.

use lower::{LowerOptions, NEWEST_GPU, load};
use ptx::isa::{DECLARATIONS, Form, Item, Needs, Spelling, forms};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The opcode; im2col of one dimension, which does not exist, as of three: not every pair of modifiers is spelled.
fn possible(opcode: &str) -> String {
    if opcode.contains(".im2col") { opcode.replacen(".1d.", ".3d.", 1) } else { opcode.to_owned() }
}

/// The operands of a spelling, also of forms of tensors, which the table leaves open.
fn operands(spelling: &Spelling) -> Option<String> {
    if let Some(operands) = &spelling.operands {
        return Some(operands.join(", "));
    }
    let opcode = possible(&spelling.opcode);
    let has = |modifier: &str| opcode.split('.').any(|part| part == modifier);
    if let Some(replace) = opcode.strip_prefix("tensormap.replace.tile.") {
        let field = replace.split('.').next()?;
        let place = if has("shared::cta") { "[sv]" } else { "[%u64_1]" };
        return Some(match field {
            "global_address" => format!("{place}, %b64_1"),
            "global_stride" => format!("{place}, 1, %b64_1"),
            "box_dim" | "global_dim" | "element_stride" => format!("{place}, 1, %b32_1"),
            "rank" => format!("{place}, %b32_1"),
            _ => format!("{place}, 1"),
        });
    }
    if opcode.starts_with("tensormap.cp_fenceproxy") {
        return Some("[%u64_1], [sv], 128".into());
    }
    let rank = (1..=5).find(|n| has("tensor") && has(&format!("{n}d")))?;
    let list = |register: &str, count: usize| {
        let registers: Vec<String> = (1..=count).map(|n| format!("%{register}_{n}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let map = format!("[%u64_1, {}]", list("s32", rank));
    let mut operands = match (has("prefetch"), has("bulk_group")) {
        (true, _) => vec![map],
        (_, true) => vec![map, "[sv]".into()],
        _ => vec!["[sv]".into(), map, "[sv]".into()],
    };
    if has("im2col") && !has("bulk_group") {
        operands.push(list("u16", rank.saturating_sub(2).max(1)));
    }
    operands.extend(has("multicast::cluster").then(|| "%u16_8".into()));
    operands.extend(has("L2::cache_hint").then(|| "%b64_1".into()));
    Some(operands.join(", "))
}

/// For each spelling whether a kernel with it can run; `None` if the form leaves its operands open.
fn executable(spellings: &[&Spelling]) -> Vec<Option<bool>> {
    let mut verdicts = vec![None; spellings.len()];
    let mut by_needs = BTreeMap::<Needs, Vec<usize>>::new();
    for (i, spelling) in spellings.iter().enumerate().filter(|(_, s)| operands(s).is_some()) {
        let needs = Needs { sm: spelling.needs.sm.max(20), ..spelling.needs };
        let version = needs.version.max((3, 0)).max(needs.target_version());
        by_needs.entry(Needs { version, ..needs }).or_default().push(i);
    }
    let (items, body) = DECLARATIONS;
    for (needs, all) in by_needs {
        let ((major, minor), target) = (needs.version, needs.target());
        let mut text = format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n{items}");
        for &i in &all {
            let operands = operands(spellings[i]).unwrap_or_default();
            let list = if operands.contains("LIST") { "LIST: .branchtargets DONE;\n" } else { "" };
            let opcode = possible(&spellings[i].opcode);
            writeln!(text, ".entry k{i}(.param .u64 pv)\n{{\n{body}{list}{opcode} {operands};\nDONE: ret;\n}}")
                .unwrap();
        }
        let options = LowerOptions { any_architecture: true, ..LowerOptions::default() };
        let loaded = load("forms.ptx", &text, options).unwrap_or_else(|e| panic!("{e}"));
        for &i in &all {
            verdicts[i] = Some(loaded.kernel(&format!("k{i}")).is_ok());
        }
    }
    verdicts
}

/// The modifiers with which no spelling can run, if others of the form can.
fn missing(form: &Form, spellings: &[(&Spelling, Option<bool>)]) -> Vec<&'static str> {
    let runs = |item: usize, choice: usize| {
        spellings.iter().any(|(s, verdict)| *verdict == Some(true) && s.choices[item] == Some(choice))
    };
    let each = |(i, item): (usize, &Item)| {
        let texts: Vec<_> =
            item.choices.iter().enumerate().filter(|(k, _)| !runs(i, *k)).map(|(_, c)| c.text).collect();
        texts
    };
    form.items.iter().enumerate().flat_map(each).collect()
}

/// How a form is executed, and the count of the page that it belongs to.
fn state(form: &Form, spellings: &[(&Spelling, Option<bool>)]) -> (usize, String) {
    let run = spellings.iter().filter(|(_, verdict)| *verdict == Some(true)).count();
    if run == spellings.len() {
        return (0, "supported".into());
    }
    if run == 0 && form.needs.sm > NEWEST_GPU {
        return (3, "not applicable".into());
    }
    if run == 0 {
        return (2, "refused".into());
    }
    let missing: Vec<String> = missing(form, spellings).iter().map(|m| format!("`.{m}`")).collect();
    match missing.is_empty() {
        true => (1, "some combinations".into()),
        false => (1, format!("but {}", missing.join(" "))),
    }
}

/// A row's modifiers as the manual writes them: `{.sat}`, `.rn|.rz`.
fn written(form: &Form) -> String {
    let mut text = form.name.to_owned();
    for item in &form.items {
        let mut choices: Vec<String> = item.choices.iter().map(|c| format!(".{}", c.text)).collect();
        // Of the many shapes of a warp group's matrices, the first and the last.
        if choices.len() > 16 && choices[0].contains("64n") {
            choices.splice(1..choices.len() - 1, ["…".to_owned()]);
        }
        let joined = if item.is_open() { "…".to_owned() } else { choices.join("\\|") };
        match (item.optional, choices.len()) {
            (true, _) => write!(text, "{{{joined}}}").unwrap(),
            (false, 1) => text += &joined,
            (false, _) => write!(text, "({joined})").unwrap(),
        }
    }
    text
}

fn page() -> String {
    let spellings: Vec<Vec<Spelling>> = forms().iter().map(Form::spellings).collect();
    let flat: Vec<&Spelling> = spellings.iter().flatten().collect();
    let mut verdicts = executable(&flat).into_iter();
    let (mut counts, mut tables, mut section) = ([0; 4], String::new(), "");
    for (form, spellings) in forms().iter().zip(&spellings) {
        let tried: Vec<_> = spellings.iter().zip(verdicts.by_ref()).collect();
        if form.section != section {
            section = form.section;
            write!(
                tables,
                "\n## {section}\n\n| form | operands | PTX | target | here |\n| --- | --- | --- | --- | --- |\n"
            )
            .unwrap();
        }
        let (count, state) = state(form, &tried);
        counts[count] += 1;
        let ((major, minor), target) = (form.needs.version, form.needs.target());
        let takes = if form.takes.is_empty() { String::new() } else { format!("`{}`", form.takes.replace('|', "\\|")) };
        writeln!(tables, "| `{}` | {takes} | {major}.{minor} | {target} | {state} |", written(form)).unwrap();
    }
    let names = ptx::isa::NAMES.iter().collect::<std::collections::BTreeSet<_>>().len();
    let [whole, part, refused, beyond] = counts;
    format!(
        "# PTX instructions\n\n\
         This page shows which instructions of PTX ISA 8.8 run here, for users whose kernel is refused and for \
         authors of kernels. Of the {} forms of {names} instructions, {whole} run with all their modifiers, {part} with \
         some, and {refused} are refused. {beyond} are not applicable: they need a target newer than sm_{NEWEST_GPU}, and no GPU description has \
         one. All forms in the table are checked as the manual says, whether they run or not: modifiers, types, \
         operands, `.version` and `.target`.\n\n\
         The test `ptx_page` of `lower` writes this page from the table that the checker reads \
         (`crates/ptx/src/isa/table.txt`): `BLESS=1 cargo nextest run -p warpwright-lower ptx_page`. It loads each \
         form in all its spellings or, where these are many, with each modifier once.\n\n\
         | column | meaning |\n| --- | --- |\n\
         | form | the instruction with its modifiers: `{{.x}}` is optional, `(.x\\|.y)` is one of several. Modifiers may \
         need a newer version or target than their form |\n\
         | operands | in the notation below |\n\
         | PTX, target | the oldest `.version` and `.target` that have the form |\n\
         | here | *supported*; *but* the modifiers with which it is refused; *some combinations* of its modifiers; \
         *refused*: a kernel with it does not load, and the message names the line; *not applicable* |\n\n\
         | operand | is |\n| --- | --- |\n\
         | `=` | written |\n\
         | `T`, `U`, `V` | of the form's types, in order |\n\
         | `2T`, `T>` | twice as wide; as wide or wider |\n\
         | `T!`, `T.` | no number; a part of a register |\n\
         | `{{4}}T`, `{{v}}T`, `{{}}T` | a vector of four; of as many as `.v2` says; the parts of a value |\n\
         | `p` | a predicate |\n\
         | `[s]`, `[t]` | an address, by state space (`m`: as the modifiers say); an image and coordinates |\n\
         | `bar`, `16n`, `imm` | a barrier; a multiple of 16; an integer |\n\
         | `sym`, `sreg` | a variable; a special register |\n\
         | `?`, `@x`, `_` | optional; only with `.x`; may be the sink |\n\
         | `*`, `...` | left open by the table; forms of which it cannot write an instance are listed as refused |\n\
         {tables}",
        forms().len(),
    )
}

#[test]
fn page_is_up_to_date() {
    let new = page();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ptx.md");
    let old = std::fs::read_to_string(path).unwrap_or_default();
    if new != old {
        assert!(std::env::var_os("BLESS").is_some(), "docs/ptx.md is out of date: run with BLESS=1");
        std::fs::write(path, new).unwrap();
    }
}
