// SPDX-License-Identifier: MIT
#include "capturing.h"

#include <attune/error.h>
#include <nanobind/nanobind.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gil.h"

namespace attune::python {
namespace {

using Captures = std::vector<Capture*>;
std::atomic<const Captures*> started = nullptr;  ///< Null: none. Replaced under the GIL, read by all threads.
std::atomic<int> num_readers = 0;

/// A child has only the thread that called fork(), which was in no reader.
const int child_has_no_readers = ::pthread_atfork(nullptr, nullptr, [] { num_readers = 0; });

void replace(Captures captures) {
  const Captures* fresh = captures.empty() ? nullptr : new Captures(std::move(captures));
  const Captures* old = started.exchange(fresh);
  while (num_readers.load() != 0) std::this_thread::yield();
  delete old;
}

template <typename AnyKey>
void note_in_all(const AnyKey& key, int threads) noexcept {
  if (started.load() == nullptr) return;
  num_readers.fetch_add(1);
  if (const Captures* captures = started.load()) {
    for (Capture* capture : *captures) capture->note(key, threads);
  }
  num_readers.fetch_sub(1);
}

}  // namespace

void ShapeCapture::start() {
  stop();
  Captures captures = started.load() != nullptr ? *started.load() : Captures();
  captures.push_back(&capture_);
  replace(std::move(captures));
}

void ShapeCapture::stop() noexcept {
  const Captures* now = started.load();
  if (now == nullptr || std::ranges::find(*now, &capture_) == now->end()) return;
  Captures others = *now;
  std::erase(others, &capture_);
  replace(std::move(others));
}

void ShapeCapture::flush() {
  std::string why;
  {
    const GilRelease others_run;
    why = capture_.flush();
  }
  if (!why.empty()) throw Error(ErrorCode::io, why);
}

void ShapeCapture::note(const Key& key, int threads) noexcept { note_in_all(key, threads); }
void ShapeCapture::note(const GemmKey& key, int threads) noexcept { note_in_all(key, threads); }

}  // namespace attune::python
