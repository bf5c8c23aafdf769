//! Functions that the runtime does not support: graphics, memory and semaphores of other interfaces, execution
//! contexts, batches other than of copies. Each function is named once on standard error.

use std::ffi::{c_int, c_uint};

use crate::api::{api, enter};
use crate::argument::{In, Out};
use crate::driver::name_once;
use crate::error::Error;

/// Functions that return `cudaErrorNotSupported`, whatever their arguments are.
macro_rules! not_supported {
    ($($name:ident),* $(,)?) => {
        $(
            // SAFETY: the name belongs to this API, which defines it once. The arguments of the
            // declaration are the caller's to pass and to remove: none is read.
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> c_int {
                name_once(format!("{} is not supported", stringify!($name)));
                enter(|| Err(Error::NOT_SUPPORTED))
            }
        )*
    };
}

/// Functions of objects that no other function makes: any handle is a wrong one.
macro_rules! no_such_handle {
    ($($name:ident),* $(,)?) => {
        $(
            // SAFETY: as above.
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> c_int {
                enter(|| Err(Error::INVALID_HANDLE))
            }
        )*
    };
}

api! {
    // No device draws.
    fn cudaGLGetDevices(count: Out<c_uint>, _devices: Out<c_int>, _room: c_uint, _list: c_int) {
        count.set_unless_null(0)?;
        Err(Error::NO_DEVICE)
    }

    fn cudaVDPAUGetDevice(_device: Out<c_int>, _of: c_uint, _get: Out<u8>) {
        Err(Error::NO_DEVICE)
    }

    // Devices have doubles, so there is nothing to convert.
    fn cudaSetDoubleForDevice(value: In<u64>) { value.get().map(drop) }
    fn cudaSetDoubleForHost(value: In<u64>) { value.get().map(drop) }
}

no_such_handle! {
    cudaDestroyExternalMemory,
    cudaDestroyExternalSemaphore,
    cudaGLMapBufferObject,
    cudaGLMapBufferObjectAsync,
    cudaGLSetBufferObjectMapFlags,
    cudaGLUnmapBufferObject,
    cudaGLUnmapBufferObjectAsync,
    cudaGLUnregisterBufferObject,
    cudaGraphicsMapResources,
    cudaGraphicsResourceGetMappedEglFrame,
    cudaGraphicsResourceGetMappedMipmappedArray,
    cudaGraphicsResourceGetMappedPointer,
    cudaGraphicsResourceSetMapFlags,
    cudaGraphicsSubResourceGetMappedArray,
    cudaGraphicsUnmapResources,
    cudaGraphicsUnregisterResource,
}

not_supported! {
    cudaDevResourceGenerateDesc,
    cudaDevSmResourceSplit,
    cudaDevSmResourceSplitByCount,
    cudaDeviceGetDevResource,
    cudaDeviceGetExecutionCtx,
    cudaDeviceGetHostAtomicCapabilities,
    cudaDeviceGetNvSciSyncAttributes,
    cudaDeviceGetP2PAtomicCapabilities,
    cudaDeviceRegisterAsyncNotification,
    cudaDeviceUnregisterAsyncNotification,
    cudaEGLStreamConsumerAcquireFrame,
    cudaEGLStreamConsumerConnect,
    cudaEGLStreamConsumerConnectWithFlags,
    cudaEGLStreamConsumerDisconnect,
    cudaEGLStreamConsumerReleaseFrame,
    cudaEGLStreamProducerConnect,
    cudaEGLStreamProducerDisconnect,
    cudaEGLStreamProducerPresentFrame,
    cudaEGLStreamProducerReturnFrame,
    cudaEventCreateFromEGLSync,
    cudaExecutionCtxDestroy,
    cudaExecutionCtxGetDevResource,
    cudaExecutionCtxGetDevice,
    cudaExecutionCtxGetId,
    cudaExecutionCtxRecordEvent,
    cudaExecutionCtxStreamCreate,
    cudaExecutionCtxSynchronize,
    cudaExecutionCtxWaitEvent,
    cudaExternalMemoryGetMappedBuffer,
    cudaExternalMemoryGetMappedMipmappedArray,
    cudaGLRegisterBufferObject,
    cudaGLSetGLDevice,
    cudaGraphAddExternalSemaphoresSignalNode,
    cudaGraphAddExternalSemaphoresWaitNode,
    cudaGraphConditionalHandleCreate,
    cudaGraphConditionalHandleCreate_v2,
    cudaGraphExecExternalSemaphoresSignalNodeSetParams,
    cudaGraphExecExternalSemaphoresWaitNodeSetParams,
    cudaGraphExecGetId,
    cudaGraphExternalSemaphoresSignalNodeGetParams,
    cudaGraphExternalSemaphoresSignalNodeSetParams,
    cudaGraphExternalSemaphoresWaitNodeGetParams,
    cudaGraphExternalSemaphoresWaitNodeSetParams,
    cudaGraphGetId,
    cudaGraphNodeGetContainingGraph,
    cudaGraphNodeGetLocalId,
    cudaGraphNodeGetParams,
    cudaGraphNodeGetToolsId,
    cudaGraphicsEGLRegisterImage,
    cudaGraphicsGLRegisterBuffer,
    cudaGraphicsGLRegisterImage,
    cudaGraphicsVDPAURegisterOutputSurface,
    cudaGraphicsVDPAURegisterVideoSurface,
    cudaGreenCtxCreate,
    cudaImportExternalMemory,
    cudaImportExternalSemaphore,
    cudaLaunchCooperativeKernelMultiDevice,
    cudaMemDiscardAndPrefetchBatchAsync,
    cudaMemDiscardAndPrefetchBatchAsync_ptsz,
    cudaMemDiscardBatchAsync,
    cudaMemDiscardBatchAsync_ptsz,
    cudaMemGetLocationInfo,
    cudaMemPrefetchBatchAsync,
    cudaMemPrefetchBatchAsync_ptsz,
    cudaMemcpy3DBatchAsync,
    cudaMemcpy3DBatchAsync_ptsz,
    cudaMemcpy3DWithAttributesAsync,
    cudaMemcpy3DWithAttributesAsync_ptsz,
    cudaProfilerInitialize,
    cudaSignalExternalSemaphoresAsync,
    cudaSignalExternalSemaphoresAsync_ptsz,
    cudaSignalExternalSemaphoresAsync_v2,
    cudaSignalExternalSemaphoresAsync_v2_ptsz,
    cudaStreamBeginRecaptureToGraph,
    cudaStreamBeginRecaptureToGraph_ptsz,
    cudaStreamGetDevResource,
    cudaStreamGetDevResource_ptsz,
    cudaVDPAUSetVDPAUDevice,
    cudaWaitExternalSemaphoresAsync,
    cudaWaitExternalSemaphoresAsync_ptsz,
    cudaWaitExternalSemaphoresAsync_v2,
    cudaWaitExternalSemaphoresAsync_v2_ptsz,
}
