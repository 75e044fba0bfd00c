# SPDX-License-Identifier: MIT
# ATTUNE_HAS_CUDA: whether devices, compiler and solvers of NVIDIA's GPUs are built. That needs the toolkit, and no GPU; what is built
# needs neither to start, because driver and libraries are opened when they are first asked for.
set(ATTUNE_CUDA AUTO CACHE STRING "GPUs of NVIDIA: AUTO, ON or OFF")
set_property(CACHE ATTUNE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(ATTUNE_HAS_CUDA OFF)
if(NOT ATTUNE_CUDA STREQUAL OFF)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_NVCC_EXECUTABLE)
    set(ATTUNE_HAS_CUDA ON)
  elseif(ATTUNE_CUDA STREQUAL ON)
    message(FATAL_ERROR "ATTUNE_CUDA is ON but no CUDA toolkit with nvcc was found")
  else()
    message(STATUS "GPUs of NVIDIA: skipped, no CUDA toolkit with nvcc was found")
  endif()
endif()
if(NOT ATTUNE_HAS_CUDA)
  file(GLOB tests RELATIVE ${CMAKE_SOURCE_DIR} src/compile/nvrtc/*_test.cpp src/device/cuda/*_test.cpp src/solvers/cublas*/*_test.cpp
       src/solvers/jit_cuda/*_test.cpp src/solvers/triton/*_test.cpp)
  foreach(test ${tests})
    file(APPEND ${CMAKE_BINARY_DIR}/skipped_tests.txt "${test}: skipped, there is no CUDA toolkit with nvcc, or ATTUNE_CUDA is OFF\n")
  endforeach()
endif()

# attune_embed_cuda_kernels(target kernels.cu symbol): compiles kernels for the architectures below, with no GPU, and adds them to the
# target as `extern "C" const unsigned char symbol[]`, an image for cuModuleLoadData. The last architecture goes in as text as well,
# which the driver compiles for later ones.
set(ATTUNE_CUDA_ARCHITECTURES "80;90" CACHE STRING "Architectures of NVIDIA that the build makes kernels for")

function(attune_embed_cuda_kernels target source symbol)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.fatbin)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  set(architectures "")
  foreach(architecture ${ATTUNE_CUDA_ARCHITECTURES})
    list(APPEND architectures -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET ATTUNE_CUDA_ARCHITECTURES -1 newest)
  list(APPEND architectures -gencode arch=compute_${newest},code=compute_${newest})
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -std=c++20 -O3 --fatbin ${architectures} -ccbin ${CMAKE_CXX_COMPILER} -o ${image}
            -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/include -MD -MF ${image}.d -MT ${object} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    COMMAND ${CUDAToolkit_BIN_DIR}/bin2c --const --name ${symbol} ${image} > ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPFILE ${image}.d
    COMMENT "Compiling ${source} for ${ATTUNE_CUDA_ARCHITECTURES}")
  target_sources(${target} PRIVATE ${object})
endfunction()

# attune_embed_kernels(target kernels.cu name): compiles kernels for each kind of device of this build that has a compiler for them, and
# adds `std::span<const attune::KernelImage> attune::name()` to the target: none where there is no such compiler.
function(attune_embed_kernels target source name)
  set(declarations "")
  set(images "")
  if(ATTUNE_HAS_CUDA)
    attune_embed_cuda_kernels(${target} ${source} cuda_${name})
    string(APPEND declarations "extern \"C\" const unsigned char cuda_${name}[];\n")
    string(APPEND images "{\"cuda\", cuda_${name}}, ")
  endif()
  configure_file(${CMAKE_SOURCE_DIR}/cmake/kernel_images.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp @ONLY)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
endfunction()
