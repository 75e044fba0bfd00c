// SPDX-License-Identifier: MIT
// As guest.c, through the C++ interface, in a program that uses the C++ run time itself: streams, locales, exceptions.
#include <attune/dispatcher.h>
#include <attune/error.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kSizes[] = {1, 2, 3, 5, 7, 8, 16, 17, 33, 48};
constexpr const char* kProblem = "gemm_a16w16 m=48 n=96 k=64 dtype=fp32";

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "guest: " << what << std::endl;
  std::exit(1);
}

std::string own_streams() {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::boolalpha << true << ' ' << 1.5 << ' ' << std::hex << 255;
  std::ifstream file("/proc/self/stat");
  std::string word;
  file >> word;
  expect(!word.empty() && std::use_facet<std::ctype<char>>(std::locale()).is(std::ctype_base::digit, word[0]),
         "own streams");
  return text.str();
}

struct Product {
  int m, n, k;
  std::vector<float> x = std::vector<float>(static_cast<size_t>(m * k));
  std::vector<float> w = std::vector<float>(static_cast<size_t>(n * k));
  std::vector<float> y = std::vector<float>(static_cast<size_t>(m * n));

  Product(int m_, int n_, int k_) : m(m_), n(n_), k(k_) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 7 % 5) - 2);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int>(i * 3 % 7) - 3);
  }
  attune::GemmKey key() const {
    return {.m = m, .n = n, .k = k, .in = attune::DType::fp32, .out = attune::DType::fp32};
  }
  std::array<void*, 3> operands() { return {x.data(), w.data(), y.data()}; }
  void check(const std::string& who) {
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int l = 0; l < k; ++l) sum += x[static_cast<size_t>(i * k + l)] * w[static_cast<size_t>(j * k + l)];
        expect(y[static_cast<size_t>(i * n + j)] == sum, who + " is wrong");
      }
    }
    std::fill(y.begin(), y.end(), 0.0f);
  }
};

template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const attune::Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
  return "nothing was thrown";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  expect(own_streams() == "true 1.5 ff", "the program's own streams");
  attune::Dispatcher& dispatcher = attune::Dispatcher::global();
  Product row(48, 96, 64);
  for (int i = 4; i < argc; ++i) {
    dispatcher.run_candidate(kProblem, argv[i], row.operands());
    row.check(argv[i]);
  }
  for (int i = 0;; ++i) {
    dispatcher.run(row.key(), row.operands());
    row.check("the row's kernel");
    const attune::Hit hit = dispatcher.choose(row.key());
    if (hit.match == attune::Match::exact && hit.plan != nullptr && !hit.is_stand_in) break;
    expect(i < 6000, "the row's kernel is never ready");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  expect(error_of([&] {
           dispatcher.require({.op = attune::OpId::gemm_a16w16, .m = 0, .n = 8, .k = 8});
         }).starts_with("invalid_input: "),
         "an error of the library is caught by its type");
  // Thrown by the solver's module.
  expect(error_of([&] { dispatcher.run_candidate(kProblem, "onednn.gemm@1:impl=none;threads=1", row.operands()); }) !=
             "nothing was thrown",
         "an error of a module is caught by its type");
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    Product one(kSizes[i / 2 % 10], i % 2 != 0 ? 37 : 41, i % 2 != 0 ? 113 : 64);
    dispatcher.run(one.key(), one.operands());
    one.check("a product");
  }
  std::filesystem::rename(argv[3], argv[2]);
  dispatcher.reload();
  dispatcher.run(row.key(), row.operands());
  row.check("after a reload");
  expect(!dispatcher.explain(row.key()).empty() && !dispatcher.candidates(kProblem, {.limit = 1}).empty(), "texts");
  expect(own_streams() == "true 1.5 ff", "the program's own streams");
}
