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
use sass::decode::SassInst;
use sass::decode::op::{
    ControlOp, ConvertOp, Family, FloatOp, HalfOp, IntegerOp, MatrixOp, MemoryOp, MoveOp, TextureOp, WarpOp,
};

/// Lowers `inst` to operations of `b`.
///
/// # Errors
/// If it is not executable, with the reason.
pub(super) fn lower(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    match inst.row.op.family() {
        Family::Integer(op) => integer_op(b, inst, op),
        Family::Move(op) => move_op(b, inst, op),
        Family::Memory(op) => memory_op(b, inst, op),
        Family::Float(op) => float_op(b, inst, op),
        Family::Control(op) => control_op(b, inst, op),
        Family::Warp(op) => warp_op(b, inst, op),
        Family::Convert(op) => convert_op(b, inst, op),
        Family::Half(op) => half_op(b, inst, op),
        Family::Matrix(op) => matrix_op(b, inst, op),
        Family::Texture(op) => texture_op(b, inst, op),
    }
}

fn integer_op(b: &mut Builder<'_>, inst: &SassInst, op: IntegerOp) -> Lowered<()> {
    match op {
        IntegerOp::IAdd3 | IntegerOp::UIAdd3 => add::iadd3(b, inst),
        IntegerOp::UIAdd364 => add::add64(b, inst),
        IntegerOp::VIAdd => extreme::viadd(b, inst),
        IntegerOp::Lea | IntegerOp::ULea => add::lea(b, inst),
        IntegerOp::IMad | IntegerOp::UIMad => multiply::imad(b, inst),
        IntegerOp::IMadWide | IntegerOp::UIMadWide => multiply::wide(b, inst),
        IntegerOp::IMadHi | IntegerOp::UIMadHi => multiply::high(b, inst),
        IntegerOp::Idp | IntegerOp::Idp2 => multiply::dot_product(b, inst),
        IntegerOp::ISetP | IntegerOp::UISetP => integer::compare(b, inst),
        IntegerOp::IMnMx | IntegerOp::VIMnMx | IntegerOp::VIMnMx3 | IntegerOp::VIAddMnMx => extreme::extreme(b, inst),
        IntegerOp::IAbs => integer::unary(b, inst, Int1::Abs32),
        IntegerOp::PopC | IntegerOp::UPopC => integer::unary(b, inst, Int1::Popc32),
        IntegerOp::Brev | IntegerOp::UBrev => integer::unary(b, inst, Int1::Brev32),
        IntegerOp::Shf | IntegerOp::USHf => bits::shift(b, inst),
        IntegerOp::Sgxt | IntegerOp::USgxt | IntegerOp::BMsk | IntegerOp::UBMsk => bits::field(b, inst),
        IntegerOp::Flo | IntegerOp::UFlo => bits::find(b, inst),
        IntegerOp::VAbsDiff | IntegerOp::VAbsDiff4 => integer::difference(b, inst),
        IntegerOp::I2I => integer::saturate(b, inst),
    }
}

fn move_op(b: &mut Builder<'_>, inst: &SassInst, op: MoveOp) -> Lowered<()> {
    match op {
        MoveOp::Mov => moves::copy_lanes(b, inst),
        MoveOp::UMov => moves::copy(b, inst),
        MoveOp::Sel | MoveOp::USel => moves::select(b, inst),
        MoveOp::Lop3 | MoveOp::ULop3 => moves::logic(b, inst),
        MoveOp::PLop3 | MoveOp::UPLop3 => moves::predicate_logic(b, inst),
        MoveOp::PLop3Sign | MoveOp::UPLop3Sign => moves::sign_logic(b, inst),
        MoveOp::Prmt | MoveOp::UPrmt => moves::permute(b, inst),
        MoveOp::P2R | MoveOp::UP2Ur => moves::predicates_to_register(b, inst),
        MoveOp::R2P | MoveOp::UR2Up => moves::register_to_predicates(b, inst),
        MoveOp::S2R => moves::special(b, inst),
        MoveOp::Cs2R => moves::wide_special(b, inst),
        MoveOp::S2Ur => moves::uniform_special(b, inst),
        MoveOp::ULdC => moves::load_constant(b, inst),
    }
}

