// SPDX-License-Identifier: MIT
// Text of the kernels for fp8 and e2m1: lanes are columns of C, and packing decodes b. Both operands have K in the
// order in which decode() yields it. Every tile sums in that order.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "solvers/jit_cpu_quantised/product_arguments.h"
#include "solvers/jit_cpu_quantised/product_source.h"
#include "tensor/convert.h"

namespace attune::jit_cpu_quantised {
namespace {

constexpr int kFloatUnroll = 4;  // Lanes of K in the body of the innermost loop.
constexpr int kOffset = 12;      // Makes a doubled e2m1 unsigned.

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += fmt::format("{}{}", text.empty() ? "" : ",", number);
  return text;
}

class FloatText : public TextWriter {
 public:
  explicit FloatText(const ProductSpec& spec) : spec_(spec) {}

  std::string text() {
    // Called out of line, these functions would pass vectors through memory.
    text_ = "#define FAST static inline __attribute__((always_inline))\n" + jit_cpu::transpose_text(lanes());
    text_.replace(text_.find("static inline void"), std::string("static inline").size(), "FAST");
    types();
    if (spec_.in == DType::e2m1)
      decode_e2m1();
    else if (spec_.engine == Engine::bf16)
      decode_to_bf16();
    else
      decode_to_fp32();
    load_part();
    if (spec_.is_dot_of_e2m1()) dot_of_e2m1();
    copy_row();
    if (spec_.kernel == Kernel::dot) {
      if (spec_.in == DType::e2m1)
        add("#undef multiply_add\n#define multiply_add(s, b, a) s = add_group(s, b, a)\n");
      else
        dot();
      return std::move(text_) + dot_text(spec_);
    }
    if (spec_.kernel == Kernel::tile && spec_.is_packed)
      decode_panel();
    else if (spec_.kernel == Kernel::tile)
      pack();
    if (spec_.in == DType::e2m1) pack_scales();
    product();
    return std::move(text_);
  }

 private:
  int lanes() const { return spec_.unit.lanes(); }
  int vector_bytes() const { return 4 * lanes(); }
  /// Lanes of K that decode() makes of a stored one.
  int decoded() const { return 32 / bits(spec_.in) / spec_.in_lane(); }
  bool sums_floats() const { return spec_.engine != Engine::bytes; }
  template <typename Visit>
  void each_sum(Visit visit) {
    for (int r = 0; r < spec_.rows; ++r)
      for (int v = 0; v < spec_.width; ++v) visit(r, v);
  }
  std::string place(int r, int v) const {
    return fmt::format("*(vu*)(t->sums + {} * t->sums_step + {})", r, v * lanes());
  }

  void types() {
    add("typedef unsigned vi __attribute__((vector_size({0})));\n"
        "typedef unsigned viu __attribute__((vector_size({0}), aligned(1), may_alias));\n"
        "typedef int vs __attribute__((vector_size({0})));\n"
        "typedef signed char vb __attribute__((vector_size({0})));\n"
        "typedef short v16 __attribute__((vector_size({0})));\n"
        "typedef unsigned word __attribute__((aligned(4), may_alias));\n"
        "typedef float number __attribute__((aligned(4), may_alias));\n",
        vector_bytes());
    if (spec_.engine == Engine::bf16) {
      add("#define multiply_add(s, b, a) asm(\"vdpbf16ps %2, %1, %0\" : \"+v\"(s) : \"v\"(b), \"v\"(a))\n");
    } else if (spec_.engine == Engine::fp32) {
      add("#define multiply_add(s, b, a) asm(\"vfmadd231ps %2, %1, %0\" : \"+v\"(s) : \"v\"(b), \"v\"(a))\n");
    } else if (spec_.unit.vnni) {
      add("#define multiply_add(s, b, a) asm(\"{}vpdpbusd %2, %1, %0\" : \"+v\"(s) : \"v\"(b), \"v\"(a))\n",
          lanes() == 16 ? "" : "%{vex%} ");
    } else {
      // A pair is at most 576, the eight pairs of a group are at most 4,608: no int16 saturates.
      add("#define multiply_add(s, b, a) do {{ vi p_; asm(\"vpmaddubsw %2, %1, %0\" : \"=v\"(p_) : \"v\"(b), "
          "\"v\"(a)); "
          "s = (vi)((v16)s + (v16)p_); }} while (0)\n");
    }
  }

