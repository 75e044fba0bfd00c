// SPDX-License-Identifier: MIT
// What kernels need of an NVIDIA GPU beyond C++. emulated_gpu.h has the same functions for a host.
#define ATTUNE_UNROLL _Pragma("unroll")
// A loop that the compiler would unroll for its size takes it longer than all the rest.
#define ATTUNE_ROLL _Pragma("unroll 1")
#define ATTUNE_PRAGMA(text) _Pragma(#text)
#define ATTUNE_UNROLL_TIMES(times) ATTUNE_PRAGMA(unroll times)

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

// An element that is read again, or 0, for which no address is read.
static __device__ unsigned short load_short(const void* address, bool is_there) {
  unsigned short element;
  asm volatile("{\n.reg .pred there;\nsetp.ne.u32 there, %2, 0;\nmov.u16 %0, 0;\n@there ld.global.nc.u16 %0, [%1];\n}"
               : "=h"(element)
               : "l"(address), "r"(static_cast<unsigned>(is_there)));
  return element;
}
static __device__ unsigned load_word(const void* address, bool is_there) {
  unsigned element = 0;
  asm volatile("{\n.reg .pred there;\nsetp.ne.u32 there, %2, 0;\n@there ld.global.nc.u32 %0, [%1];\n}"
               : "+r"(element)
               : "l"(address), "r"(static_cast<unsigned>(is_there)));
  return element;
}

// Two neighbouring elements at once or, where the address is odd (is_odd), the first and, if it exists, the second. One
// text without a branch: a loop would be compiled twice, for odd addresses and for even ones.
static __device__ void store_shorts(unsigned short* to, unsigned short first, unsigned short second, bool is_odd,
                                    bool has_second) {
  asm volatile(
      "{\n.reg .pred odd, second;\n.reg .b32 both;\nsetp.ne.u32 odd, %3, 0;\nsetp.ne.u32 second, %4, 0;\n"
      "mov.b32 both, {%1, %2};\n@!odd st.global.b32 [%0], both;\n@odd st.global.b16 [%0], %1;\n"
      "@second st.global.b16 [%0 + 2], %2;\n}"
      :
      : "l"(to), "h"(first), "h"(second), "r"(static_cast<unsigned>(is_odd)), "r"(static_cast<unsigned>(has_second))
      : "memory");
}
static __device__ void store_floats(float* to, float2 both, bool is_odd, bool has_second) {
  asm volatile(
      "{\n.reg .pred odd, second;\nsetp.ne.u32 odd, %3, 0;\nsetp.ne.u32 second, %4, 0;\n"
      "@!odd st.global.cg.v2.f32 [%0], {%1, %2};\n@odd st.global.cg.f32 [%0], %1;\n"
      "@second st.global.cg.f32 [%0 + 4], %2;\n}"
      :
      : "l"(to), "f"(both.x), "f"(both.y), "r"(static_cast<unsigned>(is_odd)), "r"(static_cast<unsigned>(has_second))
      : "memory");
}

// At a multiple of 128 bytes, the longest row of a tile's stage.
static __device__ unsigned char* shared_memory() {
  extern __shared__ __align__(128) unsigned char memory[];
  return memory;
}
