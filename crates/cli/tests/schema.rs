//! The JSON of every command against the published schema, and that the schema has a description of each value.

use crate::common;

use common::{run, succeed};
use serde_json::{Map, Value};

/// Violations of `schema` in `value`; `all` has the definitions. Keys that the schema does not name are violations
/// too. Supports only the keywords that our schemas have.
fn problems(all: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let schema = schema.as_object().expect("a schema is an object");
    let mut found = Vec::new();
    for (keyword, of) in schema {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "unit" | "required" | "minItems" | "maxItems" => {}
            "$ref" => {
                let name = of.as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a definition");
                found.extend(problems(all, &all["$defs"][name], value, place));
            }
            "anyOf" => {
                let each = of.as_array().unwrap().iter().map(|one| problems(all, one, value, place));
                let best = each.min_by_key(Vec::len).unwrap_or_default();
                found.extend(best);
            }
            "type" => {
                let kinds = of.as_array().cloned().unwrap_or_else(|| vec![of.clone()]);
                if !kinds.iter().any(|kind| is(kind.as_str().unwrap(), value)) {
                    found.push(format!("{place}: {value} is no {of}"));
                }
            }
            "enum" => {
                if !of.as_array().unwrap().contains(value) {
                    found.push(format!("{place}: {value} is none of {of}"));
                }
            }
            "minimum" => {
                if value.as_f64() < of.as_f64() && value.is_number() {
                    found.push(format!("{place}: {value} is less than {of}"));
                }
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                found.extend(items.flat_map(|(at, item)| problems(all, of, item, &format!("{place}[{at}]"))));
            }
            "prefixItems" => {
                let pairs = of.as_array().unwrap().iter().zip(value.as_array().into_iter().flatten());
                found.extend(pairs.flat_map(|(of, item)| problems(all, of, item, place)));
            }
            "properties" | "additionalProperties" => {}
            other => panic!("{place}: the keyword {other} is not known here"),
        }
    }
    let length = value.as_array().map_or(0, Vec::len) as u64;
    let within = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    if value.is_array()
        && (within("minItems").is_some_and(|n| length < n) || within("maxItems").is_some_and(|n| length > n))
    {
        found.push(format!("{place}: {length} items"));
    }
    if let Some(object) = value.as_object() {
        found.extend(of_keys(all, schema, object, place));
    }
    found
}

fn of_keys(all: &Value, schema: &Map<String, Value>, object: &Map<String, Value>, place: &str) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter(|key| !object.contains_key(key.as_str().unwrap()));
    let mut found: Vec<String> = missing.map(|key| format!("{place}: {key} is missing")).collect();
    let (named, other) = (schema.get("properties"), schema.get("additionalProperties"));
    if named.is_none() && other.is_none() {
        return found;
    }
    for (key, value) in object {
        match named.and_then(|named| named.get(key)).or(other) {
            Some(of) => found.extend(problems(all, of, value, &format!("{place}.{key}"))),
            None => found.push(format!("{place}: {key} is in no schema")),
        }
    }
    found
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "null" => value.is_null(),
        other => panic!("the type {other} is not known here"),
    }
}

/// The JSON of `args` follows the schema of `name`, and that of any command.
fn check(name: &str, args: &[&str]) -> Value {
    let ran = run(&[args, &["--json"]].concat());
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", ran.stderr));
    check_value(name, args, &value);
    value
}