  void table(const char* name, const std::vector<int>& bytes) {
    add("static const unsigned char {}[] __attribute__((aligned(64))) = {{{}}};\n", name, joined(bytes));
  }

  /// Bytes of bf16 are looked up by the seven bits of a magnitude. Of each stored lane, elements 0 and 2 come first.
  void decode_to_bf16() {
    std::vector<int> high, low;
    for (int code = 0; code < 128; ++code) {
      const std::byte stored{static_cast<unsigned char>(code)};
      std::array<float, 1> value{};
      to_float(spec_.in, &stored, value);
      const int wide = value[0] != value[0] ? 0x7fc0 : to_bf16(value[0]);
      high.push_back(wide >> 8);
      low.push_back(wide & 255);
    }
    table("high_bytes", high);
    table("low_bytes", low);
    add("#define look_up(x, at) asm(\"vpermi2b %2, %1, %0\" : \"+v\"(x) : \"v\"(*(const viu*)(at)), "
        "\"v\"(*(const viu*)(at + 64)))\n"
        "FAST void decode(vi x, vi* y) {{\n  vi h = x, l = x;\n"
        "  look_up(h, high_bytes);\n  look_up(l, low_bytes);\n  h |= x & 0x80808080u;\n");
    if (spec_.in == DType::e4m3fnuz)
      add("  const vi nan = (vi)((vb)x == (vb)((vi){{0}} + 0x80808080u));\n  h |= nan;\n  l |= nan;\n");
    add("  y[0] = (l & 0x00ff00ffu) | ((h << 8) & 0xff00ff00u);\n"
        "  y[1] = ((l >> 8) & 0x00ff00ffu) | (h & 0xff00ff00u);\n}}\n#define decode_a decode\n");
  }

  /// A number below the smallest normal one is the difference of two normal ones.
  void decode_to_fp32() {
    const bool fnuz = spec_.in == DType::e4m3fnuz;
    const int bias = fnuz ? 119 : 120;  // Between the exponents of both types.
    add("FAST void decode(vi x, vi* y) {{\n  for (int i = 0; i < 4; ++i) {{\n"
        "    const vi code = (x >> (8 * i)) & 255u, size = code & 127u;\n"
        "    const vi normal = (size << 20) + ({0}u << 23);\n"
        "    const vi small = (vi)((vf)((size << 20) + ({1}u << 23)) - {2});\n"
        "    const vi is_small = (vi)(size < 8u);\n"
        "    y[i] = ((small & is_small) | (normal & ~is_small)) | (code & 128u) << 24 | (vi)({3});\n  }}\n}}\n"
        "#define decode_a decode\n",
        bias, bias + 1, fnuz ? "0x1p-7f" : "0x1p-6f", fnuz ? "code == 128u" : "size == 127u");
  }

  /// Low halves come first. b's numbers have the offset.
  void decode_e2m1() {
    std::vector<int> of_a, of_b;
    for (int i = 0; i < vector_bytes(); ++i) {
      constexpr std::array<int, 8> kDoubled = {0, 1, 2, 3, 4, 6, 8, 12};
      const int value = (i & 8) != 0 ? -kDoubled[static_cast<size_t>(i & 7)] : kDoubled[static_cast<size_t>(i & 7)];
      of_a.push_back(value & 255);
      of_b.push_back(value + kOffset);
    }
    table("bytes_of_a", of_a);
    table("bytes_of_b", of_b);
    add("FAST vi chosen(vi bytes, vi at) {{\n  vi y;\n"
        "  asm(\"vpshufb %2, %1, %0\" : \"=v\"(y) : \"v\"(bytes), \"v\"(at));\n  return y;\n}}\n"
        "FAST vi look_up(const unsigned char* bytes, vi at) {{ return chosen(*(const viu*)bytes, at); }}\n");
    for (const char* of : {"_a", "_b"}) {
      add("FAST void decode{0}(vi x, vi* y) {{\n  y[0] = look_up(bytes_of{1}, x & 0x0f0f0f0fu);\n"
          "  y[1] = look_up(bytes_of{1}, (x >> 4) & 0x0f0f0f0fu);\n}}\n",
          of[1] == 'a' ? "_a" : "", of);
    }
  }

