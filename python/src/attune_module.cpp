// SPDX-License-Identifier: MIT
#include <attune/attune.h>
#include <attune/dispatcher.h>
#include <attune/usable_rows.h>
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "candidate.h"
#include "capturing.h"
#include "common_changes.h"
#include "dispatchers.h"
#include "errors.h"
#include "gemm.h"
#include "gil.h"
#include "packed_operands.h"
#include "packed_weights.h"
#include "quantised_product.h"
#include "quantising.h"
#include "torch/torch_calls.h"
#include "torch/torch_library.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// Nothing: that of the environment.
Dispatcher& named(const std::optional<std::string>& device) {
  return device ? Dispatcher::global(*device) : Dispatcher::global();
}

std::string explain(const std::string& problem, const std::optional<std::string>& device) {
  const GilRelease others_run;
  Dispatcher& dispatcher = named(device);
  return dispatcher.explain(dispatcher.key(problem));
}

bool reload() {
  const GilRelease others_run;
  return reload_all();
}

uint64_t release_memory(const std::optional<std::string>& device) {
  const GilRelease others_run;
  return named(device).release_memory();
}

std::vector<nb::dict> tables(const std::optional<std::string>& device) {
  std::vector<TableInUse> in_use;
  {
    const GilRelease others_run;  // tables() may wait for a library that packs weights.
    in_use = named(device).tables();
  }
  std::vector<nb::dict> all;
  for (const TableInUse& table : in_use) {
    nb::dict one;
    one["op"] = table.op;
    one["file"] = table.file;
    one["origin"] = table.origin;
    one["is_there"] = table.is_there;
    all.push_back(one);
  }
  return all;
}

std::vector<nb::dict> usable_rows_of(const std::filesystem::path& table, const std::string& op) {
  std::vector<UsableRow> rows;
  {
    const GilRelease others_run;
    rows = usable_rows(table, op);
  }
  std::vector<nb::dict> all;
  for (const UsableRow& row : rows) {
    nb::dict one, problem;
    for (const auto& [name, value] : row.problem.attributes()) problem[name.c_str()] = value;
    one["problem"] = problem;
    one["gfx"] = row.gfx;
    one["cu_num"] = row.num_units;
    one["device"] = row.device;
    one["candidate"] = row.candidate;
    one["us"] = row.us;
    all.push_back(one);
  }
  return all;
}

std::vector<nb::dict> candidates(const std::string& problem, const std::optional<std::string>& solver, uint64_t first,
                                 uint64_t limit, const std::optional<std::string>& device) {
  std::vector<SolverCandidates> listed;
  {
    const GilRelease others_run;  // Libraries are opened, and a long list takes a second.
    listed = named(device).candidates(problem, {solver.value_or(""), first, limit});
  }
  std::vector<nb::dict> all;
  for (const SolverCandidates& own : listed) {
    nb::dict names, one;
    for (const NumberedCandidate& candidate : own.candidates) names[candidate.short_name.c_str()] = candidate.name;
    one["solver"] = own.solver;
    one["why_none"] = own.why_none;
    one["num_numbers"] = own.num_numbers;
    one["candidates"] = names;
    all.push_back(one);
  }
  return all;
}

std::vector<std::string> notices(const std::optional<std::string>& device) {
  const GilRelease others_run;
  return named(device).notices();
}

int set_num_threads(int threads) {
  const GilRelease others_run;  // The first use of a limit reads the tables.
  return host_dispatcher().set_threads(threads);
}

std::string requirement() {
  const GilRelease others_run;
  return std::string(text(Dispatcher::global().requirement()));
}

int get_num_threads() {
  const GilRelease others_run;
  return host_dispatcher().threads();
}

nb::dict counts(const std::optional<std::string>& device) {
  const DispatchCounts now = named(device).counts();
  nb::dict all;
  all["calls"] = now.calls;
  all["misses"] = now.misses;
  all["shapes"] = now.shapes;
  all["missed_shapes"] = now.missed_shapes;
  all["plans"] = now.plans;
  all["reloads"] = now.reloads;
  all["plan_bytes"] = now.plan_bytes;
  all["evicted_plans"] = now.evicted_plans;
  all["plan_limit_reached"] = now.plan_limit_reached;
  all["captured_plans"] = now.captured_plans;
  all["captured_stand_ins"] = now.captured_stand_ins;
  return all;
}

/// Returns the path of libattune.
std::string library() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<void*>(&attune_version), &found) == 0 || found.dli_fname == nullptr) return {};
  return found.dli_fname;
}

constexpr const char* kGemmDoc = R"(out[..., n] = sum over k of x[..., k] * w[n, k], plus bias[n]: a linear layer.

x     (..., k)  fp32, fp16 or bf16
w     (n, k)    of the type of x
bias  (n,)      of the type of x; None: none
out   (..., n)  fp32, fp16 or bf16; written in place, must not overlap the others. None: a new array of the kind
                and type of x (of packed weights: of their out_dtype)

stream  on a GPU, the stream that gets the work: an address, or an object with `cuda_stream`, `ptr` or `__cuda_stream__`.
        None: PyTorch's current one for its tensors, the legacy default stream for other arrays

