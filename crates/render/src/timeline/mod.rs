//! Events on SMs, cycle by cycle, as files for viewers and as text.

pub mod drawn;
pub mod konata;
pub mod perfetto;

use lab::timeline::Passage;

/// The parts of an instruction's way from fetch to write-back, in order: a letter, a name, and the cycle in which it
/// begins. It ends where the next one begins, the last one with the write-back.
pub(crate) fn stages(passage: &Passage) -> Vec<(char, &'static str, u64)> {
    let times = [
        ('F', "fetch", passage.fetched),
        ('B', "instruction buffer", Some(passage.decoded)),
        ('I', "issued", passage.issued),
        ('C', "operand collector", passage.collecting),
        ('R', "operands read", passage.operands_read),
        ('E', "execute", passage.executing),
    ];
    let mut stages: Vec<(char, &'static str, u64)> = Vec::new();
    for (letter, name, at) in times {
        let Some(at) = at else { continue };
        // Of stages that begin in one cycle, the last is shown.
        stages.retain(|&(_, _, begun)| begun < at);
        stages.push((letter, name, at));
    }
    stages
}