fn memory_op(b: &mut Builder<'_>, inst: &SassInst, op: MemoryOp) -> Lowered<()> {
    match op {
        MemoryOp::LdG => memory::load(b, inst, Space::Global),
        MemoryOp::LdS => memory::load(b, inst, Space::Shared),
        MemoryOp::LdL => memory::load(b, inst, Space::Local),
        MemoryOp::Ld => memory::load(b, inst, Space::Generic),
        MemoryOp::StG => memory::store(b, inst, Space::Global),
        MemoryOp::StS => memory::store(b, inst, Space::Shared),
        MemoryOp::StL => memory::store(b, inst, Space::Local),
        MemoryOp::St => memory::store(b, inst, Space::Generic),
        MemoryOp::LdC => memory::load_constant(b, inst),
        MemoryOp::AtomG | MemoryOp::AtomGCas => memory::atomic(b, inst, Space::Global),
        MemoryOp::Atom | MemoryOp::AtomCas | MemoryOp::Red | MemoryOp::RedG => memory::atomic(b, inst, Space::Generic),
        MemoryOp::AtomS | MemoryOp::AtomSCas | MemoryOp::AtomSPopcInc => memory::atomic(b, inst, Space::Shared),
        MemoryOp::ArriveS if b.sm >= 90 => barrier::copies_arrive(b, inst),
        MemoryOp::AtomSArrive | MemoryOp::ArriveS => memory::arrive(b, inst),
        MemoryOp::LdGSts => memory::copy(b, inst),
        MemoryOp::StAs => barrier::store(b, inst),
        MemoryOp::RedAs => barrier::reduce(b, inst),
        MemoryOp::SyncsExch => barrier::exchange(b, inst),
        MemoryOp::SyncsArrive => barrier::arrive(b, inst),
        MemoryOp::SyncsPhaseChk => barrier::check(b, inst),
        MemoryOp::UBlkCp | MemoryOp::UBlkRed | MemoryOp::UBlkPf => copies::bulk(b, inst),
        MemoryOp::UTmaLdG | MemoryOp::UTmaStG | MemoryOp::UTmaRedG | MemoryOp::UTmaPf => copies::tensor(b, inst),
        MemoryOp::UTmaCctl => copies::tensor_map(b, inst),
        MemoryOp::QSpc => memory::query_space(b, inst),
    }
}

fn float_op(b: &mut Builder<'_>, inst: &SassInst, op: FloatOp) -> Lowered<()> {
    match op {
        FloatOp::FAdd => float::add_f32(b, inst),
        FloatOp::FMul => float::multiply_f32(b, inst),
        FloatOp::FFma => float::fuse_f32(b, inst),
        FloatOp::FMnMx => float::extreme(b, inst),
        FloatOp::FSel => float::select(b, inst),
        FloatOp::FSet => float::set(b, inst),
        FloatOp::FSetP => float::compare_f32(b, inst),
        FloatOp::FChk => float::check_division(b, inst),
        FloatOp::MuFu => float::special_function(b, inst),
        FloatOp::DAdd => float::add_f64(b, inst),
        FloatOp::DMul => float::multiply_f64(b, inst),
        FloatOp::DFma => float::fuse_f64(b, inst),
        FloatOp::DSetP => float::compare_f64(b, inst),
    }
}

fn control_op(b: &mut Builder<'_>, inst: &SassInst, op: ControlOp) -> Lowered<()> {
    match op {
        ControlOp::Bra => control::branch(b, inst),
        ControlOp::Call | ControlOp::Brx | ControlOp::BrxU | ControlOp::Ret => control::jump(b, inst),
        ControlOp::Lepc => control::own_address(b, inst),
        ControlOp::Exit | ControlOp::Kill => control::exit(b, inst),
        ControlOp::BSsy | ControlOp::BSync | ControlOp::Break => control::convergence_barrier(b, inst),
        ControlOp::BMov | ControlOp::BMovToBarrier => control::move_barrier(b, inst),
        ControlOp::Yield => emit(b, Op::Steer(Steer::Yield)),
        ControlOp::WarpSync => control::warp_sync(b, inst),
        ControlOp::WarpSyncAll => control::warp_sync_all(b, inst),
        ControlOp::EndCollective => control::end_collective(b),
        ControlOp::Bar => control::cta_barrier(b, inst),
        ControlOp::B2R => control::barrier_result(b, inst),
        ControlOp::UCgaBarArv => emit(b, Op::ClusterBarrier(ClusterBarrier::Arrive)),
        ControlOp::UCgaBarWait => emit(b, Op::ClusterBarrier(ClusterBarrier::Wait)),
        ControlOp::USetMaxReg => control::set_registers(b, inst),
        ControlOp::MemBar => control::fence(b, inst),
        ControlOp::LdGDepBar => emit(b, Op::AsyncCommit),
        ControlOp::UTmaCmdFlush => emit(b, Op::BulkCommit),
        ControlOp::DepBar => control::wait(b, inst),
        ControlOp::NanoSleep => control::sleep(b, inst),
        ControlOp::Bpt => control::trap(b, inst),
        // Without effect here. Grids of a stream run one after another: there is nothing to wait for.
        ControlOp::AcqBulk | ControlOp::PreExit | ControlOp::FenceViewAsync => Ok(()),
        ControlOp::WarpGroup => group::wait(b, inst),
        ControlOp::Nop
        | ControlOp::PmTrig
        | ControlOp::Cctl
        | ControlOp::SyncsCctl
        | ControlOp::ErrBar
        | ControlOp::CgaErrBar => Ok(()),
    }
}

