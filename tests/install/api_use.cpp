// SPDX-License-Identifier: MIT
// Calls every function of include/attune: one that the library does not export is a link error. Built with hidden
// visibility, as many applications are: errors must be caught all the same.
#include <attune/capture.h>
#include <attune/dispatcher.h>
#include <attune/error.h>
#include <attune/tensor.h>
#include <attune/usable_rows.h>
#include <attune/version.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <typeinfo>

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "api_use: %s\n", what);
  std::exit(1);
}

void values() {
  using attune::DType, attune::Problem;
  expect(name(DType::bf16) == "bf16" && torch_name(DType::bf16) == "torch.bfloat16" && bits(DType::e2m1) == 4,
         "dtypes");
  expect(attune::parse_dtype("f16") == DType::fp16 && !attune::parse_dtype("fp12"), "parse_dtype");
  const Problem problem = Problem::parse("gemm_a16w16 m=3 n=8 k=16 dtype=fp32");
  expect(problem.has("m") && problem.integer("m") == 3 && problem.integer_or("batch", 1) == 1, "integers");
  expect(problem.dtype("dtype") == DType::fp32 && problem.text("k") == "16", "attributes");
  expect(problem.with("m", "4").integer("m") == 4 && Problem("x", {{"y", "z"}}).op() == "x", "with");
  const std::array<int64_t, 2> numbers = {1, 2};
  expect(attune::ProblemKey::of(1, numbers) != attune::ProblemKey::of(2, numbers), "ProblemKey");
}

void layouts() {
  const attune::TensorSpec spec{.role = "b", .dtype = attune::DType::fp32, .shape = {20, 4}};
  expect(spec.elements() == 80 && spec.bytes() == 320, "TensorSpec");
  expect(!attune::named_layouts().empty() && attune::find_named_layout("none") == nullptr, "layouts");
  const attune::Layout layout{"host.k16.v1"};
  std::vector<std::byte> plain(spec.bytes(), std::byte{7}), packed(packed_bytes(layout, spec)), back(plain.size());
  pack(layout, spec, plain, packed);
  unpack(layout, spec, packed, back);
  expect(plain == back, "pack and unpack");
}

void errors(attune::Dispatcher& dispatcher) {
  attune::ErrorCode code = attune::ErrorCode::internal;
  try {
    dispatcher.require({.op = attune::OpId::gemm_a16w16, .m = 0, .n = 8, .k = 8});
  } catch (const attune::Error& error) {
    code = error.code();
  }
  expect(name(code) == "invalid_input", "an error of the library is caught by its type");
  try {
    throw attune::Error(attune::ErrorCode::io, "mine");
  } catch (const std::exception& error) {
    expect(typeid(error) == typeid(attune::Error), "an error of the application is of that type");
  }
}

void dispatching(const char* capture) {
  const attune::GemmKey key{.m = 3, .n = 8, .k = 16, .in = attune::DType::fp32, .out = attune::DType::fp32};
  attune::Dispatcher own({.capture = capture, .poll_interval = std::chrono::milliseconds(0)});
  alignas(16) std::array<float, 128> x{}, w{}, y{};
  x.fill(1);
  w.fill(2);
  own.run(key, std::array<void*, 3>{x.data(), w.data(), y.data()});
  expect(y[0] == 32 && y[23] == 32 && y[24] == 0, "run");
  y.fill(0);
  const char* problem = "gemm_a16w16 m=3 n=8 k=16 dtype=fp32";
  attune::run(problem, "portable.gemm@1:block=4x4", std::array<void*, 3>{x.data(), w.data(), y.data()});
  own.run_candidate(problem, "portable.gemm@1:block=1x4", std::array<void*, 3>{x.data(), w.data(), y.data()});
  const auto listed = own.candidates(problem, {.solver = "portable"});
  expect(listed.size() == 1 && listed[0].candidates.size() > 1 && listed[0].why_none.empty(), "candidates");
  expect(attune::candidates(problem, {.limit = 1}).size() > 1, "candidates of every solver");
  own.run_candidate(problem, listed[0].candidates.back().short_name,
                    std::array<void*, 3>{x.data(), w.data(), y.data()});
  y.fill(0);
  attune::Weights weights = own.pack_weights(key, w.data());
  own.run(key, weights, std::array<void*, 2>{x.data(), y.data()});
  expect(y[0] == 32 && y[23] == 32 && own.choose(key, &weights).plan != nullptr, "packed weights");
  expect(weights.layouts().size() == 1 && weights.bytes() > 0 && own.require(key, &weights).layout == 0, "Weights");
  attune::Weights taken = own.pack_weights(key, w.data(), {.packing = attune::Packing::per_shape});
  taken = std::move(weights);
  expect(weights.bytes() == 0, "moved weights");
  expect(y[23] == 32 && own.operands(problem)[1].shape[0] == 8, "run_candidate, operands");
  const attune::Hit hit = own.choose(key);
  expect(hit.plan != nullptr && hit.plan->traits().reentrant && name(hit.match) == "fallback", "choose");
  expect(own.require(key).plan == hit.plan, "require");
  const std::shared_ptr<const attune::Plan> kept = own.keep(hit);
  expect(kept.get() == hit.plan && own.counts().plan_bytes > kept->traits().host_bytes, "keep");
  expect(!own.explain(key).empty() && !own.reload() && own.notices().empty(), "explain, reload, notices");
  y.fill(0);
  attune::run(*kept, std::array<void*, 3>{x.data(), w.data(), y.data()});
  expect(y[0] == 32 && y[23] == 32, "a plan by itself");
  expect(own.counts().calls == 6, "counts");
  for (const attune::TableInUse& table : own.tables()) {
    expect(!table.op.empty() && !table.origin.empty(), "tables");
    if (table.is_there) expect(attune::usable_rows(table.file, table.op).size() < SIZE_MAX, "usable_rows");
  }
  errors(own);
  own.finish();
  expect(own.choose(key).plan == hit.plan, "lookups go on after finish");
  expect(&attune::Dispatcher::global() == &attune::Dispatcher::global(), "global");
  expect(&attune::Dispatcher::global("cpu:0") == &attune::Dispatcher::global(), "global of a device");
}

void capturing(const char* folder) {
  attune::Capture capture(folder);
  capture.note(attune::GemmKey{.m = 5, .n = 8, .k = 16});
  capture.note(attune::Problem::parse("gemm_a16w16 m=6 n=8 k=16 dtype=bf16"));
  expect(capture.num_shapes() == 2 && capture.num_dropped() == 0 && capture.flush().empty(), "capture");
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 2, "usage: api_use FOLDER");
  values();
  layouts();
  dispatching(argv[1]);
  capturing(argv[1]);
  std::printf("%s\n", attune::kVersion);
}
