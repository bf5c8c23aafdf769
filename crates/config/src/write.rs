//! Writes a GPU description as a file.

use crate::{GpuConfig, Raw, schema};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The tables in the order of the file, and whether their entries are tables on one line each.
const SECTIONS: &[(&str, bool)] = &[
    ("", false),
    ("clocks", false),
    ("launch", false),
    ("sm", false),
    ("sm.frontend", false),
    ("sm.frontend.icache", false),
    ("sm.issue", false),
    ("sm.operands", false),
    ("sm.units", true),
    ("sm.ptx_timing", true),
    ("sm.sass_timing", true),
    ("sm.tensor", true),
    ("sm.dependence", false),
    ("sm.instruction_caches", false),
    ("sm.memory_queues", false),
    ("sm.operation_latencies", false),
    ("sm.matrix_groups", false),
    ("sm.copy_engine", false),
    ("sm.cluster_port", false),
    ("sm.shared", false),
    ("sm.l1d", false),
    ("sm.l1d.cache", false),
    ("sm.constant_cache", false),
    ("sm.texture_cache", false),
    ("gpc_cache", false),
    ("interconnect", false),
    ("l2", false),
    ("l2.cache", false),
    ("dram", false),
    ("dram.timing", false),
    ("energy", false),
    ("board", false),
];

/// The description as text that [`crate::load`] reads back as the same description.
pub fn to_toml(config: &GpuConfig, sources: &BTreeMap<String, String>) -> String {
    let raw = Raw::from(config);
    let mut out = format!(
        "# {}\n#\n# Units and meanings of the keys: `warpwright docs gpus`. Where each number comes from: [sources] below.\n\n",
        config.description.replace(char::is_control, " ")
    );
    for &(section, nested) in SECTIONS {
        let mut rows = String::new();
        if nested {
            inline_tables(&mut rows, &raw, section)
        } else {
            plain(&mut rows, &raw, section)
        }
        if !section.is_empty() && !rows.is_empty() {
            let _ = writeln!(out, "\n[{section}]");
        }
        out += &rows;
    }
    out.push_str(
        "\n# Keyed by dotted path; a table's entry stands for everything in it that has none of its own.\n[sources]\n",
    );
    let mut sorted: Vec<_> = sources.iter().collect();
    let order: BTreeMap<String, usize> = file_order().enumerate().map(|(i, p)| (p, i)).collect();
    let position = |key: &str| {
        let inside = format!("{key}.");
        order.get(key).copied().or_else(|| order.iter().filter(|(p, _)| p.starts_with(&inside)).map(|(_, i)| *i).min())
    };
    sorted.sort_by_key(|(key, _)| (position(key).unwrap_or(usize::MAX), key.len()));
    for (key, source) in sorted {
        let _ = writeln!(out, "{} = {}", quoted(key), quoted(source));
    }
    out
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// Every path in the order in which the file has them.
fn file_order() -> impl Iterator<Item = String> {
    SECTIONS.iter().flat_map(|&(section, nested)| {
        let outside = move |path: &str| {
            let table = path.rsplit_once('.').map_or("", |(table, _)| table);
            let table = if nested { table.rsplit_once('.').map_or("", |(table, _)| table) } else { table };
            table == section
        };
        schema::paths().map(|(path, _)| path).filter(move |path| outside(path))
    })
}

fn plain(out: &mut String, raw: &Raw, section: &str) {
    for (path, _) in schema::paths() {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", &path));
        if table == section
            && let Some(value) = raw.value(&path)
        {
            let _ = writeln!(out, "{key} = {value}");
        }
    }
}

fn inline_tables(out: &mut String, raw: &Raw, section: &str) {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (path, _) in schema::paths() {
        let Some((table, key)) = path.rsplit_once('.') else { continue };
        let Some((_, name)) = table.rsplit_once('.').filter(|(outer, _)| *outer == section) else { continue };
        let Some(value) = raw.value(&path) else { continue };
        let entry = format!("{key} = {value}");
        match rows.iter_mut().find(|(row, _)| row == name) {
            Some((_, entries)) => entries.push(entry),
            None => rows.push((name.into(), vec![entry])),
        }
    }
    for (name, entries) in rows {
        let _ = writeln!(out, "{name} = {{ {} }}", entries.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_sections_hold_every_key_once() {
        let in_file: Vec<String> = file_order().collect();
        let distinct: BTreeSet<&String> = in_file.iter().collect();
        let all: BTreeSet<String> = schema::paths().map(|(p, _)| p).collect();
        assert_eq!(in_file.len(), distinct.len());
        assert_eq!(distinct, all.iter().collect());
    }
}