  void load_part() {
    add("enum {{ kBytes = {} }};\n"
        "FAST vi load_part(const unsigned char* p, long bytes) {{\n"
        "  unsigned char rest[kBytes] = {{0}};\n  __builtin_memcpy(rest, p, bytes);\n  return *(const viu*)rest;\n}}\n",
        vector_bytes());
  }

  std::string stored_bytes() const { return bits(spec_.in) == 4 ? "(t_k + 1) / 2" : "t_k"; }

  /// The unused half of a row's last byte may hold anything; in the copy it is zero.
  void copy_row() {
    add("unsigned copy_row(const unsigned char* from, long t_k, void* to_, long to_step) {{\n"
        "  word* to = to_;\n  const long bytes = {0}, step = to_step / {1};\n"
        "  for (long i = 0; i < bytes; i += kBytes) {{\n    const long left = bytes - i < kBytes ? bytes - i : "
        "kBytes;\n"
        "    vi x = load_part(from + i, left);\n",
        stored_bytes(), spec_.is_dot_of_e2m1() ? 2 : spec_.in_lane());
    if (bits(spec_.in) == 4) {
      add("    if (i + left == bytes && (t_k & 1)) {{\n      unsigned char last[kBytes];\n      *(viu*)last = x;\n"
          "      last[left - 1] &= 15;\n      x = *(const viu*)last;\n    }}\n");
    }
    if (spec_.is_dot_of_e2m1()) {
      add("    vi y[2], start = {{0}};\n    const vi offset = (vi){{0}} + {0}u;\n    decode_a(x, y);\n"
          "    add_products(start, offset, y[0]);\n    add_products(start, offset, y[1]);\n"
          "    *(viu*)to = y[0];\n    *(viu*)(to + {1}) = y[1];\n    *(viu*)(to + 2 * {1}) = -start;\n"
          "    to += step;\n  }}\n  return 0;\n}}\n",
          kOffset * 0x01010101u, lanes());
      return;
    }
    if (spec_.kernel == Kernel::dot) {
      add("    vi y[2];\n    decode_a(x, y);\n    *(viu*)to = y[0];\n    *(viu*)(to + {}) = y[1];\n    to += step;\n  "
          "}}\n  return 0;\n}}\n",
          lanes());
      return;
    }
    add("    vi y[{0}];\n    decode_a(x, y);\n    for (int l = 0; l < {1}; ++l)\n"
        "      for (int d = 0; d < {0}; ++d, to += step) *to = y[d][l];\n  }}\n  return 0;\n}}\n",
        decoded(), lanes());
  }

  void pack() {
    add("FAST void put_decoded(vf x, char* to) {{\n  vi y[{0}];\n  decode((vi)x, y);\n"
        "  for (int d = 0; d < {0}; ++d) *(vi*)(to + d * kBytes) = y[d];\n}}\n"
        "FAST void put_square(vf* v, char* to) {{\n  transpose(v);\n",
        decoded());
    for (int l = 0; l < lanes(); ++l) add("  put_decoded(v[{}], to + {} * kBytes);\n", l, l * decoded());
    add("}}\nvoid pack(const struct pack_args* t) {{\n  const unsigned char* b[{0}];\n"
        "  for (long l = 0; l < {0}; ++l)\n"
        "    b[l] = (const unsigned char*)t->b + (l < t->columns ? l : t->columns - 1) * t->b_step;\n"
        "  char* to = t->panel;\n  const long t_k = t->k, bytes = {1};\n  vf v[{0}];\n"
        "  for (long i = 0; i < bytes; i += kBytes, to += {2} * kBytes) {{\n    if (i + kBytes <= bytes) {{\n",
        lanes(), stored_bytes(), lanes() * decoded());
    for (int l = 0; l < lanes(); ++l) {
      if (spec_.ahead != 0) add("      __builtin_prefetch(b[{}] + i + {}, 0, 2);\n", l, spec_.ahead);
      add("      v[{0}] = (vf)*(const viu*)(b[{0}] + i);\n", l);
    }
    add("    }} else {{\n");
    for (int l = 0; l < lanes(); ++l) add("      v[{0}] = (vf)load_part(b[{0}] + i, bytes - i);\n", l);
    add("    }}\n    put_square(v, to);\n  }}\n}}\n");
  }

