// SPDX-License-Identifier: MIT
// Behind device_functions.cu, for kernels whose operands pass through shared memory.

// An address of shared memory as load_matrices() and copy_later() take it.
static __device__ unsigned shared_address(const void* address) {
  return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

// Four 8×8 matrices of 16-bit elements; lane 8·i + j gives the address of row j of matrix i, and gets of each the
// elements 2·(lane % 4) and the next of row lane / 4.
static __device__ void load_matrices(unsigned (&matrices)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(row)
               : "memory");
}

// 16 bytes of shared memory become `bytes` (0 or 16) of global memory, and zeros, at some time before copies_done().
static __device__ void copy_later(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" : : "r"(to), "l"(from), "r"(bytes) : "memory");
}

static __device__ void end_copy_group() { asm volatile("cp.async.commit_group;" : : : "memory"); }

// Waits for this thread's copies, but those of its last `kLeft` groups.
template <int kLeft>
static __device__ void copies_done() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
}
