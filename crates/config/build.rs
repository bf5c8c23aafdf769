//! Flattens the built-in descriptions, so that a run need not parse one: that would take a quarter of what a process
//! executes that simulates next to nothing.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use toml::de::{DeTable, DeValue};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../gpus");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut table = String::from("const FLATTENED: &[(&str, &[Given])] = &[\n");
    descriptions(&folder, "", &mut table)?;
    table += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("descriptions.rs"), table)?;
    Ok(())
}

/// Adds the descriptions in `folder`, whose names begin with `prefix`, to `table`.
fn descriptions(folder: &Path, prefix: &str, table: &mut String) -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, Box<dyn Error>>>()?;
    paths.sort();
    for path in paths {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a file name is not UTF-8")?;
        let name = format!("{prefix}{stem}");
        if path.is_dir() {
            descriptions(&path, &format!("{name}/"), table)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(&path)?;
            let mut rows = Vec::new();
            values(DeTable::parse(&text)?.get_ref(), "", &mut rows)?;
            rows.sort();
            writeln!(table, "    ({name:?}, &[\n{}    ]),", rows.concat())?;
        }
    }
    Ok(())
}

/// Adds the values in `parsed`, whose paths begin with `prefix`, to `rows`, without their sources.
fn values(parsed: &DeTable<'_>, prefix: &str, rows: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for (key, value) in parsed {
        let path = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(_) if path == "sources" => {}
            DeValue::Table(inner) => values(inner, &format!("{path}."), rows)?,
            value => rows.push(format!("        ({path:?}, {}, {}),\n", constant(value)?, key.span().start)),
        }
    }
    Ok(())
}

/// `value` as a constant of Rust.
fn constant(value: &DeValue<'_>) -> Result<String, Box<dyn Error>> {
    Ok(match value {
        DeValue::String(text) => format!("Constant::Text({text:?})"),
        DeValue::Integer(number) => {
            format!("Constant::Integer({})", i64::from_str_radix(number.as_str(), number.radix())?)
        }
        DeValue::Float(number) => format!("Constant::Float({:?})", number.as_str().parse::<f64>()?),
        DeValue::Boolean(switch) => format!("Constant::Switch({switch})"),
        DeValue::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| constant(item.get_ref())).collect::<Result<_, _>>()?;
            format!("Constant::List(&[{}])", items.join(", "))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return Err("a value that no description has".into()),
    })
}
