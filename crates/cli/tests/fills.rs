//! Launches of programs that only fill memory are not simulated.

use crate::common::{command, from};
use crate::schema::check_value;
use serde_json::Value;
use std::path::Path;

/// Launches kernels over `bytes` of memory, a thread for each word: `fill` three times between two of `read`, which
/// reads a little other memory, then `count`, whose stores differ. Prints what memory has, and the milliseconds of a fill.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#define PLACE "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n" \
    "mul.wide.u32 %d2, %r4, 4;\nld.param.u64 %d1, [to];\nadd.u64 %d3, %d1, %d2;\n"
#define KERNEL(name, body) ".visible .entry " name "(.param .u64 to, .param .u32 value)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n" PLACE body "ret;\n}\n"
static const char *source = ".version 7.0\n.target sm_70\n.address_size 64\n"
    KERNEL("fill", "ld.param.u32 %r5, [value];\nst.global.u32 [%d3], %r5;\n")
    KERNEL("count", "st.global.u32 [%d3], %r4;\n")
    KERNEL("read", "ld.global.u32 %r5, [%d3];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%d3], %r5;\n");
static void *driver;
#define CALL(name, ...) do { int (*call)() = (int (*)())dlsym(driver, #name); int code = call(__VA_ARGS__); \
    if (code) { printf("%s: %d\n", #name, code); exit(1); } } while (0)
static void launch(void *function, unsigned long to, unsigned value, unsigned words) {
    void *args[] = { &to, &value };
    CALL(cuLaunchKernel, function, words / 256, 1, 1, 256, 1, 1, 0, (void *)0, args, (void *)0);
}
static void check(const char *name, unsigned long from, unsigned words, unsigned value, unsigned step) {
    unsigned *data = malloc(4ul * words), i = 0;
    CALL(cuMemcpyDtoH_v2, data, from, 4ul * words);
    while (i < words && data[i] == value + step * i) i++;
    printf("%s %s\n", name, i == words ? "right" : "WRONG");
    free(data);
}
int main(int count, char **names) {
    unsigned words = atoi(names[1]) / 4, few = 4096;
    void *context, *module, *fill, *number, *read, *begin, *end;
    unsigned long to, other;
    float milliseconds;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    CALL(cuInit, 0);
    CALL(cuCtxCreate_v2, &context, 0, 0);
    CALL(cuModuleLoadData, &module, source);
    CALL(cuModuleGetFunction, &fill, module, "fill");
    CALL(cuModuleGetFunction, &number, module, "count");
    CALL(cuModuleGetFunction, &read, module, "read");
    CALL(cuMemAlloc_v2, &to, 4ul * words);
    CALL(cuMemAlloc_v2, &other, 4ul * few);
    CALL(cuEventCreate, &begin, 0);
    CALL(cuEventCreate, &end, 0);
    launch(read, other, 0, few);
    launch(read, other, 0, few);
    launch(fill, to, 7, words);
    check("first", to, words, 7, 0);
    launch(number, to, 0, words);
    check("numbers", to, words, 0, 1);
    CALL(cuEventRecord, begin, (void *)0);
    launch(fill, to, 7, words);
    CALL(cuEventRecord, end, (void *)0);
    launch(fill, to, 9, words);
    launch(read, other, 0, few);
    check("last", to, words, 9, 0);
    CALL(cuEventElapsedTime, &milliseconds, begin, end);
    printf("%.4f\n", milliseconds);
    return 0;
}"#;

/// Bytes of the L2 of the GPU.
const L2_BYTES: u64 = 4 << 20;

fn ran(folder: &Path, options: &[&str], bytes: u64) -> (Vec<String>, Value, String) {
    let bytes = bytes.to_string();
    let words = [&["exec", "--gpu", "rtx2060s", "--json=r.json"], options, &["--", "./program", &bytes]].concat();
    let ran = from(command(&words).current_dir(folder).output().unwrap());
    assert_eq!(ran.status, 0, "{words:?}: {}{}", ran.stdout, ran.stderr);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("r.json")).unwrap()).unwrap();
    check_value("exec", &words, &report);
    let lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
    assert_eq!(lines[..3], ["first right", "numbers right", "last right"], "{words:?}");
    (lines, report["devices"][0].clone(), ran.stderr)
}

/// Names of the launches that were simulated.
fn simulated(device: &Value) -> Vec<&str> {
    device["kernels"].as_array().unwrap().iter().map(|kernel| kernel["name"].as_str().unwrap()).collect()
}

#[test]
fn large_fills_are_not_simulated_and_leave_the_l2_empty() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    if !crate::exec::build(folder, PROGRAM) {
        return;
    }
    let (lines, device, text) = ran(folder, &["--by", "nvtx"], L2_BYTES);
    assert_eq!(simulated(&device), ["read", "read", "count", "read"]);
    let untimed = &device["untimed"][0];
    assert_eq!((&untimed["name"], &untimed["fills"], &untimed["launches"]), (&"fill".into(), &3.into(), &3.into()));
    assert!(text.contains("3 of these only filled memory"), "{text}");
    let group = &device["grouping"]["groups"][0];
    assert_eq!((&group["launches"], &group["untimed"]), (&7.into(), &3.into()));
    // As a memset: 448 GB/s, of which half are taken to be reads, and 2.5 us.
    let milliseconds: f64 = lines[3].parse().unwrap();
    let expected = L2_BYTES as f64 / 224e9 * 1e3 + 0.0025;
    assert!((milliseconds / expected - 1.0).abs() < 0.01, "{milliseconds} {expected}");
    let hits = |launch: usize| device["kernels"][launch]["statistics"]["l2.hit_rate"].as_f64().unwrap();
    assert!(hits(1) > 99.0 && hits(3) < 60.0, "warm {}, after a fill {}", hits(1), hits(3));

    let (_, device, text) = ran(folder, &["--time-fills"], L2_BYTES);
    let all = ["read", "read", "fill", "count", "fill", "fill", "read"];
    assert_eq!(simulated(&device), all);
    assert!(!text.contains("only filled memory"), "{text}");

    // After less, something else may be in L2 still.
    let (_, device, _) = ran(folder, &[], L2_BYTES - 4096);
    assert_eq!(simulated(&device), all);
}