  /// Of a prepacked b, packing is decoding.
  void decode_panel() {
    add("void pack(const struct pack_args* t) {{\n  const char* b = (const char*)t->b;\n  vi* to = t->panel;\n"
        "  for (long k = t->k; k > 0; k -= 8, b += kBytes, to += 2) {{\n");
    if (spec_.ahead != 0) add("    __builtin_prefetch(b + {});\n", spec_.ahead);
    add("    decode(*(const viu*)b, to);\n  }}\n}}\n");
  }

  /// Code 0 is 2^-127 and 255 is NaN: both have a set bit below the exponent.
  void pack_scales() {
    add("FAST void put_scales(vi x, float* to) {{\n  for (int i = 0; i < 4; ++i, to += {0}) {{\n"
        "    const vi code = (x >> (8 * i)) & 255u;\n"
        "    *(viu*)to = code << 23 | ((vi)((code == 0u) | (code == 255u)) & 0x400000u);\n  }}\n}}\n"
        "void pack_scales(const struct scale_args* t) {{\n  float* to = t->panel;\n"
        "  for (long g = 0; g < t->groups; g += kBytes) {{\n"
        "    const long left = t->groups - g < kBytes ? t->groups - g : kBytes;\n    vf v[{0}];\n"
        "    for (long l = 0; l < {0}; ++l) {{\n"
        "      const unsigned char* p = t->scales + (l < t->columns ? l : t->columns - 1) * t->step + g;\n"
        "      v[l] = (vf)load_part(p, left);\n    }}\n    transpose(v);\n"
        "    for (long j = 0; 4 * j < left; ++j, to += 4 * {0}) put_scales((vi)v[j], to);\n  }}\n}}\n",
        lanes());
  }

  /// Types and loads of the dot kernel: both halves of what decode() makes. A row's rest is followed by zeros.
  void dot() {
    add("typedef unsigned short a_t;\ntypedef struct {{ vi low, high; }} pair;\n"
        "FAST pair load_a(const a_t* p) {{ pair x = {{*(const viu*)p, *(const viu*)(p + kBytes / 2)}}; return x; }}\n"
        "FAST pair decode_pair(vi x) {{ vi y[2]; decode(x, y); pair z = {{y[0], y[1]}}; return z; }}\n"
        "FAST pair load_b(const signed char* p) {{ return decode_pair(*(const viu*)p); }}\n"
        "#define load_rest(p, k, is_short) decode_pair(load_part((const unsigned char*)p + i, k - i))\n"
        "#undef multiply_add\n"
        "#define multiply_add(s, b, a) asm(\"vdpbf16ps %2, %1, %0\\n\\tvdpbf16ps %4, %3, %0\" : \"+&v\"(s) : "
        "\"v\"(b.low), \"v\"(a.low), \"v\"(b.high), \"v\"(a.high))\n");
  }

