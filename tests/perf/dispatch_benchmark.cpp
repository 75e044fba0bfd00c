// SPDX-License-Identifier: MIT
// Measures the cost of a lookup: attune_dispatch_benchmark [--benchmark_filter=…]. Tables are made in the temporary
// folder; their rows and the looked-up keys are random. attune_dispatch_benchmark --flood [NUM_SHAPES [MAX_PLAN_BYTES]]
// calls that many shapes once, then 16 again and again, with the libraries and the bound of an application.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "attune/capture.h"
#include "attune/dispatcher.h"
#include "base/file.h"
#include "base/random.h"
#include "device/devices.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/row_index.h"
#include "ops/gemm/gemm_key.h"

namespace attune {
namespace {

constexpr size_t kNumKeys = size_t{1} << 16;
constexpr int64_t kStep = 64;

/// A temporary folder, removed at the end of the program.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attune_benchmark_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

const DeviceInfo& device() {
  static const DeviceInfo info = open_device("fake:0")->info();
  return info;
}

/// Returns a shape that a table may have a row for: M is a power of two, so that a smaller M is padded to it.
GemmKey random_key(Random& random) {
  return {.m = int64_t{1} << (5 + random.below(7)),
          .n = kStep * static_cast<int64_t>(1 + random.below(1000)),
          .k = kStep * static_cast<int64_t>(1 + random.below(1000)),
          .in = DType::bf16,
          .out = DType::bf16};
}

/// Writes a table of `num_rows` rows in the tuner's format.
std::filesystem::path table_of(size_t num_rows) {
  static const Folder folder;
  const auto file = folder.path / fmt::format("{}.csv", num_rows);
  if (std::filesystem::exists(file)) return file;
  Random random(1);
  std::string text =
      "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,"
      "bw,"
      "device,layout\n";
  for (size_t i = 0; i < num_rows; ++i) {
    const GemmKey key = random_key(random);
    text += fmt::format(
        "fake,4,{},{},{},False,torch.bfloat16,torch.bfloat16,False,False,fake,-1,1,{:.4f},fake.gemm@1:split_k=1;"
        "tile_m={};tile_n={},0.0,1.25,17.5,{},plain\n",
        key.m, key.n, key.k, 1000 * random.uniform(), 16 << random.below(3), 16 << random.below(3), device().model);
  }
  write_file_atomically(file, text);
  return file;
}

Dispatcher& dispatcher_of(size_t num_rows) {
  static std::map<size_t, std::unique_ptr<Dispatcher>> made;
  auto& slot = made[num_rows];
  if (!slot) {
    DispatcherOptions options{.device = "fake:0", .lookup_only = true};
    options.tables["gemm_a16w16"] = {table_of(num_rows)};
    slot = std::make_unique<Dispatcher>(options);
  }
  return *slot;
}

/// Returns the keys of rows, each changed by `change`.
template <typename Change>
std::vector<GemmKey> keys(size_t num_rows, const Change& change) {
  Random random(1), order(2);
  std::vector<GemmKey> all;
  for (size_t i = 0; i < num_rows; ++i) {
    all.push_back(random_key(random));
    random.uniform();
    random.below(3);
    random.below(3);
  }
  order.shuffle(all);
  all.resize(std::min(all.size(), kNumKeys));
  for (GemmKey& key : all) change(key);
  return all;
}

void look_up(benchmark::State& state, Match match, const std::vector<GemmKey>& all) {
  const Dispatcher& dispatcher = dispatcher_of(100'000);
  size_t at = static_cast<size_t>(state.thread_index()) * 1000, num_right = 0, num_asked = 0;
  for (auto _ : state) {
    const Hit hit = dispatcher.choose(all[at++ % all.size()]);
    num_right += hit.match == match ? 1 : 0;
    ++num_asked;
    benchmark::DoNotOptimize(hit);
  }
  if (num_right != num_asked) state.SkipWithError("a lookup found another match");
}

void exact(benchmark::State& state) {
  static const auto all = keys(100'000, [](GemmKey&) {});
  look_up(state, Match::exact, all);
}
/// Looks up odd M below a power of two, which fine steps pad to it up to 256 and the coarse step above.
void padded(benchmark::State& state) {
  static const auto all = [] {
    auto some = keys(100'000, [](GemmKey& key) { key.m -= 1; });
    std::erase_if(some, [](const GemmKey& key) { return key.m < 512; });
    for (GemmKey& key : some) key.m -= 200;
    return some;
  }();
  look_up(state, Match::padded_coarse, all);
}
void miss(benchmark::State& state) {
  static const auto all = keys(100'000, [](GemmKey& key) {
    key.m -= 3;
    key.n += 1;
  });
  look_up(state, Match::fallback, all);
}
/// Looks up one of 1,000 shapes whose plans are ready.
void served(benchmark::State& state) {
  static Dispatcher dispatcher([] {
    DispatcherOptions options{.device = "fake:0"};
    options.tables["gemm_a16w16"] = {table_of(100'000)};
    return options;
  }());
  static const auto all = [] {
    auto some = keys(1000, [](GemmKey& key) { key = {.m = key.m % 31 + 1, .n = key.n / kStep, .k = key.k % 31 + 1}; });
    for (const GemmKey& key : some) dispatcher.require(key);
    return some;
  }();
  size_t at = static_cast<size_t>(state.thread_index()) * 100;
  for (auto _ : state) {
    const Hit hit = dispatcher.choose(all[at++ % all.size()]);
    if (hit.plan == nullptr) state.SkipWithError("no plan");
  }
}
BENCHMARK(exact)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(padded)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(miss)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(served)->Threads(1)->Threads(2)->UseRealTime();

/// The conversion that a call with a typed key adds.
void convert(benchmark::State& state) {
  static const auto all = keys(1000, [](GemmKey&) {});
  size_t at = 0;
  Key key;
  for (auto _ : state) {
    if (!to_key(all[at], key)) state.SkipWithError("no key");
    benchmark::DoNotOptimize(key);
    at = at + 1 == all.size() ? 0 : at + 1;  // A division would take as long as the conversion.
  }
}
BENCHMARK(convert);

/// A table of 100,000 rows of one family, and keys that find a row, a padded one, and none.
struct FamilyLookups {
  explicit FamilyLookups(const KeyCodes& codes) {
    const FamilySpec& family = codes.family();
    std::string text = "gfx,cu_num";
    for (const AttributeSpec& column : family.key) text += fmt::format(",{}", column.column);
    text += ",us,kernelName\n";
    Random random(7);
    for (int i = 0; i < 100'000; ++i) {
      text += "fake,4";
      Key key;
      key.resize(codes.op(), codes.size());
      for (size_t c = 0; c < codes.size(); ++c) {
        const std::string cell = random_cell(random, family, family.key[c]);
        key[c] = codes.code(c, cell).value();
        text += ',' + cell;
      }
      text += ",1.5,fake.gemm@1:x=1\n";
      exact.push_back(key);
      if (codes.pads_m() && codes.m_of(key) > 512) padded.push_back(codes.with_m(key, codes.m_of(key) - 200));
      key[codes.size() > 3 ? 3 : 1] += 1'000'003;
      missed.push_back(key);
    }
    Random order(8);
    for (auto* all : {&exact, &padded, &missed}) {
      order.shuffle(*all);
      all->resize(std::min(all->size(), kNumKeys));
    }
    const auto file = folder.path / fmt::format("{}.csv", family.op);
    write_file_atomically(file, text);
    DispatcherOptions options{.device = "fake:0", .lookup_only = true};
    options.tables[std::string(family.op)] = {file};
    dispatcher = std::make_unique<Dispatcher>(options);
  }
  static std::string random_cell(Random& random, const FamilySpec& family, const AttributeSpec& column) {
    if (column.kind == ColumnKind::integer) {
      if (column.name == family.rows) return std::to_string(int64_t{1} << (5 + random.below(7)));
      return std::to_string(kStep * static_cast<int64_t>(1 + random.below(1000)));
    }
    if (!column.default_value.empty()) return std::string(column.default_value);
    return column.kind == ColumnKind::flag ? "0" : column.kind == ColumnKind::dtype ? "bf16" : "x";
  }
  Folder folder;
  std::vector<Key> exact, padded, missed;
  std::unique_ptr<Dispatcher> dispatcher;
};

/// A benchmark for each family and kind of match: exact_of/gemm_a8w8 …
void register_families() {
  static const FamilyCodes codes;
  static std::map<std::string_view, std::unique_ptr<FamilyLookups>> made;
  const auto add = [](const char* name, const KeyCodes& own, std::vector<Key> FamilyLookups::*keys) {
    benchmark::RegisterBenchmark(fmt::format("{}/{}", name, own.family().op).c_str(),
                                 [&own, keys](benchmark::State& state) {
                                   auto& lookups = made[own.family().op];
                                   if (!lookups) lookups = std::make_unique<FamilyLookups>(own);
                                   // A caller makes its key from a few numbers; keys of 264 bytes would be fetched from
                                   // memory.
                                   std::vector<int64_t> values;
                                   for (const Key& key : (*lookups).*keys)
                                     values.insert(values.end(), key.values().begin(), key.values().end());
                                   const size_t num_keys = values.size() / own.size();
                                   size_t at = 0;
                                   for (auto _ : state) {
                                     const Key key(own.op(), std::span(values).subspan(at * own.size(), own.size()));
                                     benchmark::DoNotOptimize(lookups->dispatcher->choose(key));
                                     at = at + 1 == num_keys ? 0 : at + 1;
                                   }
                                 });
  };
  for (size_t i = 0; i < codes.size(); ++i) {
    add("exact_of", codes.at(i), &FamilyLookups::exact);
    if (codes.at(i).pads_m()) add("padded_of", codes.at(i), &FamilyLookups::padded);
    add("miss_of", codes.at(i), &FamilyLookups::missed);
  }
}

/// Counts one of 1,000 shapes that were captured before.
void capture(benchmark::State& state) {
  static const Folder folder;
  static Capture captured(folder.path);
  static const auto all = [] {
    auto some = keys(1000, [](GemmKey&) {});
    for (const GemmKey& key : some) captured.note(key);
    return some;
  }();
  size_t at = static_cast<size_t>(state.thread_index()) * 100;
  for (auto _ : state) captured.note(all[at++ % all.size()]);
}
BENCHMARK(capture)->Threads(1)->Threads(2)->UseRealTime();

void open_table(benchmark::State& state) {
  const auto num_rows = static_cast<size_t>(state.range(0));
  const KeyCodes codes(*find_family("gemm_a16w16"));
  const auto file = table_of(num_rows);
  for (auto _ : state) {
    const RowIndex index(codes, {{file, Origin::variable}}, device());
    state.counters["rows"] = static_cast<double>(index.num_rows());
    state.counters["bytes_a_row"] = static_cast<double>(index.num_bytes()) / static_cast<double>(index.num_rows());
  }
}
BENCHMARK(open_table)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();

uint64_t resident_bytes() {
  uint64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void print_counts(const Dispatcher& dispatcher, const char* when) {
  const DispatchCounts counts = dispatcher.counts();
  fmt::print("{}: {} shapes, {} plans of {:.1f} MB, {} left, bound reached {} times, {:.1f} MB resident\n", when,
             counts.shapes, counts.plans, static_cast<double>(counts.plan_bytes) / 1e6, counts.evicted_plans,
             counts.plan_limit_reached, static_cast<double>(resident_bytes()) / 1e6);
}

int flood(int64_t num_shapes, uint64_t max_plan_bytes) {
  constexpr int kNumHot = 16, kNumRounds = 2'000'000, kNumRepetitions = 5;
  Dispatcher dispatcher({.max_plan_bytes = max_plan_bytes});
  const auto key = [](int64_t number) {
    return GemmKey{.m = number % 100 + 1,
                   .n = 64 + number / 100 % 100,
                   .k = 64 + number / 10'000,
                   .in = DType::fp32,
                   .out = DType::fp32};
  };
  print_counts(dispatcher, "before");
  const double seconds = seconds_of([&] {
    for (int64_t number = 0; number < num_shapes; ++number) dispatcher.require(key(number));
  });
  print_counts(dispatcher, "flooded");
  fmt::print("{:.1f} us a shape that is new\n", seconds * 1e6 / static_cast<double>(num_shapes));
  std::array<GemmKey, kNumHot> hot;
  for (int i = 0; i < kNumHot; ++i) hot[static_cast<size_t>(i)] = key(i * num_shapes / kNumHot);
  fmt::print("{:.1f} us for the first call of each of {} that are called again\n", 1e6 / kNumHot * seconds_of([&] {
                                                                                     for (const GemmKey& one : hot)
                                                                                       dispatcher.require(one);
                                                                                   }),
             kNumHot);
  size_t num_without = 0;
  for (int repetition = 0; repetition < kNumRepetitions; ++repetition) {
    const double hot_seconds = seconds_of([&] {
      for (int i = 0; i < kNumRounds; ++i)
        num_without += dispatcher.choose(hot[static_cast<size_t>(i % kNumHot)]).plan == nullptr ? 1 : 0;
    });
    fmt::print("{:.1f} ns a lookup of the {}\n", hot_seconds * 1e9 / kNumRounds, kNumHot);
  }
  print_counts(dispatcher, "after");
  if (num_without > 0) fmt::print("{} lookups had no plan\n", num_without);
  return num_without > 0 ? 1 : 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (argc >= 2 && std::string_view(argv[1]) == "--flood") {
    return attune::flood(argc > 2 ? std::atoll(argv[2]) : 100'000,
                         argc > 3 ? std::strtoull(argv[3], nullptr, 10) : attune::DispatcherOptions().max_plan_bytes);
  }
  attune::register_families();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
