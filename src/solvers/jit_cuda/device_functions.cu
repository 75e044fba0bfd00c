// SPDX-License-Identifier: MIT
// What kernels need of an NVIDIA GPU beyond C++. emulated_gpu.h has the same functions for a host.
#define ATTUNE_UNROLL _Pragma("unroll")

static __device__ float half_to_float(unsigned short half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}

static __device__ unsigned short float_to_half(float value) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}

static __device__ unsigned short float_to_bfloat(float value) {
  unsigned short bfloat;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bfloat) : "f"(value));
  return bfloat;
}

// sums (16×8) += a (16×16) · b (16×8). Lane 4·i + j has row i (registers 0, 1) and row i + 8 of the sums, columns 2j
// and 2j + 1 (PTX, mma.m16n8k16). kType: 1 bf16, 2 fp16.
template <int kType>
static __device__ void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (kType == 1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Four 8×8 matrices of 16-bit elements; lane 8·i + j gives the address of row j of matrix i, and gets of each the
// elements 2·(lane % 4) and the next of row lane / 4.
static __device__ void load_matrices(unsigned (&matrices)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

// 16 bytes of shared memory become `bytes` (0 or 16) of global memory, and zeros, at some time before copies_done().
static __device__ void copy_later(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes)
               : "memory");
}

static __device__ void end_copy_group() { asm volatile("cp.async.commit_group;" : : : "memory"); }

// Waits for this thread's copies, but those of its last `kLeft` groups.
template <int kLeft>
static __device__ void copies_done() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
}

// 16 bytes that are read once, or zeros, for which no address is read.
static __device__ uint4 load_once(const void* address, bool is_there) {
  uint4 words = {0, 0, 0, 0};
  asm volatile(
      "{\n.reg .pred there;\nsetp.ne.u32 there, %5, 0;\n"
      "@there ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];\n}"
      : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w)
      : "l"(address), "r"(static_cast<unsigned>(is_there)));
  return words;
}

// The same for what other threads read, too.
static __device__ uint4 load_again(const void* address, bool is_there) {
  uint4 words = {0, 0, 0, 0};
  asm volatile(
      "{\n.reg .pred there;\nsetp.ne.u32 there, %5, 0;\n"
      "@there ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];\n}"
      : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w)
      : "l"(address), "r"(static_cast<unsigned>(is_there)));
  return words;
}

static __device__ float sum_of_lanes(float value) {
  ATTUNE_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

static __device__ unsigned char* shared_memory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}
