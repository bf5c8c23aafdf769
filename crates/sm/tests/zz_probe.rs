mod support;
use config::Unit;
use isa::OpClass;
use support::*;
#[test]
fn probe() {
    for acc in [8u16, 24] {
    let lines: Vec<_> = (0..96u16).map(|i| op(OpClass::FpFma, 20 + i % acc, &[20 + i % acc])).collect();
    let run = Bench::new(&lines).warps(32).timing(OpClass::FpFma, Unit::Sp, 5, 2).run();
    let mut e: Vec<(u64, u16, u32)> = (0..8u16).map(|w| w * 4).flat_map(|w| (0..96u32).map(move |i| (w, i))).map(|(w, i)| (run.sm.observer.at(w, i, 'E').unwrap(), w, i)).collect();
    e.sort();
    let gaps = e.windows(2).filter(|p| p[1].0 - p[0].0 > 2).count();
    println!("acc {acc} entries {} span {} gaps {gaps}", e.len(), e.last().unwrap().0 - e[0].0);
    let mut is: Vec<(u64, u16, u32)> = (0..8u16).map(|w| w * 4).flat_map(|w| (0..96u32).map(move |i| (w, i))).map(|(w, i)| (run.sm.observer.at(w, i, 'I').unwrap(), w, i)).collect();
    is.sort();
    for p in e.windows(2).filter(|p| p[1].0 - p[0].0 > 2).take(6) { println!("gap {:?}", p); }
    for w in 0..32u16 { print!("w{w}:"); for c in "FDIOCEW".chars() { print!("{:?} ", run.sm.observer.at(w,0,c)); } println!(); }
 if acc == 8 { for c in is.iter().skip(300).take(60) { print!("{}:w{}i{} ", c.0, c.1/4, c.2); } println!(); }
    }
}
