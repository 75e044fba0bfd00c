// SPDX-License-Identifier: MIT
// What an application gets from Dispatcher::run(), with a table and without one, on a device with streams, and what a
// hit costs. tests/perf/served_in_graphs compares it with what the tuner states.
//   attune_served_in_graphs TABLE [DEVICE [ROUNDS [WAIT_S]]]
// Each row of gemm_a16w16 is called as a model's graph does: a batch of calls of the shape on weights that are cold and
// activations that are warm is captured and timed by marks inside the graph. In each round this is done once by a
// dispatcher with the table and once by one without, in random order: products that keep a GPU busy lower its clock, so
// that times of another hour or of pauses between are no measure. A graph is captured anew for each turn, with other
// copies: the few copies of one batch may fit into the cache, and would be warm in a second replay. A device without
// graphs runs the calls themselves. The cost of a hit is a call of the dispatcher less one of its plan, both enqueued
// without a wait, in turns.
// Prints a line of CSV for each row: us stated and served, their ratio, us of a call through the dispatcher, of its
// plan's and their difference, us and name of the default, and the us of each round of both, separated by spaces.
// With WAIT_S it shows what a server gets that calls each shape once and then captures it, with the kernels that the
// cache has at its start, and compilers beside it: a graph of each row is captured once, the graphs are replayed in
// rounds, and a line states us stated and served, their ratio, seconds that the capture took and the number of launches
// that kept a default kernel. WAIT_S is DispatcherOptions::graph_wait.
// The virtual time of fake:0 shows nothing here: the dispatcher opens one of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/dispatcher.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "device/device_kind.h"
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
  std::array<std::vector<double>, 2> us;  ///< Of a launch in a graph, by round: of the row and of the default.
  double call_us = 0, plan_us = 0;        ///< Of the host, to enqueue one of the row's.
  std::string default_config;             ///< The default.
};

enum Side : size_t { kRow, kDefault };

/// A problem's calls by two dispatchers.
class ServedRow {
 public:
  ServedRow(Device& device, std::array<Dispatcher*, 2> dispatchers, const Problem& problem)
      : device_(device),
        dispatchers_(dispatchers),
        keys_{dispatchers[kRow]->key(problem.key()), dispatchers[kDefault]->key(problem.key())},
        specs_(op_of(problem).tensors(problem)),
        has_graphs_(device_kind(device.info().kind).timing == Timing::graph) {
    std::vector<OwnBuffer> filled;
    std::vector<Buffer> areas;
    for (const TensorSpec& spec : specs_) {
      filled.emplace_back(device.memory(), spec.bytes(), timed_alignment(spec, device));
      device.memory().upload(filled.back().data(), values_of(spec, random_));
      areas.push_back(filled.back().area());
    }
    const auto size = size_rotation(specs_, CachePolicy::served, device.info().cache_bytes);
    rotation_ = std::make_unique<Rotation>(device, specs_, size, areas, 1);
    stream_ = device.open_stream();
  }

  /// Calls the row once.
  void call_once() {
    if (run(kRow).row == 0) fail(ErrorCode::unavailable, "the row does not serve its own shape");
  }
  /// Captures a graph of the row's calls.
  void capture_row(double stated_us) {
    num_captured_ = batch_of(stated_us);
    capture(kRow, num_captured_);
  }
  /// Replays that graph; the time of a call.
  double replay_us() {
    graphs_[kRow]->launch();
    stream_->synchronize();
    return stream_->elapsed_us(0, 1) / static_cast<double>(num_captured_);
  }

