// SPDX-License-Identifier: MIT
// An application that serves a model's layers through libattune.so alone and times each call: one of the two processes
// of tests/perf/served, which says when it runs.
//
//   attune_served --layers FILE [--table FILE …] [--threads N] [--gap-us N] [--activations warm|cold]
//
// FILE has one problem a line (`gemm_a16w16 m=4 n=96 k=64 dtype=fp32`). The program prepares every layer, writes a line
// `layer MATCH STATE` for each and `ready`, and then answers lines of standard input until it ends:
//
//   PASSES INDEX INDEX …   serves these layers in this order, once untimed and PASSES times timed, and answers with a
//                          line of the median times of their calls in µs, in this order
//
// STATE is `own` if the kernel of the table's row serves, `stand_in` if another one does.
#include <attune/attune.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kAlignment = 64;

[[noreturn]] void stop(const std::string& sentence) {
  std::cerr << "attune_served: " << sentence << '\n';
  std::exit(1);
}

void check(int status, const std::string& what) {
  if (status != ATTUNE_OK) stop(what + ": " + attune_last_error());
}

struct Arguments {
  std::string layers;
  std::vector<std::string> tables;
  int threads = 0;
  std::chrono::microseconds gap{0};  ///< Time for which the caller sleeps before each call.
  bool cold = false;                 ///< Activations and outputs are cold.
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view word = argv[i];
    if (i + 1 == argc) stop("give a value after '" + std::string(word) + "'");
    const std::string value = argv[i + 1];
    if (word == "--layers") {
      arguments.layers = value;
    } else if (word == "--table") {
      arguments.tables.push_back(value);
    } else if (word == "--threads") {
      arguments.threads = std::atoi(value.c_str());
    } else if (word == "--gap-us") {
      arguments.gap = std::chrono::microseconds(std::atoi(value.c_str()));
    } else if (word == "--activations" && (value == "warm" || value == "cold")) {
      arguments.cold = value == "cold";
    } else {
      stop("unknown argument '" + std::string(word) + " " + value + "'");
    }
  }
  return arguments;
}

/// Sets the exponent of a bf16 value, or of each half of an fp32 value, so that it lies in ±[0.5, 1): a chain of layers
/// neither overflows nor vanishes, and any bits become valid operands.
constexpr uint16_t bounded(uint16_t bits) { return static_cast<uint16_t>((bits & 0x807FU) | 0x3F00U); }

/// Memory of operands, aligned to a cache line and filled with numbers.
class Buffer {
 public:
  explicit Buffer(size_t bytes)
      : size_((bytes + kAlignment - 1) / kAlignment * kAlignment),
        data_(static_cast<char*>(::operator new (size_, std::align_val_t{kAlignment}))) {
    uint64_t random = 88172645463325252U;
    auto* halves = reinterpret_cast<uint16_t*>(data_.get());
    for (size_t i = 0; i < size_ / 2; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      halves[i] = bounded(static_cast<uint16_t>(random));
    }
  }
  char* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Delete {
    void operator()(char* data) const { ::operator delete (data, std::align_val_t{kAlignment}); }
  };
  size_t size_;
  std::unique_ptr<char, Delete> data_;
};

size_t bytes_of(uint32_t dtype) {
  if (dtype == ATTUNE_FP32) return 4;
  if (dtype == ATTUNE_BF16 || dtype == ATTUNE_FP16) return 2;
  stop("only layers of fp32, bf16 and fp16 can be served");
}

struct Layer {
  std::string problem;
  attune_gemm_key key = ATTUNE_GEMM_KEY_INIT;
  std::vector<Buffer> weights;  ///< One for each block of the model, with the bias behind it.
  size_t num_calls = 0;

  size_t weight_bytes() const { return static_cast<size_t>(key.n * key.k) * bytes_of(key.in_dtype); }
  size_t bias_bytes() const {
    return (key.flags & ATTUNE_BIAS) != 0 ? static_cast<size_t>(key.n) * bytes_of(key.in_dtype) : 0;
  }
  size_t bias_offset() const { return (weight_bytes() + kAlignment - 1) / kAlignment * kAlignment; }
  size_t x_bytes() const { return static_cast<size_t>(key.m * key.k) * bytes_of(key.in_dtype); }
  size_t y_bytes() const { return static_cast<size_t>(key.m * key.n) * bytes_of(key.out_dtype); }
};

/// Bytes that go through the caches before an operand that must be cold is used again: twice the last-level cache as
/// the system reports it. A virtual machine may report its host's, so at most 512 MiB.
size_t cold_bytes() {
  constexpr size_t kMaxBytes = size_t{512} << 20, kUnknown = size_t{64} << 20;
  const auto reported = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::min(kMaxBytes, reported > 0 ? 2 * static_cast<size_t>(reported) : kUnknown);
}

std::vector<Layer> read_layers(const std::string& path) {
  std::ifstream file(path);
  if (!file) stop("cannot read '" + path + "'");
  std::vector<Layer> layers;
  for (std::string line; std::getline(file, line);) {
    Layer& layer = layers.emplace_back();
    layer.problem = line;
    check(attune_problem_key(line.c_str(), &layer.key), "'" + line + "'");
    if (layer.key.op != ATTUNE_GEMM_A16W16 || (layer.key.flags & ~uint32_t{ATTUNE_BIAS}) != 0)
      stop("only gemm_a16w16 with plain weights can be served: '" + line + "'");
  }
  if (layers.empty()) stop("there is no layer in '" + path + "'");
  return layers;
}