fn warp_op(b: &mut Builder<'_>, inst: &SassInst, op: WarpOp) -> Lowered<()> {
    match op {
        WarpOp::Shfl => warp::shuffle(b, inst),
        WarpOp::Vote | WarpOp::VoteU => warp::vote(b, inst),
        WarpOp::Match => warp::match_lanes(b, inst),
        WarpOp::Redux => warp::reduce(b, inst),
        WarpOp::Elect => warp::elect(b, inst),
        WarpOp::R2Ur => warp::to_uniform(b, inst),
    }
}

fn convert_op(b: &mut Builder<'_>, inst: &SassInst, op: ConvertOp) -> Lowered<()> {
    match op {
        ConvertOp::F2F => convert::float_to_float(b, inst),
        ConvertOp::FRnd => convert::round(b, inst),
        ConvertOp::F2I => convert::float_to_int(b, inst),
        ConvertOp::I2F => convert::int_to_float(b, inst),
        ConvertOp::I2Fp => convert::word_to_float(b, inst),
        ConvertOp::F2Fp => convert::pack_halves(b, inst),
        ConvertOp::F2FpMerge => convert::merge_half(b, inst),
        ConvertOp::F2FpBytes => convert::to_bytes(b, inst),
        ConvertOp::F2FpBytesOfHalves => convert::halves_to_bytes(b, inst),
        ConvertOp::F2FpHalves => convert::bytes_to_halves(b, inst),
        ConvertOp::I2Ip => convert::pack_integers(b, inst),
        ConvertOp::F2Ip => convert::pack_bytes(b, inst),
    }
}

fn half_op(b: &mut Builder<'_>, inst: &SassInst, op: HalfOp) -> Lowered<()> {
    match op {
        HalfOp::HAdd2 => half::add(b, inst, Float2::AddF16x2),
        HalfOp::HAdd2Bf16 => half::add(b, inst, Float2::AddBf16x2),
        HalfOp::HMul2 => half::multiply(b, inst, Float2::MulF16x2),
        HalfOp::HMul2Bf16 => half::multiply(b, inst, Float2::MulBf16x2),
        HalfOp::HFma2 | HalfOp::HFma2Mma => half::fuse(b, inst, Float3::FmaF16x2),
        HalfOp::HFma2Bf16 | HalfOp::HFma2MmaBf16 => half::fuse(b, inst, Float3::FmaBf16x2),
        HalfOp::HMnMx2 => half::extreme(b, inst, [Float2::MinF16x2, Float2::MaxF16x2]),
        HalfOp::HMnMx2Bf16 => half::extreme(b, inst, [Float2::MinBf16x2, Float2::MaxBf16x2]),
        HalfOp::HSet2 | HalfOp::HSet2Bf16 => half::set(b, inst),
        HalfOp::HSetP2 | HalfOp::HSetP2Bf16 => half::set_predicates(b, inst),
        HalfOp::VHMnMx => half::extreme_of_three(b, inst),
    }
}

fn matrix_op(b: &mut Builder<'_>, inst: &SassInst, op: MatrixOp) -> Lowered<()> {
    match op {
        MatrixOp::HMma => matrix::half(b, inst),
        MatrixOp::HMmaStep => matrix::step(b, inst),
        MatrixOp::IMma => matrix::integer(b, inst),
        MatrixOp::BMma => matrix::bits(b, inst),
        MatrixOp::QMma => matrix::bytes(b, inst),
        MatrixOp::DMma => matrix::double(b, inst),
        MatrixOp::HGmma | MatrixOp::QGmma | MatrixOp::IGmma | MatrixOp::BGmma => group::multiply(b, inst),
        MatrixOp::LdSm => matrix::load_tiles(b, inst),
        MatrixOp::StSm => matrix::store_tiles(b, inst),
        MatrixOp::MovM => matrix::transpose(b, inst),
    }
}

fn texture_op(b: &mut Builder<'_>, inst: &SassInst, op: TextureOp) -> Lowered<()> {
    match op {
        TextureOp::Tex => texture::fetch(b, inst, FetchKind::Sample),
        TextureOp::Tld => texture::fetch(b, inst, FetchKind::Texel),
        TextureOp::Tld4 => texture::gather(b, inst),
        TextureOp::Txq => texture::query(b, inst),
        TextureOp::SuLd | TextureOp::SuSt => texture::surface(b, inst),
    }
}

fn emit(b: &mut Builder<'_>, op: Op) -> Lowered<()> {
    b.emit(op);
    Ok(())
}
