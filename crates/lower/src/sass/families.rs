//! The lowering function of each operation. An operation of the decoder without an arm does not compile.

use super::builder::{Builder, Lowered};
use super::integer::{add, bits, extreme, multiply};
use super::{barrier, control, convert, copies, float, group, half, integer, matrix, memory, moves, texture, warp};
use exec::float::{Float2, Float3};
use exec::image::FetchKind;
use exec::int::Int1;
use exec::op::Op;
use exec::steer::{ClusterBarrier, Steer};
use isa::Space;
use sass::decode::{SassInst, SassOp};

/// Lowers `inst` to operations of `b`.
///
/// # Errors
/// If it is not executable, with the reason.
pub(super) fn lower(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    match inst.row.op {
        SassOp::IAdd3 | SassOp::UIAdd3 => add::iadd3(b, inst),
        SassOp::UIAdd364 => add::add64(b, inst),
        SassOp::VIAdd => extreme::viadd(b, inst),
        SassOp::Lea | SassOp::ULea => add::lea(b, inst),
        SassOp::IMad | SassOp::UIMad => multiply::imad(b, inst),
        SassOp::IMadWide | SassOp::UIMadWide => multiply::wide(b, inst),
        SassOp::IMadHi | SassOp::UIMadHi => multiply::high(b, inst),
        SassOp::Idp | SassOp::Idp2 => multiply::dot_product(b, inst),
        SassOp::ISetP | SassOp::UISetP => integer::compare(b, inst),
        SassOp::IMnMx | SassOp::VIMnMx | SassOp::VIMnMx3 | SassOp::VIAddMnMx => extreme::extreme(b, inst),
        SassOp::IAbs => integer::unary(b, inst, Int1::Abs32),
        SassOp::PopC | SassOp::UPopC => integer::unary(b, inst, Int1::Popc32),
        SassOp::Brev | SassOp::UBrev => integer::unary(b, inst, Int1::Brev32),
        SassOp::Shf | SassOp::USHf => bits::shift(b, inst),
        SassOp::Sgxt | SassOp::USgxt | SassOp::BMsk | SassOp::UBMsk => bits::field(b, inst),
        SassOp::Flo | SassOp::UFlo => bits::find(b, inst),
        SassOp::VAbsDiff | SassOp::VAbsDiff4 => integer::difference(b, inst),
        SassOp::I2I => integer::saturate(b, inst),

        SassOp::Mov => moves::copy_lanes(b, inst),
        SassOp::UMov => moves::copy(b, inst),
        SassOp::Sel | SassOp::USel => moves::select(b, inst),
        SassOp::Lop3 | SassOp::ULop3 => moves::logic(b, inst),
        SassOp::PLop3 | SassOp::UPLop3 => moves::predicate_logic(b, inst),
        SassOp::PLop3Sign | SassOp::UPLop3Sign => moves::sign_logic(b, inst),
        SassOp::Prmt | SassOp::UPrmt => moves::permute(b, inst),
        SassOp::P2R | SassOp::UP2Ur => moves::predicates_to_register(b, inst),
        SassOp::R2P | SassOp::UR2Up => moves::register_to_predicates(b, inst),
        SassOp::S2R => moves::special(b, inst),
        SassOp::Cs2R => moves::wide_special(b, inst),
        SassOp::S2Ur => moves::uniform_special(b, inst),
        SassOp::ULdC => moves::load_constant(b, inst),

        SassOp::LdG => memory::load(b, inst, Space::Global),
        SassOp::LdS => memory::load(b, inst, Space::Shared),
        SassOp::LdL => memory::load(b, inst, Space::Local),
        SassOp::Ld => memory::load(b, inst, Space::Generic),
        SassOp::StG => memory::store(b, inst, Space::Global),
        SassOp::StS => memory::store(b, inst, Space::Shared),
        SassOp::StL => memory::store(b, inst, Space::Local),
        SassOp::St => memory::store(b, inst, Space::Generic),
        SassOp::LdC => memory::load_constant(b, inst),
        SassOp::AtomG | SassOp::AtomGCas => memory::atomic(b, inst, Space::Global),
        SassOp::Atom | SassOp::AtomCas | SassOp::Red | SassOp::RedG => memory::atomic(b, inst, Space::Generic),
        SassOp::AtomS | SassOp::AtomSCas | SassOp::AtomSPopcInc => memory::atomic(b, inst, Space::Shared),
        SassOp::ArriveS if b.sm >= 90 => barrier::copies_arrive(b, inst),
        SassOp::AtomSArrive | SassOp::ArriveS => memory::arrive(b, inst),
        SassOp::LdGSts => memory::copy(b, inst),
        SassOp::StAs => barrier::store(b, inst),
        SassOp::RedAs => barrier::reduce(b, inst),
        SassOp::SyncsExch => barrier::exchange(b, inst),
        SassOp::SyncsArrive => barrier::arrive(b, inst),
        SassOp::SyncsPhaseChk => barrier::check(b, inst),
        SassOp::UBlkCp | SassOp::UBlkRed | SassOp::UBlkPf => copies::bulk(b, inst),
        SassOp::UTmaLdG | SassOp::UTmaStG | SassOp::UTmaRedG | SassOp::UTmaPf => copies::tensor(b, inst),
        SassOp::UTmaCctl => copies::tensor_map(b, inst),
        SassOp::QSpc => memory::query_space(b, inst),

        SassOp::FAdd => float::add_f32(b, inst),
        SassOp::FMul => float::multiply_f32(b, inst),
        SassOp::FFma => float::fuse_f32(b, inst),
        SassOp::FMnMx => float::extreme(b, inst),
        SassOp::FSel => float::select(b, inst),
        SassOp::FSet => float::set(b, inst),
        SassOp::FSetP => float::compare_f32(b, inst),
        SassOp::FChk => float::check_division(b, inst),
        SassOp::MuFu => float::special_function(b, inst),
        SassOp::DAdd => float::add_f64(b, inst),
        SassOp::DMul => float::multiply_f64(b, inst),
        SassOp::DFma => float::fuse_f64(b, inst),
        SassOp::DSetP => float::compare_f64(b, inst),

        SassOp::Bra => control::branch(b, inst),
        SassOp::Call | SassOp::Brx | SassOp::BrxU | SassOp::Ret => control::jump(b, inst),
        SassOp::Lepc => control::own_address(b, inst),
        SassOp::Exit | SassOp::Kill => control::exit(b, inst),
        SassOp::BSsy | SassOp::BSync | SassOp::Break => control::convergence_barrier(b, inst),
        SassOp::BMov | SassOp::BMovToBarrier => control::move_barrier(b, inst),
        SassOp::Yield => emit(b, Op::Steer(Steer::Yield)),
        SassOp::WarpSync => control::warp_sync(b, inst),
        SassOp::WarpSyncAll => control::warp_sync_all(b, inst),
        SassOp::EndCollective => control::end_collective(b),
        SassOp::Bar => control::cta_barrier(b, inst),
        SassOp::B2R => control::barrier_result(b, inst),
        SassOp::UCgaBarArv => emit(b, Op::ClusterBarrier(ClusterBarrier::Arrive)),
        SassOp::UCgaBarWait => emit(b, Op::ClusterBarrier(ClusterBarrier::Wait)),
        SassOp::USetMaxReg => control::set_registers(b, inst),
        SassOp::MemBar => control::fence(b, inst),
        SassOp::LdGDepBar => emit(b, Op::AsyncCommit),
        SassOp::UTmaCmdFlush => emit(b, Op::BulkCommit),
        SassOp::DepBar => control::wait(b, inst),
        SassOp::NanoSleep => control::sleep(b, inst),
        SassOp::Bpt => control::trap(b, inst),
        // Without effect here. Grids of a stream run one after another: there is nothing to wait for.
        SassOp::AcqBulk | SassOp::PreExit | SassOp::FenceViewAsync => Ok(()),
        SassOp::WarpGroup => group::wait(b, inst),
        SassOp::Nop | SassOp::PmTrig | SassOp::Cctl | SassOp::SyncsCctl | SassOp::ErrBar | SassOp::CgaErrBar => Ok(()),

        SassOp::Shfl => warp::shuffle(b, inst),
        SassOp::Vote | SassOp::VoteU => warp::vote(b, inst),
        SassOp::Match => warp::match_lanes(b, inst),
        SassOp::Redux => warp::reduce(b, inst),
        SassOp::Elect => warp::elect(b, inst),
        SassOp::R2Ur => warp::to_uniform(b, inst),

        SassOp::F2F => convert::float_to_float(b, inst),
        SassOp::FRnd => convert::round(b, inst),
        SassOp::F2I => convert::float_to_int(b, inst),
        SassOp::I2F => convert::int_to_float(b, inst),
        SassOp::I2Fp => convert::word_to_float(b, inst),
        SassOp::F2Fp => convert::pack_halves(b, inst),
        SassOp::F2FpMerge => convert::merge_half(b, inst),
        SassOp::F2FpBytes => convert::to_bytes(b, inst),
        SassOp::F2FpBytesOfHalves => convert::halves_to_bytes(b, inst),
        SassOp::F2FpHalves => convert::bytes_to_halves(b, inst),
        SassOp::I2Ip => convert::pack_integers(b, inst),
        SassOp::F2Ip => convert::pack_bytes(b, inst),

        SassOp::HAdd2 => half::add(b, inst, Float2::AddF16x2),
        SassOp::HAdd2Bf16 => half::add(b, inst, Float2::AddBf16x2),
        SassOp::HMul2 => half::multiply(b, inst, Float2::MulF16x2),
        SassOp::HMul2Bf16 => half::multiply(b, inst, Float2::MulBf16x2),
        SassOp::HFma2 | SassOp::HFma2Mma => half::fuse(b, inst, Float3::FmaF16x2),
        SassOp::HFma2Bf16 | SassOp::HFma2MmaBf16 => half::fuse(b, inst, Float3::FmaBf16x2),
        SassOp::HMnMx2 => half::extreme(b, inst, [Float2::MinF16x2, Float2::MaxF16x2]),
        SassOp::HMnMx2Bf16 => half::extreme(b, inst, [Float2::MinBf16x2, Float2::MaxBf16x2]),
        SassOp::HSet2 | SassOp::HSet2Bf16 => half::set(b, inst),
        SassOp::HSetP2 | SassOp::HSetP2Bf16 => half::set_predicates(b, inst),
        SassOp::VHMnMx => half::extreme_of_three(b, inst),

        SassOp::HMma => matrix::half(b, inst),
        SassOp::HMmaStep => matrix::step(b, inst),
        SassOp::IMma => matrix::integer(b, inst),
        SassOp::BMma => matrix::bits(b, inst),
        SassOp::QMma => matrix::bytes(b, inst),
        SassOp::DMma => matrix::double(b, inst),
        SassOp::HGmma | SassOp::QGmma | SassOp::IGmma | SassOp::BGmma => group::multiply(b, inst),
        SassOp::LdSm => matrix::load_tiles(b, inst),
        SassOp::StSm => matrix::store_tiles(b, inst),
        SassOp::MovM => matrix::transpose(b, inst),

        SassOp::Tex => texture::fetch(b, inst, FetchKind::Sample),
        SassOp::Tld => texture::fetch(b, inst, FetchKind::Texel),
        SassOp::Tld4 => texture::gather(b, inst),
        SassOp::Txq => texture::query(b, inst),
        SassOp::SuLd | SassOp::SuSt => texture::surface(b, inst),
    }
}

fn emit(b: &mut Builder<'_>, op: Op) -> Lowered<()> {
    b.emit(op);
    Ok(())
}