  Served measure(double stated_us, int rounds) {
    run(kDefault);
    const Hit hit = run(kRow);
    stream_->synchronize();
    if (hit.row == 0) fail(ErrorCode::unavailable, "the row does not serve its own shape");
    const auto kept = dispatchers_[kRow]->keep(hit);
    Served served{.default_config = default_config()};
    std::vector<double> call, plan;
    for (int i = 0; i < rounds; ++i) {
      call.push_back(enqueue_us(
          [&](std::span<void* const> operands) { dispatchers_[kRow]->run(keys_[kRow], operands, stream_->native()); }));
      plan.push_back(enqueue_us([&](std::span<void* const> operands) {
        kept->run({operands, nullptr, stream_->native()});
      }));
    }
    served.call_us = median(call), served.plan_us = median(plan);
    const size_t batch = batch_of(stated_us);
    for (int i = 0; i < rounds; ++i) {
      std::vector<Side> order{kRow, kDefault};
      random_.shuffle(order);
      for (const Side side : order) served.us[side].push_back(turn_us(side, batch));
    }
    return served;
  }

 private:
  static size_t batch_of(double stated_us) {
    return static_cast<size_t>(std::clamp(std::ceil(kBatchUs / stated_us), 1.0, static_cast<double>(kMaxBatch)));
  }
  void enqueue_batch(Side side, size_t batch) {
    stream_->record(0);
    for (size_t i = 0; i < batch; ++i) run(side);
    stream_->record(1);
  }
  void capture(Side side, size_t batch) {
    stream_->begin_capture();
    enqueue_batch(side, batch);
    graphs_[side] = stream_->end_capture(std::move(graphs_[side]));
    if (graphs_[side] == nullptr) fail(ErrorCode::unavailable, "its kernel cannot be captured");
  }

  Hit run(Side side) { return dispatchers_[side]->run(keys_[side], rotation_->next(), stream_->native()); }

  /// What serves the problem without a row.
  std::string default_config() const {
    constexpr std::string_view kBefore = "the default config ";
    const std::string text = dispatchers_[kDefault]->explain(keys_[kDefault]);
    const size_t at = text.find(kBefore);
    if (at == std::string::npos) fail(ErrorCode::unavailable, "no default config serves it");
    return text.substr(at + kBefore.size(), text.find_first_of(" \n", at + kBefore.size()) - at - kBefore.size());
  }

