// SPDX-License-Identifier: MIT
// For text that the C++ compiler and those of kernels read.
#pragma once

#ifdef __CUDACC__
#define ATTUNE_EVERYWHERE __host__ __device__
#else
#define ATTUNE_EVERYWHERE
#endif
