//! Figures of the scalar path of a scalar-vector core as text.

use crate::number;
use crate::style::{BAD, HEADING, styled};
use crate::summary;
use lab::Stats;

/// A few lines on the whole run; nothing if the core has no scalar path.
pub fn render(stats: &Stats) -> String {
    let of = |name: &str| stats.get(&format!("design.{name}")).and_then(lab::Value::number).unwrap_or(0.0);
    let Some(share) = stats.get(summary::SCALAR).and_then(lab::Value::number) else { return String::new() };
    let half = of("half_scalar_share");
    let half = if half > 0.0 { format!(", {half:.1} % in one half of the warp") } else { String::new() };
    let percent = |saved: f64, of: f64| if of > 0.0 { 100.0 * saved / of } else { 0.0 };
    let vector = |counter: &str, saved: f64| percent(saved, stats.number(&format!("sm.{counter}")) + saved);
    let reads = vector("lane_reads", of("lane_reads_saved"));
    let writes = vector("lane_writes", of("lane_writes_saved"));
    let operations = percent(of("lane_operations_saved"), stats.number("thread_instructions"));
    let mut out =
        format!("{}  {share:.1} % of instructions once for all lanes{half}\n", styled(HEADING, "Scalar path"));
    out += &format!(
        "  saved: {reads:.1} % of register reads by lanes, {writes:.1} % of writes, {operations:.1} % of operations\n"
    );
    let copies = of("scalar_copies");
    if copies > 0.0 {
        out += &format!("  registers copied for lanes that write alone: {}\n", number::count(copies as u64));
    }
    let wrong = of("scalar_misreads");
    if wrong > 0.0 {
        let wrong = number::counted(wrong as u64, "operand");
        let what = format!("{wrong} would be read wrongly: nothing guards scalar registers under divergence");
        out += &format!("  {}\n", styled(BAD, what));
    }
    out
}