  /// Types, loads and the product of the dot kernel for e2m1. Each 128 bits of a vector hold a group of K, so a lane's
  /// sum belongs to one group. Groups beyond the last one have a scale of 1 and sums of 0.
  void dot_of_e2m1() {
    const int groups = lanes() / 4;
    std::vector<int> scale_places;
    for (int i = 0; i < vector_bytes(); ++i) scale_places.push_back(i % 4 == 3 ? i / 16 : 128);
    table("scale_places", scale_places);
    add("typedef unsigned short a_t;\n"
        "typedef struct {{ vi low, high; vf scale; }} pair;\n"
        "typedef struct {{ vi low, high, start; vf scale; }} of_a;\n"
        "FAST of_a load_a(const a_t* p) {{\n  const vi* v = (const vi*)p;\n"
        "  of_a x = {{v[0], v[1], v[2], (vf)v[3]}};\n  return x;\n}}\n"
        "FAST vf scales_of({0} codes) {{\n"
        "  const vi x = chosen({1}, *(const vi*)scale_places) >> 1;\n"
        "  return (vf)(x | ((vi)(((x + 0x800000u) & 0x7f000000u) == 0u) & 0x400000u));\n}}\n"
        "FAST pair decode_pair(vi x, vf scale) {{ vi y[2]; decode(x, y); pair z = {{y[0], y[1], scale}}; return z; "
        "}}\n"
        "FAST pair load_b(const signed char* p, const unsigned char* scales) {{\n"
        "  {0} codes;\n  __builtin_memcpy(&codes, scales, {2});\n"
        "  return decode_pair(*(const viu*)p, scales_of(codes));\n}}\n"
        "FAST pair load_rest(const signed char* p, const unsigned char* scales, long k) {{\n"
        "  unsigned char codes[{2}];\n  {0} all;\n"
        "  for (long g = 0; g < {2}; ++g) codes[g] = 32 * g < k ? scales[g] : 127;\n"
        "  __builtin_memcpy(&all, codes, {2});\n"
        "  return decode_pair(load_part((const unsigned char*)p, (k + 1) / 2), scales_of(all));\n}}\n",
        groups == 4 ? "unsigned" : "unsigned short", "(vi){0} + codes", groups);
    if (spec_.unit.vnni) {
      add("#define add_products(s, b, a) multiply_add(s, b, a)\n");
    } else {
      add("#define add_products(s, b, a) do {{ vi q_ = {{0}}; const vi ones_ = (vi){{0}} + 0x00010001u; "
          "multiply_add(q_, b, a); asm(\"vpmaddwd %1, %0, %0\" : \"+v\"(q_) : \"v\"(ones_)); s += q_; }} while (0)\n");
    }
    add("FAST vf add_group(vf sum, pair b, of_a a) {{\n  vi d = a.start;\n"
        "  add_products(d, b.low, a.low);\n  add_products(d, b.high, a.high);\n"
        "  const vf of_group = __builtin_convertvector((vs)d, vf), scale = b.scale * a.scale;\n"
        "  asm(\"vfmadd231ps %2, %1, %0\" : \"+v\"(sum) : \"v\"(of_group), \"v\"(scale));\n  return sum;\n}}\n");
  }

  void step(int u) {
    add("      {{\n");
    for (int v = 0; v < spec_.width; ++v) add("        const vi b{0} = *(const vi*)(p{0} + {1} * kBytes);\n", v, u);
    for (int r = 0; r < spec_.rows; ++r) {
      add("        {{ const vi x = (vi){{0}} + a[{}];", u * spec_.rows + r);
      for (int v = 0; v < spec_.width; ++v) add(" multiply_add(s{0}_{1}, b{1}, x);", r, v);
      add(" }}\n");
    }
    add("      }}\n");
  }
  void steps(const char* elements) {
    add("    for (long left = {}; left > 0; left -= {}) {{\n", elements, kFloatUnroll * spec_.in_lane());
    for (int u = 0; u < kFloatUnroll; ++u) step(u);
    add("      a += {};\n", kFloatUnroll * spec_.rows);
    for (int v = 0; v < spec_.width; ++v) add("      p{} += {} * kBytes;\n", v, kFloatUnroll);
    add("    }}\n");
  }

  /// A group of K of packed b: each stored vector is decoded to two.
  void stream_group() {
    for (int u = 0; u < spec_.group / 8; ++u) {
      add("    {{\n");
      for (int v = 0; v < spec_.width; ++v) {
        if (spec_.ahead != 0) add("      __builtin_prefetch(p{} + {});\n", v, u * 64 + spec_.ahead);
        add("      vi b{0}[2]; decode(*(const viu*)(p{0} + {1}), b{0});\n", v, u * 64);
      }
      for (int half = 0; half < 2; ++half) {
        for (int r = 0; r < spec_.rows; ++r) {
          add("      {{ const vi x = (vi){{0}} + a[{}];", (2 * u + half) * spec_.rows + r);
          for (int v = 0; v < spec_.width; ++v) add(" multiply_add(s{0}_{1}, b{1}[{2}], x);", r, v, half);
          add(" }}\n");
        }
      }
      add("    }}\n");
    }
    add("    a += {};\n", spec_.group / spec_.in_lane() * spec_.rows);
    for (int v = 0; v < spec_.width; ++v) add("    p{} += {};\n", v, spec_.group / 8 * 64);
  }