NumPy arrays (bf16 with ml_dtypes) and, through DLPack, those of PyTorch and other libraries, all on the CPU or all on
one CUDA device. Nothing is copied: all are C-contiguous and start at a multiple of 16 bytes, as fresh arrays do. No
gradients. Returns out, on a GPU once the work is enqueued. The GIL is released while it runs. The first call of a shape
prepares its kernel.

Raises ValueError for a wrong shape, stride, alignment, device, a read-only or overlapping out; TypeError for a wrong
type and for arrays on several devices; attune.errors.UnavailableError when no library supports the problem, DeviceError when one reports an error.)";
constexpr const char* kExplainDoc = R"(Returns the steps of a problem's lookup as readable lines.

problem: as `attune` writes it, `gemm_a16w16 m=128 n=1536 k=7168 dtype=bf16 bias=1`; omitted attributes have their defaults.
device: `cuda:0`; None: that of ATTUNE_DEVICE, `cpu:0` without it.
Raises InvalidInputError for another text or device.)";
constexpr const char* kCandidatesDoc =
    R"(Lists the candidates of a problem, by solver: a dict for each. Runs and compiles nothing.

solver       its id
why_none     why it has none for the problem here, '' if it has some
num_numbers  all its numbers are below this one
candidates   a dict of the first `limit` whose numbers are at least `first`; the next page begins behind the last number:
             {'cublaslt#17': 'cublaslt.gemm@2+13.1.0:algo=66;...'}

run() takes either text. A number means a candidate for one problem, device, thread limit and loaded library; tables
carry it as solidx, and the name, which alone lasts.

problem: as for run. solver: the only one, its id or the first part of it (`cublaslt`); None: all; the first part means those that
support the problem, if any does. device: as for explain.
Raises InvalidInputError for another text and attune.errors.UnavailableError for a solver that is not there.)";
constexpr const char* kRunDoc = R"(Runs a problem of any op: one candidate of it, or the kernel that the tables name.

problem    as `attune` writes it, `gemm_a16w16 m=4 n=96 k=64 dtype=fp32`; omitted attributes have their defaults
candidate  as tables name it, `jit_cpu.gemm@3:bm=4;...`, or its number here, `jit_cpu#7`; candidates() lists both.
           Tables are not used. None: the kernel of the problem's row in the tables, or the untuned one
tensors    the problem's operands in order (of a product a, b, bias if there is one, c), the output last, which is
           written in place; or a dict of them by role, {'a': x, 'b': w, 'c': out}
packed     what pack_operands returned for the problem with any number of rows; tensors then omit these operands. Without
           a candidate only, and on the CPU
stream     as for gemm_a16w16

Arrays as for gemm_a16w16, int8, fp8, and uint8 for e2m1 (two elements a byte) and e8m0, each of exactly the problem's shape and type. A candidate's kernel that is not compiled is
compiled first, which takes seconds. The GIL is released.

Raises ValueError for a wrong text, shape, role or number of tensors, TypeError for a wrong type, and
attune.errors.UnavailableError when the candidate's solver is not available, has another version or does not support
the problem, when its kernel cannot be compiled, or when no library supports the problem.)";
constexpr const char* kPackDoc = R"(Packs weights once, before all calls; pass the result to gemm_a16w16 as w.

w          (n, k)  fp32, fp16 or bf16; not needed afterwards
bias       whether the calls have a bias
out_dtype  'fp32', 'fp16' or 'bf16', the type of the results; None: that of w
per_shape  a copy for each layout that the tables name for these weights, not the most frequent one alone
max_bytes  of all copies; 0: no limit

Returns a PackedWeights: layouts, nbytes, shape. Raises ValueError and TypeError as gemm_a16w16 does, and
attune.errors.UnavailableError when no library supports packed weights, or every copy exceeds max_bytes.)";
constexpr const char* kPackOperandsDoc =
    R"(Packs the operands that a problem of any op has packed, weights and scales; pass the result to run as packed.

problem    as for run; its number of rows means nothing
tensors    the operands that are packed, in order, or a dict of them by role; not needed afterwards
per_shape, max_bytes  as for pack_weights

Returns PackedOperands: layouts, nbytes. Raises as pack_weights does, and ValueError for a problem that packs nothing.)";
constexpr const char* kReloadDoc =
    "Checks the files of the tables now, of all devices in use, instead of within a second. Returns True if one has "
    "changed; later calls use "
    "it.";
constexpr const char* kReleaseMemoryDoc =
    R"(Frees the device's memory that prepared kernels and their workspaces hold, and returns its bytes.

For an application that ran out of memory and tries once more. The next call of each shape prepares its kernel again.
Packed weights, and kernels that calls in progress or captured graphs use, stay. While a graph is captured it frees
nothing. device: as for explain.)";
constexpr const char* kSetThreadsDoc =
    R"(Sets the thread limit of all later calls, of all threads, and returns it.