/// Gives each layer weights of its own in every block, in as many blocks as make them cold when they are used again.
void allocate_weights(std::vector<Layer>& layers) {
  size_t block_bytes = 0;
  for (const Layer& layer : layers) block_bytes += layer.weight_bytes();
  const size_t num_blocks = std::min<size_t>(16384, cold_bytes() / block_bytes + 1);
  for (size_t block = 0; block < num_blocks; ++block)
    for (Layer& layer : layers) layer.weights.emplace_back(layer.bias_offset() + layer.bias_bytes());
}

/// Activations and outputs of all layers.
class Activations {
 public:
  Activations(const std::vector<Layer>& layers, bool cold)
      : cold_(cold), x_(size(layers, &Layer::x_bytes, cold)), y_(size(layers, &Layer::y_bytes, cold)) {}

  struct Place {
    void *x, *y;
  };
  /// Places of a layer's input and output. Warm: one buffer each; the input is written from what the layer before left
  /// in the output, as a norm or an activation function does. Cold: places that were not used for long.
  Place next(const Layer& layer) {
    if (cold_) return {advance(x_, x_used_, layer.x_bytes()), advance(y_, y_used_, layer.y_bytes())};
    const auto* from = reinterpret_cast<const uint16_t*>(y_.data());
    auto* to = reinterpret_cast<uint16_t*>(x_.data());
    const size_t count = layer.x_bytes() / 2, written = last_y_bytes_ / 2;
    for (size_t begin = 0; begin < count; begin += written)
      for (size_t i = 0; i < std::min(written, count - begin); ++i) to[begin + i] = bounded(from[i]);
    last_y_bytes_ = layer.y_bytes();
    return {x_.data(), y_.data()};
  }

 private:
  static size_t size(const std::vector<Layer>& layers, size_t (Layer::*bytes)() const, bool cold) {
    size_t max = kAlignment;
    for (const Layer& layer : layers) max = std::max(max, (layer.*bytes)());
    return cold ? std::max(cold_bytes(), 2 * max) : max;
  }
  static char* advance(const Buffer& buffer, size_t& used, size_t bytes) {
    if (used + bytes > buffer.size()) used = 0;
    char* place = buffer.data() + used;
    used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  }

  bool cold_;
  Buffer x_, y_;
  size_t x_used_ = 0, y_used_ = 0, last_y_bytes_ = kAlignment;
};

class Model {
 public:
  explicit Model(const Arguments& arguments)
      : gap_(arguments.gap), layers_(read_layers(arguments.layers)), activations_(layers_, arguments.cold) {
    std::vector<attune_table> tables;
    for (const std::string& table : arguments.tables) tables.push_back({"gemm_a16w16", table.c_str()});
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.tables = tables.data();
    options.num_tables = tables.size();
    options.compile_mode = ATTUNE_COMPILE_BLOCKING;
    options.threads = arguments.threads;
    check(attune_open(&options, &dispatcher_), "cannot open libattune");
    for (const Layer& layer : layers_) {
      attune_hit hit = ATTUNE_HIT_INIT;
      check(attune_require(dispatcher_, &layer.key, &hit), "'" + layer.problem + "'");
      std::cout << "layer " << attune_match_name(hit.match) << ' ' << (hit.is_stand_in != 0 ? "stand_in" : "own")
                << '\n';
    }
    allocate_weights(layers_);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() { attune_close(dispatcher_); }

  size_t num_layers() const { return layers_.size(); }

  /// Returns the medians of the calls' times, in µs, in the order of `order`.
  std::vector<double> serve(const std::vector<size_t>& order, size_t passes) {
    std::vector<std::vector<double>> times(order.size());
    for (size_t pass = 0; pass <= passes; ++pass) {
      for (size_t i = 0; i < order.size(); ++i) {
        const double us = call(layers_[order[i]]);
        if (pass > 0) times[i].push_back(us);
      }
    }
    std::vector<double> medians;
    for (auto& of : times) {
      std::sort(of.begin(), of.end());
      medians.push_back((of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2);
    }
    return medians;
  }

 private:
  double call(Layer& layer) {
    const Buffer& weights = layer.weights[layer.num_calls++ % layer.weights.size()];
    const void* bias = layer.bias_bytes() > 0 ? weights.data() + layer.bias_offset() : nullptr;
    if (gap_.count() > 0) std::this_thread::sleep_for(gap_);
    const auto [x, y] = activations_.next(layer);
    const auto begin = Clock::now();
    const int status = attune_gemm(dispatcher_, &layer.key, x, weights.data(), bias, y, nullptr);
    const auto end = Clock::now();
    check(status, "'" + layer.problem + "'");
    return std::chrono::duration<double, std::micro>(end - begin).count();
  }

  std::chrono::microseconds gap_;
  std::vector<Layer> layers_;
  Activations activations_;
  attune_dispatcher* dispatcher_ = nullptr;
};

void answer(Model& model, const std::string& line) {
  std::istringstream words(line);
  size_t passes = 0, index = 0;
  words >> passes;
  std::vector<size_t> order;
  while (words >> index) order.push_back(index);
  if (passes == 0 || order.empty() || *std::max_element(order.begin(), order.end()) >= model.num_layers())
    stop("cannot serve '" + line + "'");
  for (const double us : model.serve(order, passes)) std::cout << us << ' ';
  std::cout << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  Model model(parse(argc, argv));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) answer(model, line);
}
