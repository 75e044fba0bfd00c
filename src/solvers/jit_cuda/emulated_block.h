// SPDX-License-Identifier: MIT
#pragma once
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace attune::emulated_gpu {

/// A block whose threads are fibers. A thread runs until it must wait for others: those of its warp or of the block. So
/// one warp runs as far ahead of the others as the text allows, and copies are made no earlier than somebody waits for
/// them: a meeting point or a wait that is missing gives wrong results each time. What is stored for other blocks must
/// be fenced by who stored it before the block announces it, and by who reads it after that. Used by one thread.
class Block {
 public:
  /// Runs a kernel's body once for each thread of the blocks, one block after another. Throws runtime_error if threads
  /// wait for each other without end, if shared memory behind `shared_bytes` is written, or if a fence is missing.
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
  /// The running thread has stored what other blocks read.
  void store_for_others() { fibers_[running_].has_unfenced_stores = true; }
  bool has_unfenced_stores() const { return fibers_[running_].has_unfenced_stores; }
  void fence() {
    fibers_[running_].has_unfenced_stores = false;
    fibers_[running_].reads_unfenced = false;
  }
  /// The running thread counts its block among those that have stored all.
  void announce() {
    for (Fiber& fiber : fibers_) {
      if (fiber.has_unfenced_stores) error_ = "sums are announced before a fence";
      fiber.reads_unfenced = true;
    }
  }
  void load_of_others() {
    if (fibers_[running_].reads_unfenced) error_ = "sums of other blocks are read before a fence";
  }

 private:
  enum class Waiting : uint8_t { none, warp, block, ended };
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack{new char[kStackBytes]};
    Waiting waiting = Waiting::none;
    std::vector<std::vector<Copy>> copies{1};
    bool has_unfenced_stores = false, reads_unfenced = false;
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
    if (error_ != nullptr) throw std::runtime_error(error_);
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
  const char* error_ = nullptr;
  ucontext_t scheduler_{};
};

}  // namespace attune::emulated_gpu
