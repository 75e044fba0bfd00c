// SPDX-License-Identifier: MIT
// Whether what a table states is what an application gets from Dispatcher::run() with a stream, and what a hit costs:
//   attune_served_in_graphs TABLE [DEVICE [ROUNDS]]
// Each row of gemm_a16w16 is called as a model's graph does: a batch of calls of the shape on weights that are cold and
// activations that are warm is captured, in each round anew with other copies, and timed by marks inside the graph. The
// cost of a hit is a call of the dispatcher less one of its plan, both enqueued without a wait, in turns.
// Prints a line of CSV for each row: stated and served us, their ratio, us of a call through the dispatcher and of its
// plan's, and their difference. The virtual time of fake:0 shows nothing here: the dispatcher opens one of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "attune/dispatcher.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "device/devices.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/key_cells.h"
#include "measure/operands/rotation.h"
#include "ops/op.h"

namespace attune {
namespace {

constexpr double kBatchUs = 400;  // As a sample on a GPU.
constexpr size_t kMaxBatch = 4096;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Values between 0.5 and 1 in size of either sign: operands of zeros would let a GPU run faster than real ones do.
std::vector<std::byte> values_of(const TensorSpec& spec, Random& random) {
  std::vector<std::byte> bytes(spec.bytes());
  const auto put = [&](auto one, auto mantissa) {
    for (size_t at = 0; at + sizeof(one) <= bytes.size(); at += sizeof(one)) {
      const uint64_t bits = random.below(uint64_t{1} << 32);
      const auto sign = static_cast<decltype(one)>((bits >> 31) << (8 * sizeof(one) - 1));
      const auto value = static_cast<decltype(one)>(one | sign | (bits & mantissa));
      std::memcpy(&bytes[at], &value, sizeof(value));
    }
  };
  if (spec.dtype == DType::bf16) put(uint16_t{0x3f00}, uint64_t{0x7f});
  if (spec.dtype == DType::fp16) put(uint16_t{0x3800}, uint64_t{0x3ff});
  if (spec.dtype == DType::fp32) put(uint32_t{0x3f000000}, uint64_t{0x7fffff});
  return bytes;
}

struct Served {
  double us = 0;                    ///< Of a launch in a graph.
  double call_us = 0, plan_us = 0;  ///< Of the host, to enqueue one.
};

/// A row's calls.
class ServedRow {
 public:
  ServedRow(Device& device, Dispatcher& dispatcher, const Problem& problem)
      : device_(device),
        dispatcher_(dispatcher),
        key_(dispatcher.key(problem.key())),
        specs_(op_of(problem).tensors(problem)) {
    Random random(1);
    std::vector<OwnBuffer> filled;
    std::vector<Buffer> areas;
    for (const TensorSpec& spec : specs_) {
      filled.emplace_back(device.memory(), spec.bytes(), timed_alignment(spec, device));
      device.memory().upload(filled.back().data(), values_of(spec, random));
      areas.push_back(filled.back().area());
    }
    const auto size = size_rotation(specs_, CachePolicy::served, device.info().cache_bytes);
    rotation_ = std::make_unique<Rotation>(device, specs_, size, areas, 1);
    stream_ = device.open_stream();
  }

  Served measure(double stated_us, int rounds) {
    const Hit hit = dispatcher_.run(key_, rotation_->next(), stream_->native());
    stream_->synchronize();
    const auto kept = dispatcher_.keep(hit);
    if (hit.row == 0) fail(ErrorCode::unavailable, "the row does not serve its own shape");
    const auto batch =
        static_cast<size_t>(std::clamp(std::ceil(kBatchUs / stated_us), 1.0, static_cast<double>(kMaxBatch)));
    std::vector<double> served, call, plan;
    for (int i = 0; i < rounds; ++i) {
      served.push_back(graph_us(batch));
      call.push_back(
          enqueue_us([&](std::span<void* const> operands) { dispatcher_.run(key_, operands, stream_->native()); }));
      plan.push_back(enqueue_us([&](std::span<void* const> operands) {
        kept->run({operands, nullptr, stream_->native()});
      }));
    }
    return {median(served), median(call), median(plan)};
  }

 private:
  double graph_us(size_t batch) {
    stream_->begin_capture();
    stream_->record(0);
    for (size_t i = 0; i < batch; ++i) dispatcher_.run(key_, rotation_->next(), stream_->native());
    stream_->record(1);
    graph_ = stream_->end_capture(std::move(graph_));
    if (graph_ == nullptr) fail(ErrorCode::unavailable, "its kernel cannot be captured");
    if (batch > 1) {
      const size_t num_untimed = std::clamp<size_t>(batch / 8, 1, 16);
      for (size_t i = 0; i < num_untimed; ++i) dispatcher_.run(key_, rotation_->next(), stream_->native());
    }
    graph_->launch();
    stream_->synchronize();
    return stream_->elapsed_us(0, 1) / static_cast<double>(batch);
  }

  double enqueue_us(const auto& enqueue) {
    constexpr int kCalls = 200;  // Fewer than a stream takes before a call waits.
    const double began_s = steady_clock().now_s();
    for (int i = 0; i < kCalls; ++i) enqueue(rotation_->copy(0));
    const double us = 1e6 * (steady_clock().now_s() - began_s) / kCalls;
    stream_->synchronize();
    return us;
  }

  Device& device_;
  Dispatcher& dispatcher_;
  Key key_;
  std::vector<TensorSpec> specs_;
  std::unique_ptr<Rotation> rotation_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Graph> graph_;
};

int serve(const std::string& table, const std::string& id, int rounds) {
  const FamilySpec& family = *find_family("gemm_a16w16");
  const CsvDocument document = CsvDocument::read(table);
  const KeyCells cells(document, family, Strictness::shape);
  const auto device = open_device(id);
  DispatcherOptions options{.device = id, .compile_mode = CompileMode::blocking};
  options.tables[std::string(family.op)] = {table};
  Dispatcher dispatcher(options);
  std::puts("problem,stated_us,served_us,served_of_stated,call_us,plan_us,hit_us");
  const size_t us_column = document.require_column("us");
  int num_failed = 0;
  for (size_t row = 0; row < document.num_rows(); ++row) {
    const Problem problem = cells.problem(row);
    const auto stated_us = parse_double(document.cell(row, us_column));
    try {
      if (!stated_us || *stated_us <= 0) fail(ErrorCode::invalid_input, "it states no time");
      const Served served = ServedRow(*device, dispatcher, problem).measure(*stated_us, rounds);
      std::puts(fmt::format("{},{:.3f},{:.3f},{:.4f},{:.3f},{:.3f},{:.3f}", problem.key(), *stated_us, served.us,
                            served.us / *stated_us, served.call_us, served.plan_us, served.call_us - served.plan_us)
                    .c_str());
      std::fflush(stdout);
    } catch (const Error& error) {
      ++num_failed;
      std::fprintf(stderr, "%s: %s\n", problem.key().c_str(), error.what());
    }
  }
  return num_failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: attune_served_in_graphs TABLE [DEVICE [ROUNDS]]\n", stderr);
    return 2;
  }
  try {
    return attune::serve(argv[1], argc > 2 ? argv[2] : "cuda:0", argc > 3 ? std::max(1, std::atoi(argv[3])) : 15);
  } catch (const attune::Error& error) {
    std::fprintf(stderr, "attune_served_in_graphs: %s\n", error.what());
    return 2;
  }
}