  double turn_us(Side side, size_t batch) {
    if (!has_graphs_) {
      enqueue_batch(side, batch);
    } else {
      capture(side, batch);
      if (batch > 1) {
        const size_t num_untimed = std::clamp<size_t>(batch / 8, 1, 16);
        for (size_t i = 0; i < num_untimed; ++i) run(side);
      }
      graphs_[side]->launch();
    }
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
  std::array<Dispatcher*, 2> dispatchers_;
  std::array<Key, 2> keys_;
  std::vector<TensorSpec> specs_;
  bool has_graphs_;
  Random random_{1};
  std::unique_ptr<Rotation> rotation_;
  std::unique_ptr<Stream> stream_;
  std::array<std::unique_ptr<Graph>, 2> graphs_;
  size_t num_captured_ = 0;  ///< Calls in the graph of capture_row().
};

std::string line(const Problem& problem, double stated_us, const Served& served) {
  const double us = median(served.us[kRow]);
  return fmt::format("{},{:.3f},{:.3f},{:.4f},{:.3f},{:.3f},{:.3f},{:.3f},{},{:.4f},{:.4f}", problem.key(), stated_us,
                     us, us / stated_us, served.call_us, served.plan_us, served.call_us - served.plan_us,
                     median(served.us[kDefault]), served.default_config, fmt::join(served.us[kRow], " "),
                     fmt::join(served.us[kDefault], " "));
}

/// The rows of a table and the times that they state.
struct TableRows {
  explicit TableRows(const std::string& table)
      : document(CsvDocument::read(table)), cells(document, family, Strictness::shape) {}
  double stated_us(size_t row) const {
    const auto us = parse_double(document.cell(row, document.require_column("us")));
    if (!us || *us <= 0) fail(ErrorCode::invalid_input, "it states no time");
    return *us;
  }
  const FamilySpec& family = *find_family("gemm_a16w16");
  const CsvDocument document;
  const KeyCells cells;
};

/// Does something with each row, and says what fails. Returns whether nothing did.
bool visit(const TableRows& table, const std::function<void(size_t)>& act) {
  bool is_good = true;
  for (size_t row = 0; row < table.document.num_rows(); ++row) {
    try {
      act(row);
    } catch (const Error& error) {
      is_good = false;
      std::fprintf(stderr, "%s: %s\n", table.document.where(row).c_str(), error.what());
    }
  }
  return is_good;
}

int serve(const std::string& file, const std::string& id, int rounds) {
  const TableRows table(file);
  const auto device = open_device(id);
  DispatcherOptions options{.device = id, .compile_mode = CompileMode::blocking};
  options.tables[std::string(table.family.op)] = {file};
  Dispatcher tuned(options);
  options.tables[std::string(table.family.op)].clear();  // Not those of the environment either.
  Dispatcher default_config(options);
  std::puts(
      "problem,stated_us,served_us,served_of_stated,call_us,plan_us,hit_us,default_us,default,rounds_us,default_rounds_"
      "us");
  const bool is_good = visit(table, [&](size_t row) {
    const Problem problem = table.cells.problem(row);
    const double stated_us = table.stated_us(row);
    const Served served = ServedRow(*device, {&tuned, &default_config}, problem).measure(stated_us, rounds);
    std::puts(line(problem, stated_us, served).c_str());
    std::fflush(stdout);
  });
  return is_good ? 0 : 1;
}

/// See the top: one call of each row, then a graph of each.
int capture_first(const std::string& file, const std::string& id, int rounds, double wait_s) {
  struct FirstGraph {
    std::unique_ptr<ServedRow> served;
    double capture_s = 0;
    uint64_t num_stand_ins = 0;
    std::vector<double> us{};
  };
  const TableRows table(file);
  const auto device = open_device(id);
  DispatcherOptions options{.device = id, .graph_wait = std::chrono::milliseconds(std::llround(1000 * wait_s))};
  options.tables[std::string(table.family.op)] = {file};
  Dispatcher dispatcher(options);
  std::map<size_t, FirstGraph> graphs;
  bool is_good = visit(table, [&](size_t row) {
    graphs[row].served =
        std::make_unique<ServedRow>(*device, std::array{&dispatcher, &dispatcher}, table.cells.problem(row));
  });
  is_good = visit(table, [&](size_t row) { graphs.at(row).served->call_once(); }) && is_good;
  is_good = visit(table,
                  [&](size_t row) {
                    FirstGraph& own = graphs.at(row);
                    const uint64_t before = dispatcher.counts().captured_stand_ins;
                    const double began_s = steady_clock().now_s();
                    own.served->capture_row(table.stated_us(row));
                    own.capture_s = steady_clock().now_s() - began_s;
                    own.num_stand_ins = dispatcher.counts().captured_stand_ins - before;
                  }) &&
            is_good;
  if (!is_good) return 1;
  // Between two replays of a graph those of all others fill the caches.
  for (int i = 0; i < rounds; ++i)
    is_good = visit(table,
                    [&](size_t row) {
                      FirstGraph& own = graphs.at(row);
                      own.us.push_back(own.served->replay_us());
                    }) &&
              is_good;
  std::puts("problem,stated_us,served_us,served_of_stated,capture_s,stand_ins");
  visit(table, [&](size_t row) {
    const FirstGraph& own = graphs.at(row);
    const double us = median(own.us), stated_us = table.stated_us(row);
    std::puts(fmt::format("{},{:.3f},{:.3f},{:.4f},{:.4f},{}", table.cells.problem(row).key(), stated_us, us,
                          us / stated_us, own.capture_s, own.num_stand_ins)
                  .c_str());
  });
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: attune_served_in_graphs TABLE [DEVICE [ROUNDS [WAIT_S]]]\n", stderr);
    return 2;
  }
  try {
    const std::string device = argc > 2 ? argv[2] : "cuda:0";
    const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 15;
    return argc > 4 ? attune::capture_first(argv[1], device, rounds, std::max(0.0, std::atof(argv[4])))
                    : attune::serve(argv[1], device, rounds);
  } catch (const attune::Error& error) {
    std::fprintf(stderr, "attune_served_in_graphs: %s\n", error.what());
    return 2;
  }
}