  /// Sums of all K in registers; no more are needed than for a few rows.
  void stream() {
    add("void product(const struct group_args* t) {{\n  const word* a = t->a;\n  const long last = t->columns - 1;\n"
        "  const float* a_group = t->a_groups;\n  const float* b_group = t->b_groups;\n");
    for (int v = 0; v < spec_.width; ++v)
      add("  const char* p{0} = (const char*)t->b + ({0} < last ? {0} : last) * t->b_step;\n", v);
    each_sum([&](int r, int v) { add("  vf all{}_{} = {{0}};\n", r, v); });
    add("  for (long k = t->k; k > 0; k -= {0}, a_group += {1}, b_group += {2}) {{\n", spec_.group, 2 * spec_.rows,
        lanes());
    each_sum([&](int r, int v) {
      add("    vi s{0}_{1} = (vi){{0}}{2};\n", r, v,
          spec_.unit.vnni ? fmt::format(" + ((const word*)a_group)[{}]", spec_.rows + r) : "");
    });
    stream_group();
    for (int v = 0; v < spec_.width; ++v)
      add("    const vf g{0} = *(const vu*)(b_group + {0} * t->b_groups_step);\n", v);
    each_sum([&](int r, int v) { add_group(r, v, fmt::format("all{}_{}", r, v)); });
    add("  }}\n");
    each_sum([&](int r, int v) { add("  {2} = all{0}_{1};\n", r, v, place(r, v)); });
    add("}}\n");
  }

  void product() {
    if (spec_.kernel == Kernel::stream) return stream();
    add("void product(const struct group_args* t) {{\n  const word* a = t->a;\n");
    for (int v = 0; v < spec_.width; ++v) add("  const char* p{0} = (const char*)t->b + {0} * t->b_step;\n", v);
    if (spec_.group == 0) {
      each_sum(
          [&](int r, int v) { add("  vf s{0}_{1} = {{0}};\n  if (t->adds) s{0}_{1} = {2};\n", r, v, place(r, v)); });
      add("  {{\n");
      steps("t->k");
      add("  }}\n");
      each_sum([&](int r, int v) { add("  {2} = s{0}_{1};\n", r, v, place(r, v)); });
      add("}}\n");
      return;
    }
    add("  if (!t->adds) {{\n");
    each_sum([&](int r, int v) { add("    {} = (vf){{0}};\n", place(r, v)); });
    add("  }}\n  const float* a_group = t->a_groups;\n  const float* b_group = t->b_groups;\n"
        "  for (long k = t->k; k > 0; k -= {0}, a_group += {1}, b_group += {2}) {{\n",
        spec_.group, 2 * spec_.rows, lanes());
    if (sums_floats()) {
      each_sum([&](int r, int v) { add("    vf s{}_{} = {{0}};\n", r, v); });
      steps(fmt::format("k < {0} ? k : {0}", spec_.group).c_str());
    } else {
      const bool starts = spec_.unit.vnni;
      each_sum([&](int r, int v) {
        add("    vi s{}_{} = {{0}}", r, v);
        if (starts) add("; s{0}_{1} += ((const word*)a_group)[{2}]", r, v, spec_.rows + r);
        add(";\n");
      });
      steps(fmt::format("{}", spec_.group).c_str());
    }
    for (int v = 0; v < spec_.width; ++v)
      add("    const vf g{0} = *(const vu*)(b_group + {0} * t->b_groups_step);\n", v);
    each_sum([&](int r, int v) { add_group(r, v, place(r, v)); });
    add("  }}\n}}\n");
  }

  void add_group(int r, int v, const std::string& total) {
    std::string sum = fmt::format("s{}_{}", r, v);
    if (!sums_floats() && !spec_.unit.vnni) {
      add("    {{ const vi ones = (vi){{0}} + 0x00010001u; asm(\"vpmaddwd %1, %0, %0\" : \"+v\"({0}) : \"v\"(ones)); "
          "}}\n"
          "    {0} += ((const word*)a_group)[{1}];\n",
          sum, spec_.rows + r);
    }
    if (!sums_floats()) sum = fmt::format("__builtin_convertvector((vs){}, vf)", sum);
    add("    {{ vf all = {3}; const vf of_group = {0}, scale = g{1} * a_group[{2}];\n"
        "      asm(\"vfmadd231ps %2, %1, %0\" : \"+v\"(all) : \"v\"(of_group), \"v\"(scale)); {3} = all; }}\n",
        sum, v, r, total);
  }

  ProductSpec spec_;
};

}  // namespace

std::string float_text(const ProductSpec& spec) { return FloatText(spec).text(); }

}  // namespace attune::jit_cpu_quantised
