//! Cycles of traces against Accel-Sim's own. Needs reference data beside the repository; without
//! them there is nothing to compare with, and the test says so.

use lab::{TraceSetup, run_trace};
use std::io::Read;
use std::path::Path;

/// Largest deviation of one run, and of all in the mean of their magnitudes, in percent.
const EACH: f64 = 10.0;
const MEAN: f64 = 2.0;

/// Traces that take little time.
const TRACES: [&str; 3] = ["simtune-ffmakernel-1-32-40", "simple-trace-example", "matmul_s"];

/// Options that Accel-Sim's Volta configurations lack for later machine code.
const UNIFORM_UNIT: &str = "\n-specialized_unit_4 1,4,4,4,4,UDP\n-trace_opcode_latency_initiation_spec_op_4 4,1\n";

/// Unpacks the regular files of a `.tar.xz`.
fn unpack(archive: &Path, to: &Path) {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(archive).unwrap();
    lzma_rust2::XzReader::new(file, true).read_to_end(&mut bytes).unwrap();
    let mut at = 0;
    while at + 512 <= bytes.len() && bytes[at] != 0 {
        let field = |from: usize, to: usize| {
            let text = &bytes[at + from..at + to];
            String::from_utf8_lossy(text).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&field(124, 136), 8).unwrap();
        let data = at + 512..at + 512 + size;
        if matches!(bytes[at + 156], b'0' | 0) {
            let path = to.join(field(0, 100));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &bytes[data.clone()]).unwrap();
        }
        at = data.end.div_ceil(512) * 512;
    }
}

fn setup(configs: &Path, name: &str) -> TraceSetup {
    let read = |file: &str| std::fs::read_to_string(configs.join(name).join(file)).unwrap();
    let mut gpgpusim = read("gpgpusim.config");
    if !gpgpusim.lines().any(|l| l.trim_start().starts_with("-specialized_unit_4")) {
        gpgpusim.push_str(UNIFORM_UNIT);
    }
    let gpu = config::import_accelsim(&gpgpusim, &read("trace.config")).unwrap().config;
    TraceSetup { gpu, scheduler: None, any_architecture: true }
}

#[test]
fn traces_take_as_long_as_in_accelsim() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let Ok(table) = std::fs::read_to_string(data.join("reference/accelsim_cycles.csv")) else {
        eprintln!("skipped: there are no reference data at {}", data.display());
        return;
    };
    let unpacked = tempfile::tempdir().unwrap();
    for archive in ["simtune-ffmakernel-1-32", "simple-trace-example", "matmul_s"] {
        unpack(&data.join(format!("traces/{archive}.tar.xz")), unpacked.path());
    }
    let mut deviations = Vec::new();
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [trace, config, cycles, _, warp, thread, ..] = fields[..] else { panic!("{row}") };
        if !TRACES.contains(&trace) {
            continue;
        }
        let list = unpacked.path().join(trace).join("kernelslist.g");
        let run = run_trace(&list, &setup(&data.join("reference/accelsim_configs"), config)).unwrap();
        assert_eq!(run.warp_instructions().to_string(), warp, "{trace} on {config}");
        assert_eq!(run.thread_instructions().to_string(), thread, "{trace} on {config}");
        let deviation = (run.cycles() as f64 / cycles.parse::<f64>().unwrap() - 1.0) * 100.0;
        assert!(deviation.abs() < EACH, "{trace} on {config}: {deviation:+.1} %");
        deviations.push(deviation.abs());
    }
    let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
    assert!(deviations.len() >= 15 && mean < MEAN, "{} runs, mean {mean:.1} %", deviations.len());
}
