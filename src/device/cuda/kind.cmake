# SPDX-License-Identifier: MIT
# Its sources include the driver's header, and its kernels need the toolkit's compiler.
set(is_built ${ATTUNE_HAS_CUDA})
function(attune_finish_cuda_devices target)
  attune_embed_cuda_kernels(${target} cuda/device_kernels.cu cuda_memory_kernels)
  target_link_libraries(${target} PRIVATE CUDA::toolkit ${CMAKE_DL_LIBS})
endfunction()
