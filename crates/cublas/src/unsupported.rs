//! Functions that are not supported: each is named once on standard error.
//!
//! Of the interface without handles (cublas.h) there is nothing: programs have been written against cublas_v2.h since
//! CUDA 4.0.

use std::ffi::c_int;

use crate::status::Status;

/// Reports a wrong argument: nothing is printed.
// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn cublasXerbla(_name: usize, _argument: c_int) {}

cabi::not_supported! {
    Status;
    cublasCgelsBatched, cublasCgeqrfBatched,
    cublasDgelsBatched, cublasDgeqrfBatched,
    cublasGetEmulationSpecialValuesSupport, cublasGetEmulationStrategy,
    cublasGetFixedPointEmulationMantissaBitCountPointer, cublasGetFixedPointEmulationMantissaBitOffset,
    cublasGetFixedPointEmulationMantissaControl, cublasGetFixedPointEmulationMaxMantissaBitCount,
    cublasLtDisableCpuInstructionsSetMask, cublasLtEmulationDescCreate, cublasLtEmulationDescDestroy,
    cublasLtEmulationDescGetAttribute, cublasLtEmulationDescInit_internal, cublasLtEmulationDescSetAttribute,
    cublasLtGroupedMatrixLayoutCreate, cublasLtGroupedMatrixLayoutInit_internal, cublasLtMatmulAlgoCheckForStream,
    cublasLtMatmulAlgoGetHeuristicForStream,
    cublasSetEmulationSpecialValuesSupport, cublasSetEmulationStrategy,
    cublasSetFixedPointEmulationMantissaBitCountPointer, cublasSetFixedPointEmulationMantissaBitOffset,
    cublasSetFixedPointEmulationMantissaControl, cublasSetFixedPointEmulationMaxMantissaBitCount, cublasSgelsBatched,
    cublasSgeqrfBatched, cublasUint8gemmBias, cublasZgelsBatched, cublasZgeqrfBatched,
}

// The interface without handles.
cabi::not_supported! {
    Status;
    cublasAlloc, cublasCaxpy, cublasCcopy, cublasCdotc, cublasCdotu, cublasCgbmv, cublasCgemm, cublasCgemv,
    cublasCgerc, cublasCgeru, cublasChbmv, cublasChemm, cublasChemv, cublasCher, cublasCher2, cublasCher2k,
    cublasCherk, cublasChpmv, cublasChpr, cublasChpr2, cublasCrot, cublasCrotg, cublasCscal, cublasCsrot,
    cublasCsscal, cublasCswap, cublasCsymm, cublasCsyr2k, cublasCsyrk, cublasCtbmv, cublasCtbsv, cublasCtpmv,
    cublasCtpsv, cublasCtrmm, cublasCtrmv, cublasCtrsm, cublasCtrsv, cublasDasum, cublasDaxpy, cublasDcopy,
    cublasDdot, cublasDgbmv, cublasDgemm, cublasDgemv, cublasDger, cublasDnrm2, cublasDrot, cublasDrotg, cublasDrotm,
    cublasDrotmg, cublasDsbmv, cublasDscal, cublasDspmv, cublasDspr, cublasDspr2, cublasDswap, cublasDsymm,
    cublasDsymv, cublasDsyr, cublasDsyr2, cublasDsyr2k, cublasDsyrk, cublasDtbmv, cublasDtbsv, cublasDtpmv,
    cublasDtpsv, cublasDtrmm, cublasDtrmv, cublasDtrsm, cublasDtrsv, cublasDzasum, cublasDznrm2, cublasFree,
    cublasGetError, cublasGetVersion, cublasIcamax, cublasIcamin, cublasIdamax, cublasIdamin, cublasInit,
    cublasIsamax, cublasIsamin, cublasIzamax, cublasIzamin, cublasSasum, cublasSaxpy, cublasScasum, cublasScnrm2,
    cublasScopy, cublasSdot, cublasSetKernelStream, cublasSgbmv, cublasSgemm, cublasSgemv, cublasSger, cublasShutdown,
    cublasSnrm2, cublasSrot, cublasSrotg, cublasSrotm, cublasSrotmg, cublasSsbmv, cublasSscal, cublasSspmv,
    cublasSspr, cublasSspr2, cublasSswap, cublasSsymm, cublasSsymv, cublasSsyr, cublasSsyr2, cublasSsyr2k,
    cublasSsyrk, cublasStbmv, cublasStbsv, cublasStpmv, cublasStpsv, cublasStrmm, cublasStrmv, cublasStrsm,
    cublasStrsv, cublasZaxpy, cublasZcopy, cublasZdotc, cublasZdotu, cublasZdrot, cublasZdscal, cublasZgbmv,
    cublasZgemm, cublasZgemv, cublasZgerc, cublasZgeru, cublasZhbmv, cublasZhemm, cublasZhemv, cublasZher,
    cublasZher2, cublasZher2k, cublasZherk, cublasZhpmv, cublasZhpr, cublasZhpr2, cublasZrot, cublasZrotg,
    cublasZscal, cublasZswap, cublasZsymm, cublasZsyr2k, cublasZsyrk, cublasZtbmv, cublasZtbsv, cublasZtpmv,
    cublasZtpsv, cublasZtrmm, cublasZtrmv, cublasZtrsm, cublasZtrsv,
}

// Matrices on the host, over several devices.
cabi::not_supported! {
    Status;
    cublasXtCgemm, cublasXtChemm, cublasXtCher2k, cublasXtCherk, cublasXtCherkx, cublasXtCreate, cublasXtCspmm,
    cublasXtCsymm, cublasXtCsyr2k, cublasXtCsyrk, cublasXtCsyrkx, cublasXtCtrmm, cublasXtCtrsm, cublasXtDestroy,
    cublasXtDeviceSelect, cublasXtDgemm, cublasXtDspmm, cublasXtDsymm, cublasXtDsyr2k, cublasXtDsyrk, cublasXtDsyrkx,
    cublasXtDtrmm, cublasXtDtrsm, cublasXtGetBlockDim, cublasXtGetNumBoards, cublasXtGetPinningMemMode,
    cublasXtMaxBoards, cublasXtSetBlockDim, cublasXtSetCpuRatio, cublasXtSetCpuRoutine, cublasXtSetPinningMemMode,
    cublasXtSgemm, cublasXtSspmm, cublasXtSsymm, cublasXtSsyr2k, cublasXtSsyrk, cublasXtSsyrkx, cublasXtStrmm,
    cublasXtStrsm, cublasXtZgemm, cublasXtZhemm, cublasXtZher2k, cublasXtZherk, cublasXtZherkx, cublasXtZspmm,
    cublasXtZsymm, cublasXtZsyr2k, cublasXtZsyrk, cublasXtZsyrkx, cublasXtZtrmm, cublasXtZtrsm,
}