pub fn check_value(name: &str, args: &[&str], value: &Value) {
    for schema in [&["schema", name][..], &["schema"]] {
        let schema: Value = serde_json::from_str(&succeed(schema)).unwrap();
        let found = problems(&schema, &schema, value, name);
        assert!(found.is_empty(), "{args:?}\n{}", found.join("\n"));
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn reports_of_programs_follow_their_schema() {
    let folder = tempfile::tempdir().unwrap();
    if !crate::exec::build(folder.path(), crate::exec::LAUNCHES) {
        return;
    }
    let file = folder.path().join("report.json");
    let program = folder.path().join("program");
    for time in ["all", "none"] {
        let args = ["exec", "-q", "--time", time, "--json", file.to_str().unwrap(), "--", program.to_str().unwrap()];
        assert_eq!(succeed(&args), "1\n");
        let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        check_value("exec", &args, &report);
        // The libraries may be of another build than the command, but not in tests.
        let run: Value = serde_json::from_str(&succeed(&[&QUICK[..], &["--json"]].concat())).unwrap();
        assert_eq!((&report["version"], &report["commit"]), (&run["version"], &run["commit"]));
    }
}

const QUICK: [&str; 4] = ["run", "vectoradd", "--param", "n=1000"];

#[test]
fn reports_follow_their_schema() {
    check("run", &QUICK);
    check("run", &[&QUICK[..], &["--profile"]].concat());
    let halves = check("run", &[&QUICK[..], &["--profile", "--set", "l2.far_latency_cycles=90"]].concat());
    let instructions = halves["profile"]["kernels"][0]["instructions"].as_array().unwrap();
    assert!(instructions.iter().any(|i| i["memory"]["from_l2_far"].is_u64()), "the far half has no key");
    check("run", &[&QUICK[..], &["--audit", "--check-memory", "--power-interval", "1000", "--core", "ghost"]].concat());
    check("run", &[&QUICK[..], &["--max-cycles", "1", "--set", "sm.max_warps=16"]].concat());
    check("run", &["run", "vectoradd", "--param", "n=1000", "--core", "inorder+scalar", "--audit"]);
    check("run", &["run", "vectoradd", "--param", "n=1000", "--core", "sgmf", "--gpu", "gtx480"]);
    let sampled = check("run", &["run", "lud", "--time", "representative"]);
    assert!(sampled["sampling"]["untimed"].as_u64() > Some(0), "nothing is inferred");
    check("run", &["run", "lud", "--time", "ctas=1..2"]);
    let hazards = check("run", &["run", "srad", "--registers", "allocated", "--audit", "--core", "inorder"]);
    assert!(!hazards["audit"]["violations"].as_array().unwrap().is_empty(), "no violation to check");
}

#[test]
fn comparisons_follow_their_schema() {
    check("compare", &["compare", "vectoradd", "bfs", "--cores", "inorder,ghost"]);
    check("reproduce", &["reproduce", "sgmf-area"]);
    check("reproduce", &["reproduce", "socgpu-area"]);
    check("sweep", &["sweep", "vectoradd", "--cores", "inorder,ghost", "--repeat", "2"]);
    check("sweep", &["sweep", "sgmf-area"]);
}

#[test]
fn lists_follow_their_schema() {
    check("list", &["list"]);
    for topic in ["gpus", "cores", "schedulers", "workloads", "figures", "stats", "settings"] {
        check("list", &["list", topic]);
    }
    check("list", &["list", "cores", "ghost"]);
    check("list", &["list", "cores", "sgmf", "--gpu", "gtx480"]);
    check("list", &["list", "workloads", "bfs"]);
}

#[test]
fn facts_of_files_follow_their_schema() {
    for args in
        [&["inspect", "matmul"][..], &["inspect", "matmul", "--sm", "75", "--code"], &["inspect", "bfs", "--fabric"]]
    {
        check("inspect", args);
    }
    // With latencies of another generation.
    let early = check("inspect", &["inspect", "nn", "--sm", "75", "--early-reads", "a6000"]);
    assert_eq!(early["kernels"][0]["stalls_without_yield"], 0);
    let reads = |kernel: &Value| kernel["early_reads"].as_array().is_some_and(|reads| !reads.is_empty());
    assert!(early["kernels"].as_array().unwrap().iter().any(reads), "no early read to check");
}

#[test]
fn validation_follows_its_schema() {
    check("microbench", &["microbench", "titanv", "--only", "fp32_fma_latency,l1_latency"]);
    check("microbench", &["validate", "titanv", "--only", "fp32_fma_latency", "--code", "ptx"]);
    check("microbench", &["microbench", "--list"]);
    check("validate-hardware", &["validate", "hardware"]);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if let Some(folder) = crate::validate::programs() {
        let folder = folder.path().to_str().unwrap();
        let table = format!("{folder}/measured.csv");
        check("validate-hardware", &["validate", "hardware", "--rerun", folder, "--only", "vectorAdd 4*"]);
        check("validate-hardware", &["validate", "hardware", "--rerun", folder, "--measured", &table]);
    }
    check("validate-accelwattch", &["validate", "accelwattch"]);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if let Some(folder) = crate::validate::measured_program() {
        let folder = folder.path().to_str().unwrap();
        check("validate-accelwattch", &["validate", "accelwattch", "--rerun", folder, "sobol"]);
    }
}

#[test]
fn every_value_is_described() {
    fn undescribed(schema: &Value, place: &str, out: &mut Vec<String>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (key, of) in properties {
                let place = format!("{place}.{key}");
                let described =
                    |of: &Value| of.get("description").is_some_and(|text| !text.as_str().unwrap().is_empty());
                let is_described = described(of)
                    || of.get("$ref").is_some()
                    || of.get("anyOf").is_some_and(|any| {
                        any.as_array().unwrap().iter().any(|one| described(one) || one.get("$ref").is_some())
                    });
                if !is_described {
                    out.push(place.clone());
                }
                undescribed(of, &place, out);
            }
        }
        for keyword in ["items", "additionalProperties"] {
            schema.get(keyword).into_iter().for_each(|of| undescribed(of, place, out));
        }
        let several = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        several.for_each(|of| undescribed(of, place, out));
    }
    let schema: Value = serde_json::from_str(&succeed(&["schema"])).unwrap();
    let mut out = Vec::new();
    for (name, of) in schema["$defs"].as_object().unwrap() {
        undescribed(of, name, &mut out);
    }
    assert!(out.is_empty(), "without a description: {out:?}");
    assert_eq!(schema["$defs"]["statistics"]["properties"]["cycles"]["unit"], "core cycles");
}

#[test]
fn what_does_not_follow_is_found() {
    let schema: Value = serde_json::from_str(&succeed(&["schema", "validate-accelwattch"])).unwrap();
    let good: Value = serde_json::from_str(&succeed(&["validate", "accelwattch", "--json"])).unwrap();
    let wrong = |change: fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        problems(&schema, &schema, &value, "").len()
    };
    assert_eq!(wrong(|_| {}), 0);
    assert_eq!(wrong(|v| v["new"] = 1.into()), 1);
    assert_eq!(wrong(|v| v["schema"] = "1".into()), 1);
    assert_eq!(wrong(|v| v["kernels"][0]["ours_watts"] = Value::Null), 1);
    assert_eq!(wrong(|v| drop(v.as_object_mut().unwrap().remove("summary"))), 1);
}
