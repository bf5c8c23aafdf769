//! Loads for profiling the memory system: `traffic [dram|l2|writes|scattered|chase] [requests per SM]`.

use config::GpuConfig;
use mem::{InStep, Port, Request, RequestKind};

/// Requests of the SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Consecutive sectors of a region that no cache holds.
    Dram,
    /// Sectors that are in L2.
    L2,
    /// Consecutive sectors, two reads to one write.
    Writes,
    /// Sectors anywhere in 256 MiB.
    Scattered,
    /// One SM, one request at a time.
    Chase,
}

impl Load {
    /// All loads.
    pub const ALL: [Self; 5] = [Self::Dram, Self::L2, Self::Writes, Self::Scattered, Self::Chase];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dram => "dram",
            Self::L2 => "l2",
            Self::Writes => "writes",
            Self::Scattered => "scattered",
            Self::Chase => "chase",
        }
    }

    /// SMs that take part.
    pub fn sms(self, config: &GpuConfig) -> u64 {
        if self == Self::Chase { 1 } else { u64::from(config.sm_count) }
    }

    fn request(self, sms: u64, sm: u64, i: u64) -> Request {
        let n = i * sms + sm;
        let sector = match self {
            Self::L2 => n % 8192,
            Self::Scattered | Self::Chase => n.wrapping_mul(0xd134_2543_de82_ef95) >> 41,
            Self::Dram | Self::Writes => n,
        };
        let kind = if self == Self::Writes && n % 3 == 2 { RequestKind::Write } else { RequestKind::Read };
        Request::new(kind, sector * 32, 32, 0)
    }
}

/// Sends `per_sm` requests from each SM and waits for all answers; gives the cycles it took.
pub fn run(config: &GpuConfig, load: Load, per_sm: u64) -> u64 {
    let mut system = InStep::new(config);
    if load == Load::L2 {
        system.system.copy_to_device(0, 8192 * 32);
    }
    let (sms, window) = (load.sms(config), if load == Load::Chase { 1 } else { 256 });
    let mut ports = vec![Port::default(); config.sm_count as usize];
    let mut sent = vec![0; sms as usize];
    let mut outstanding = vec![0; sms as usize];
    let mut left = per_sm * sms;
    let mut now = 0;
    loop {
        system.advance(now, &mut ports);
        for (sm, port) in ports[..sms as usize].iter_mut().enumerate() {
            if port.take_answer(now).is_some() {
                left -= 1;
                outstanding[sm] -= 1;
            }
            if sent[sm] < per_sm && outstanding[sm] < window {
                port.outbox.push_back((now, load.request(sms, sm as u64, sent[sm])));
                sent[sm] += 1;
                outstanding[sm] += 1;
            }
        }
        if left == 0 {
            return now;
        }
        let answers = ports.iter().filter_map(|p| p.inbox.front()).map(|a| a.0).min().unwrap_or(u64::MAX);
        now = if load == Load::Chase { answers.min(system.next_event(&ports)).max(now + 1) } else { now + 1 };
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "dram".into());
    let Some(load) = Load::ALL.into_iter().find(|l| l.name() == name) else {
        eprintln!("no load is called `{name}`");
        std::process::exit(2);
    };
    let per_sm = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let config = config::load("rtx2060s").expect("built in");
    let cycles = run(&config, load, per_sm);
    let requests = per_sm * load.sms(&config);
    println!("{name}: {requests} requests in {cycles} cycles");
}
