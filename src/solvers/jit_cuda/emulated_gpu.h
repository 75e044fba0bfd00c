// SPDX-License-Identifier: MIT
// For tests: what a kernel's text needs of CUDA and of device_functions.cu, on a host, so that its addresses, masks and
// meeting points are tried where no GPU is. Include it, then rows.cu and a kernel behind their constants.
#pragma once
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tensor/convert.h"

namespace attune::emulated_gpu {

/// A block whose threads are fibers. A thread runs until it must wait for others: those of its warp or of the block. So
/// one warp runs as far ahead of the others as the text allows, and copies are made no earlier than somebody waits for
/// them: a meeting point or a wait that is missing gives wrong results each time. Used by one thread.
class Block {
 public:
  /// Runs a kernel's body once for each thread of the blocks, one block after another. Throws runtime_error where
  /// threads wait for each other for ever, and where shared memory behind `shared_bytes` is written.
  static void launch(const std::vector<unsigned>& blocks, unsigned num_threads, size_t shared_bytes,
                     const std::function<void()>& body) {
    for (const unsigned number : blocks)
      Block(number, static_cast<unsigned>(blocks.size()), num_threads, shared_bytes, body).run();
  }
  static Block& current() { return *current_; }
  unsigned number() const { return number_; }
  unsigned num_blocks() const { return num_blocks_; }
  unsigned thread() const { return static_cast<unsigned>(running_); }
  unsigned num_threads() const { return static_cast<unsigned>(fibers_.size()); }
  unsigned char* shared() { return shared_.get(); }
  void meet_warp() { wait(Waiting::warp); }
  void meet_block() { wait(Waiting::block); }
  /// What each lane of the running thread's warp gives to the others, between two meetings.
  struct Given {
    unsigned words[8];
    const void* address;
  };
  Given& given() { return given_[running_]; }
  const Given& given_by(unsigned lane) const { return given_[running_ / 32 * 32 + lane]; }
  /// Copies of the running thread that wait, in groups.
  struct Copy {
    void* to;
    const void* from;
    int bytes;
  };
  std::vector<std::vector<Copy>>& copies() { return fibers_[running_].copies; }

 private:
  enum class Waiting : uint8_t { none, warp, block, ended };
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack{new char[kStackBytes]};
    Waiting waiting = Waiting::none;
    std::vector<std::vector<Copy>> copies{1};
  };
  static constexpr size_t kStackBytes = 64 << 10, kGuardBytes = 256;
  static constexpr int kGuard = 0xa5;

  Block(unsigned number, unsigned num_blocks, unsigned num_threads, size_t shared_bytes,
        const std::function<void()>& body)
      : number_(number),
        num_blocks_(num_blocks),
        body_(body),
        fibers_(num_threads),
        given_(num_threads),
        shared_(static_cast<unsigned char*>(std::aligned_alloc(256, (shared_bytes + 255) / 256 * 256 + kGuardBytes)),
                std::free),
        shared_bytes_(shared_bytes) {
    std::memset(shared_.get(), kGuard, (shared_bytes + 255) / 256 * 256 + kGuardBytes);
  }
  static void enter() {
    current_->body_();
    current_->wait(Waiting::ended);
  }
  void wait(Waiting what) {
    fibers_[running_].waiting = what;
    swapcontext(&fibers_[running_].context, &scheduler_);
  }
  bool release(size_t begin, size_t end, Waiting what) {
    size_t num_waiting = 0;
    for (size_t i = begin; i < end; ++i) {
      if (fibers_[i].waiting != what && fibers_[i].waiting != Waiting::ended) return false;
      num_waiting += fibers_[i].waiting == what;
    }
    for (size_t i = begin; i < end; ++i) {
      if (fibers_[i].waiting == what) fibers_[i].waiting = Waiting::none;
    }
    return num_waiting > 0;
  }
  void run() {
    current_ = this;
    for (Fiber& fiber : fibers_) {
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, enter, 0);
    }
    for (bool is_running = true; is_running;) {
      is_running = false;
      // A warp goes on until it waits for the block.
      for (size_t warp = 0; warp < fibers_.size(); warp += 32) {
        do {
          for (running_ = warp; running_ < warp + 32; ++running_) {
            if (fibers_[running_].waiting != Waiting::none) continue;
            is_running = true;
            swapcontext(&scheduler_, &fibers_[running_].context);
          }
        } while (release(warp, warp + 32, Waiting::warp));
      }
      is_running = release(0, fibers_.size(), Waiting::block) || is_running;
    }
    for (const Fiber& fiber : fibers_) {
      if (fiber.waiting != Waiting::ended) throw std::runtime_error("threads wait for each other for ever");
    }
    for (size_t i = shared_bytes_; i < shared_bytes_ + kGuardBytes; ++i) {
      if (shared_.get()[i] != kGuard) throw std::runtime_error("a kernel writes behind its shared memory");
    }
  }

  static inline Block* current_ = nullptr;
  unsigned number_, num_blocks_;
  const std::function<void()>& body_;
  std::vector<Fiber> fibers_;
  std::vector<Given> given_;
  std::unique_ptr<unsigned char, void (*)(void*)> shared_;
  size_t running_ = 0, shared_bytes_;
  ucontext_t scheduler_{};
};