It is the least of threads (0: no limit of its own), the cores and the CPU quota of this process, ATTUNE_THREADS,
OMP_NUM_THREADS and OMP_THREAD_LIMIT. Rows for that many threads are served and no others, and no kernel starts more. The first call with a
limit reads the tables. While attune.torch is patched in, its calls set PyTorch's number. Raises InvalidInputError for a
negative number.)";
constexpr const char* kCountsDoc =
    R"(How often since the first call: calls, misses (no row served them), shapes, missed_shapes, reloads.

plans is the number of plans kept now, which hold plan_bytes; evicted_plans were evicted; plan_limit_reached counts how
often the limit forced an eviction. captured_plans are held by captured graphs; captured_stand_ins counts
launches in graphs that keep a default kernel, because the row's was not compiled. device: as for explain.)";
constexpr const char* kTablesDoc =
    R"(Returns the tables that calls use now, by op and in the order of precedence: a dict for each.

op, file (a pathlib.Path), origin ('variable', 'overlay', 'model' or 'default'), is_there (False for a
missing file that a variable names). device: as for explain.)";
constexpr const char* kNoticesDoc =
    "Returns notices about the current tables, one sentence each. device: as for explain.";

void add_capture(nb::module_& module) {
  nb::class_<ShapeCapture>(module, "ShapeCapture", "Collects shapes between start() and stop(); see attune.capture.")
      .def(nb::init<const std::filesystem::path&>(), "folder"_a)
      .def("start", &ShapeCapture::start)
      .def("stop", &ShapeCapture::stop)
      .def("flush", &ShapeCapture::flush)
      .def_prop_ro("num_shapes", &ShapeCapture::num_shapes)
      .def_prop_ro("num_dropped", &ShapeCapture::num_dropped);
}

}  // namespace
}  // namespace attune::python

NB_MODULE(_attune, module) {
  using namespace attune::python;
  module.doc() = "The compiled part of attune.";
  register_errors();
  module.attr("version") = attune_version();
  module.attr("library") = library();
  module.def("gemm_a16w16", &gemm_a16w16, "x"_a, "w"_a, "bias"_a.none() = nb::none(), "out"_a.none() = nb::none(),
             nb::kw_only(), "stream"_a.none() = nb::none(), kGemmDoc);
  add_quantised_products(module);
  module.def("run", &run_problem, "problem"_a, "candidate"_a.none(), "tensors"_a, "packed"_a.none() = nb::none(),
             nb::kw_only(), "stream"_a.none() = nb::none(), kRunDoc);
  module.def("candidates", &candidates, "problem"_a, "solver"_a.none() = nb::none(), nb::kw_only(), "first"_a = 0,
             "limit"_a = attune::CandidateRange().limit, "device"_a.none() = nb::none(), kCandidatesDoc);
  nb::class_<PackedWeights>(module, "PackedWeights", "Packed weights, for every number of rows; see pack_weights.")
      .def_prop_ro("layouts", &PackedWeights::layouts)
      .def_prop_ro("nbytes", &PackedWeights::bytes)
      .def_prop_ro("shape", &PackedWeights::shape);
  module.def("pack_weights", &pack_weights, "w"_a, nb::kw_only(), "bias"_a = false, "out_dtype"_a.none() = nb::none(),
             "per_shape"_a = false, "max_bytes"_a = 0, kPackDoc);
  nb::class_<PackedOperands>(module, "PackedOperands", "Operands that are packed together; see pack_operands.")
      .def_prop_ro("layouts", &PackedOperands::layouts)
      .def_prop_ro("nbytes", &PackedOperands::bytes);
  module.def("pack_operands", &pack_operands, "problem"_a, "tensors"_a, nb::kw_only(), "per_shape"_a = false,
             "max_bytes"_a = 0, kPackOperandsDoc);
  module.def("explain", &explain, "problem"_a, "device"_a.none() = nb::none(), kExplainDoc);
  module.def("release_memory", &release_memory, "device"_a.none() = nb::none(), kReleaseMemoryDoc);
  module.def("reload", &reload, kReloadDoc);
  module.def("set_num_threads", &set_num_threads, "threads"_a, kSetThreadsDoc);
  module.def("get_num_threads", &get_num_threads, "Returns the thread limit; see set_num_threads.");
  module.def("requirement", &requirement,
             "Returns what every kernel must keep, from ATTUNE_REQUIRE: '', 'deterministic' or 'batch-invariant'.");
  module.def("counts", &counts, "device"_a.none() = nb::none(), kCountsDoc);
  module.def("tables", &tables, "device"_a.none() = nb::none(), kTablesDoc);
  module.def("usable_rows", &usable_rows_of, "table"_a, "op"_a,
             "Reads a table as lookups do: for the best row of each key and device a dict of problem, gfx, cu_num, "
             "device, candidate, us.");
  module.def("notices", &notices, "device"_a.none() = nb::none(), kNoticesDoc);
  // Baseline function for benchmarks/call_overhead.py.
  module.def(
      "bare", [](nb::handle, nb::handle, nb::handle, nb::handle) {}, "x"_a, "w"_a, "bias"_a.none() = nb::none(),
      "out"_a.none() = nb::none());
  add_capture(module);
  add_quantising(module);
  add_torch_calls(module);
  add_torch_library(module);
  add_common_changes(module);
}
