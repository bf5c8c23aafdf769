//! The bundled workloads. To add one: its CUDA source in `kernels/`, its file and its two lines
//! here, its sizes in `tests/functional.rs`, then `tools/rebuild-kernels`.

mod aes;
mod asynccopy;
mod backprop;
mod beamformer;
mod bfs;
mod bfslevels;
mod binomial;
mod bitonic;
mod btree;
mod cfd;
mod cifarnet;
mod convlayer;
mod convolution;
mod cp;
mod dct;
mod des;
mod digits;
mod dwt2d;
mod flashattention;
mod flashattention3;
mod floydwarshall;
mod gaussian;
mod gemm;
mod gru;
mod hashtable;
mod histogram;
mod hotspot;
mod hybridsort;
mod imagefilter;
mod int8mma;
mod kmeans;
mod lastblock;
mod lavamd;
mod libor;
mod lps;
mod lstm;
mod lud;
mod mandelbrot;
mod matmul;
mod matrixmul;
mod montecarlo;
mod multiwork;
mod mummer;
mod myocyte;
mod nbody;
mod nn;
mod nw;
mod particlefilter;
mod pathfinder;
mod raytrace;
mod reduction;
mod rnn;
mod saxpy;
mod spmv;
mod srad;
mod sssp;
mod stencil;
mod storegpu;
mod streamcluster;
mod transformer;
mod transpose;
mod vectoradd;
mod wgmma;
mod wmma;

use crate::workload::{Workload, WorkloadError};
use isa::Form;

/// Every workload, in the order of lists.
pub static ALL: &[Workload] = &[
    vectoradd::WORKLOAD,
    matmul::WORKLOAD,
    reduction::WORKLOAD,
    histogram::WORKLOAD,
    transpose::WORKLOAD,
    backprop::WORKLOAD,
    bfs::WORKLOAD,
    btree::WORKLOAD,
    gaussian::WORKLOAD,
    hotspot::WORKLOAD,
    kmeans::WORKLOAD,
    lavamd::WORKLOAD,
    lud::WORKLOAD,
    nn::WORKLOAD,
    nw::WORKLOAD,
    pathfinder::WORKLOAD,
    stencil::WORKLOAD,
    nbody::WORKLOAD,
    wmma::WORKLOAD,
    int8mma::WORKLOAD,
    asynccopy::WORKLOAD,
    lastblock::WORKLOAD,
    hashtable::WORKLOAD,
    imagefilter::WORKLOAD,
    spmv::WORKLOAD,
    bitonic::WORKLOAD,
    cfd::WORKLOAD,
    particlefilter::WORKLOAD,
    saxpy::WORKLOAD,
    lps::WORKLOAD,
    cp::WORKLOAD,
    libor::WORKLOAD,
    storegpu::WORKLOAD,
    aes::WORKLOAD,
    digits::WORKLOAD,
    mummer::WORKLOAD,
    raytrace::WORKLOAD,
    binomial::WORKLOAD,
    montecarlo::WORKLOAD,
    srad::WORKLOAD,
    mandelbrot::WORKLOAD,
    convolution::WORKLOAD,
    dct::WORKLOAD,
    gemm::WORKLOAD,
    convlayer::WORKLOAD,
    rnn::WORKLOAD,
    sssp::WORKLOAD,
    floydwarshall::WORKLOAD,
    des::WORKLOAD,
    streamcluster::WORKLOAD,
    hybridsort::WORKLOAD,
    dwt2d::WORKLOAD,
    myocyte::WORKLOAD,
    beamformer::WORKLOAD,
    cifarnet::WORKLOAD,
    bfslevels::WORKLOAD,
    matrixmul::WORKLOAD,
    multiwork::WORKLOAD,
    gru::WORKLOAD,
    lstm::WORKLOAD,
    wgmma::WORKLOAD,
    flashattention3::WORKLOAD,
    flashattention::WORKLOAD,
    transformer::WORKLOAD,
];

/// Those that a GPU of an architecture runs as such code: [`Workload::runs_on`].
pub fn on(form: Form, sm_version: u32) -> impl Iterator<Item = &'static Workload> {
    ALL.iter().filter(move |workload| workload.runs_on(form, sm_version))
}

/// The workload called `name`.
pub fn find(name: &str) -> Result<&'static Workload, WorkloadError> {
    ALL.iter().find(|w| w.name == name).ok_or_else(|| WorkloadError::UnknownWorkload {
        name: name.to_owned(),
        known: ALL.iter().map(|w| w.name).collect(),
    })
}