struct Index {
  unsigned x = 0;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};

inline float bits_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline float half_to_float(unsigned short half) {
  float value = 0;
  to_float(DType::fp16, reinterpret_cast<const std::byte*>(&half), std::span(&value, 1));
  return value;
}
inline unsigned short narrowed_to(DType type, float value) {
  unsigned short narrow = 0;
  from_float(type, std::span<const float>(&value, 1), reinterpret_cast<std::byte*>(&narrow));
  return narrow;
}
inline unsigned short float_to_half(float value) { return narrowed_to(DType::fp16, value); }
inline unsigned short float_to_bfloat(float value) { return narrowed_to(DType::bf16, value); }
inline void synchronize_block() { Block::current().meet_block(); }
inline unsigned char* shared_memory() { return Block::current().shared(); }
inline unsigned add_once(unsigned* counter, unsigned more) {
  const unsigned before = *counter;
  *counter += more;
  return before;
}

/// An element of a pair that a lane holds.
template <int kType>
float element(unsigned pair, int which) {
  const auto bits = static_cast<unsigned short>(pair >> (which * 16));
  return kType == 2 ? half_to_float(bits) : bits_as_float(static_cast<unsigned>(bits) << 16);
}

/// PTX's description of mma.m16n8k16, element by element.
template <int kType>
void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  Block& block = Block::current();
  block.given() = {{a[0], a[1], a[2], a[3], b0, b1, 0, 0}, nullptr};
  block.meet_warp();
  const unsigned lane = block.thread() % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned of_group = k % 8 / 2;
      const Block::Given& of_a = block.given_by(row % 8 * 4 + of_group);
      const Block::Given& of_b = block.given_by(column * 4 + of_group);
      sums[i] += element<kType>(of_a.words[row / 8 + k / 8 * 2], k % 2) * element<kType>(of_b.words[4 + k / 8], k % 2);
    }
  }
  block.meet_warp();
}

/// PTX's description of ldmatrix.x4.
inline void load_matrices(unsigned (&matrices)[4], const void* row) {
  Block& block = Block::current();
  block.given().address = row;
  block.meet_warp();
  const unsigned lane = block.thread() % 32;
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(&matrices[i], static_cast<const char*>(block.given_by(i * 8 + lane / 4).address) + lane % 4 * 4, 4);
  block.meet_warp();
}

inline void copy_later(void* to, const void* from, int bytes) {
  Block::current().copies().back().push_back({to, from, bytes});
}
inline void end_copy_group() { Block::current().copies().emplace_back(); }
template <int kLeft>
void copies_done() {
  auto& groups = Block::current().copies();
  while (groups.size() > kLeft + 1) {
    for (const Block::Copy& copy : groups.front()) {
      std::memset(copy.to, 0, 16);
      std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    }
    groups.erase(groups.begin());
  }
}

inline uint4 load_once(const void* address, bool is_there) {
  uint4 words{};
  if (!is_there) return words;
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0) throw std::runtime_error("a vector is misaligned");
  std::memcpy(&words, address, sizeof words);
  return words;
}
inline uint4 load_again(const void* address, bool is_there) { return load_once(address, is_there); }

inline float sum_of_lanes(float value) {
  Block& block = Block::current();
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    std::memcpy(block.given().words, &value, sizeof value);
    block.meet_warp();
    value += bits_as_float(block.given_by(block.thread() % 32 ^ distance).words[0]);
    block.meet_warp();
  }
  return value;
}

}  // namespace attune::emulated_gpu

// NOLINTBEGIN: CUDA's names.
#define ATTUNE_UNROLL
#define __device__
#define __global__
#define __launch_bounds__(...)
#define threadIdx (Index{Block::current().thread()})
#define blockIdx (Index{Block::current().number()})
#define blockDim (Index{Block::current().num_threads()})
#define gridDim (Index{Block::current().num_blocks()})
#define __syncthreads synchronize_block
#define __threadfence()
#define __uint_as_float bits_as_float
#define __ldcg(address) (*(address))
#define atomicAdd add_once
// NOLINTEND
