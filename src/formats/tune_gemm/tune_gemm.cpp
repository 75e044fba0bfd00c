// SPDX-License-Identifier: MIT
#include "formats/tune_gemm/tune_gemm.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "ops/extent.h"
#include "ops/family.h"

namespace attune {
namespace {

constexpr uint64_t kMaxFileBytes = 16ull << 20;
constexpr size_t kMaxKeys = 256;  ///< Keys of one size; the older tuner writes 16.

struct RawEntry {
  size_t line = 0, last_line = 0;  ///< Counted from 1.
  std::vector<std::pair<std::string, std::string>> values;
};

/// Key columns of the epilogue: a size has them under the attributes' names, and only where they are not the default.
std::vector<const AttributeSpec*> epilogue_keys() {
  std::vector<const AttributeSpec*> keys;
  for (const AttributeSpec& key : find_family("gemm_a16w16")->key) {
    if (key.kind == ColumnKind::choice || key.name == "out_scale") keys.push_back(&key);
  }
  return keys;
}

/// Handles the parser's events for a list of maps of scalars, and nothing deeper. It builds no tree, so memory stays
/// bounded by the file's size, and it stops at the first error.
class EntryHandler final : public YAML::EventHandler {
 public:
  explicit EntryHandler(std::string name) : name_(std::move(name)) {}
  std::vector<RawEntry> take() { return std::move(entries_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (in_list_) fail_at(mark, "a second document is not supported, give one list");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { take_scalar(mark, ""); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail_at(mark, "an alias is not supported, write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string& value) override {
    take_scalar(mark, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    if (in_list_) fail_at(mark, "a list inside the list of sizes is not supported");
    in_list_ = true;
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    if (!in_list_) fail_at(mark, wanted());
    if (in_map_) fail_at(mark, "a map inside a size is not supported");
    in_map_ = true;
    entries_.push_back({line(mark), line(mark), {}});
  }
  void OnMapEnd() override {
    in_map_ = false;
    key_.reset();
  }

  [[noreturn]] void fail_at(const YAML::Mark& mark, std::string_view message) const {
    fail(ErrorCode::invalid_input, "{}:{}: {}", name_, line(mark), message);
  }

 private:
  static size_t line(const YAML::Mark& mark) { return mark.line < 0 ? 1 : static_cast<size_t>(mark.line) + 1; }
  static std::string_view wanted() {
    return "expected a list of sizes such as - {'M': 16, 'N': 32, 'K': 64, 'rowMajorA': 'T', 'rowMajorB': 'N'}";
  }

  void take_scalar(const YAML::Mark& mark, const std::string& value) {
    if (!in_map_) fail_at(mark, wanted());
    RawEntry& entry = entries_.back();
    entry.last_line = line(mark);
    if (!key_) {
      key_ = value;
      return;
    }
    if (entry.values.size() == kMaxKeys) fail_at(mark, fmt::format("a size has at most {} keys", kMaxKeys));
    const bool repeated =
        std::any_of(entry.values.begin(), entry.values.end(), [&](const auto& one) { return one.first == *key_; });
    if (repeated) fail_at(mark, fmt::format("the key '{}' is given twice", shown(*key_)));
    entry.values.emplace_back(std::move(*key_), value);
    key_.reset();
  }

  std::string name_;
  std::vector<RawEntry> entries_;
  std::optional<std::string> key_;
  bool in_list_ = false, in_map_ = false;
};

std::vector<RawEntry> parse(std::string_view content, const std::string& name) {
  EntryHandler handler(name);
  try {
    std::istringstream stream{std::string(content)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(handler)) continue;
  } catch (const YAML::Exception& error) {
    handler.fail_at(error.mark, "this is not YAML (" + error.msg + ")");
  }
  return handler.take();
}

/// Converts the texts of one entry to values.
class EntryReader {
 public:
  EntryReader(RawEntry& raw, const std::string& name, const TuneGemmOptions& options)
      : raw_(raw), name_(name), options_(options) {}

  TuneGemmEntry read() {
    TuneGemmEntry entry;
    entry.line = raw_.line;
    const auto m = extent("M"), n = extent("N"), k = extent("K");
    const bool trans_a = !row_major("rowMajorA", true), trans_b = !row_major("rowMajorB", false);
    const auto in = dtype("dtype", options_.dtype).value_or(TuneGemmOptions::kDefaultType);
    const auto out = dtype("outdtype", options_.outdtype).value_or(in);
    std::vector<std::pair<std::string, std::string>> attributes = {{"m", m},
                                                                   {"n", n},
                                                                   {"k", k},
                                                                   {"dtype", std::string(attune::name(in))},
                                                                   {"outdtype", std::string(attune::name(out))},
                                                                   {"bias", bias() ? "1" : "0"}};
    if (trans_a) attributes.emplace_back("trans_a", "1");
    if (!trans_b) attributes.emplace_back("trans_b", "0");
    for (const AttributeSpec* key : epilogue_keys()) {
      if (auto value = of_epilogue(*key)) attributes.emplace_back(key->name, *std::move(value));
    }
    entry.problem = Problem("gemm_a16w16", std::move(attributes));
    entry.candidate = take("candidate").value_or("");
    entry.device = take("device").value_or("");
    entry.us = number("us");
    entry.tflops = number("tflops");
    entry.noise = number("noise");
    entry.runner_up = take("runner_up").value_or("");
    entry.parameters = std::move(raw_.values);
    return entry;
  }
  bool used_default_dtype() const { return default_dtype_; }

 private:
  [[noreturn]] void fail_value(std::string_view key, std::string_view wanted, const std::string& got) const {
    fail(ErrorCode::invalid_input, "{}:{}: the key '{}' expects {}, got '{}'", name_, raw_.line, key, wanted,
         shown(got));
  }

  std::optional<std::string> take(std::string_view key) {
    const auto found =
        std::find_if(raw_.values.begin(), raw_.values.end(), [&](const auto& one) { return one.first == key; });
    if (found == raw_.values.end()) return std::nullopt;
    std::string value = std::move(found->second);
    raw_.values.erase(found);
    return value;
  }

  std::string extent(std::string_view key) {
    const auto text = take(key);
    if (!text)
      fail(ErrorCode::invalid_input, "{}:{}: a size needs the keys M, N and K, this one has no '{}'", name_, raw_.line,
           key);
    const auto value = parse_int(*text);
    if (!value || *value < 1 || *value > kMaxExtent)
      fail_value(key, fmt::format("a whole number from 1 to {}", kMaxExtent), *text);
    return std::to_string(*value);
  }

  bool row_major(std::string_view key, bool default_value) {
    const auto text = take(key);
    if (!text) return default_value;
    if (*text != "T" && *text != "N") fail_value(key, "T (row-major) or N (column-major)", *text);
    return *text == "T";
  }

  std::optional<DType> dtype(std::string_view key, std::optional<DType> given) {
    const auto text = take(key);
    if (given) return given;
    if (!text) {
      default_dtype_ = default_dtype_ || key == "dtype";
      return std::nullopt;
    }
    if (const auto parsed = parse_dtype(*text)) return parsed;
    fail_value(key, "a data type such as bf16", *text);
  }

  bool bias() {
    const auto text = take("bias");
    if (options_.bias) return *options_.bias;
    if (!text) return false;
    if (const auto value = parse_bool(*text)) return *value;
    fail_value("bias", "True or False", *text);
  }

  /// The value of a part of the epilogue; nothing if it is missing or the default.
  std::optional<std::string> of_epilogue(const AttributeSpec& key) {
    const auto text = take(key.name);
    if (!text) return std::nullopt;
    std::string value;
    if (key.kind == ColumnKind::choice) {
      const auto number = choice_number(key.allowed, *text);
      if (!number) fail_value(key.name, "one of " + join({key.allowed.begin(), key.allowed.end()}, ", "), *text);
      value = key.allowed[*number];
    } else {
      const auto flag = parse_bool(*text);
      if (!flag) fail_value(key.name, "True or False", *text);
      value = *flag ? "1" : "0";
    }
    return value == key.default_value ? std::nullopt : std::optional(std::move(value));
  }

  std::optional<double> number(std::string_view key) {
    const auto text = take(key);
    if (!text) return std::nullopt;
    if (const auto value = parse_double(*text); value && std::isfinite(*value) && *value >= 0) return value;
    fail_value(key, "a number, 0 or more", *text);
  }

  RawEntry& raw_;
  const std::string& name_;
  const TuneGemmOptions& options_;
  bool default_dtype_ = false;
};

/// The number after `label` in the comment of a line, if any.
std::optional<double> from_comment(std::string_view line, std::string_view label) {
  const auto comment = line.find('#');
  const auto found = comment == std::string_view::npos ? comment : line.find(label, comment);
  if (found == std::string_view::npos) return std::nullopt;
  const auto text = trim(line.substr(found + label.size()));
  const auto value = parse_double(text.substr(0, text.find(' ')));
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string scalar(std::string_view text) {
  const auto number = parse_int(text);
  return number && std::to_string(*number) == text ? std::string(text) : in_quotes(text);
}

std::string entry_line(const TuneGemmEntry& entry) {
  const Problem& problem = entry.problem;
  std::string line = fmt::format(
      "- {{'M': {}, 'N': {}, 'K': {}, 'rowMajorA': '{}', 'rowMajorB': '{}'", problem.integer("m"), problem.integer("n"),
      problem.integer("k"), problem.integer_or("trans_a", 0) ? 'N' : 'T', problem.integer_or("trans_b", 1) ? 'N' : 'T');
  const auto add = [&](std::string_view key, const std::string& value) {
    line += fmt::format(", {}: {}", in_quotes(key), value);
  };
  for (const auto& [key, value] : entry.parameters) add(key, scalar(value));
  if (!entry.candidate.empty()) add("candidate", in_quotes(entry.candidate));
  if (entry.us) add("us", fmt::format("{}", *entry.us));
  if (entry.tflops) add("tflops", fmt::format("{}", *entry.tflops));
  if (entry.noise) add("noise", fmt::format("{:.3g}", *entry.noise));
  if (!entry.runner_up.empty()) add("runner_up", in_quotes(entry.runner_up));
  add("dtype", in_quotes(problem.text("dtype")));
  if (problem.has("outdtype")) add("outdtype", in_quotes(problem.text("outdtype")));
  if (problem.integer_or("bias", 0)) add("bias", "1");
  for (const AttributeSpec* key : epilogue_keys()) {
    if (problem.has(key->name)) add(key->name, scalar(problem.text(key->name)));
  }
  if (!entry.device.empty()) add("device", in_quotes(entry.device));
  line += "}";
  // The older tuner writes the result here, and its users look for it here.
  if (entry.us && entry.tflops) line += fmt::format(" # TFLOPS: {:.2f} time(us): {:.2f}", *entry.tflops, *entry.us);
  return line + "\n";
}

/// Identity of a result: the size as written in the file, and the device.
std::string identity(const TuneGemmEntry& entry) {
  const Problem& problem = entry.problem;
  const std::string& in = problem.text("dtype");
  std::string epilogue;
  for (const AttributeSpec* key : epilogue_keys())
    epilogue += ' ' + (problem.has(key->name) ? problem.text(key->name) : std::string(key->default_value));
  return fmt::format("{} {} {} {} {} {} {} {} {}{}", problem.integer("m"), problem.integer("n"), problem.integer("k"),
                     in, problem.has("outdtype") ? problem.text("outdtype") : in, problem.integer_or("bias", 0),
                     problem.integer_or("trans_a", 0), problem.integer_or("trans_b", 1), entry.device, epilogue);
}

void check_held(const TuneGemmEntry& entry) {
  for (const std::string_view attribute : {"scale_ab", "bpreshuffle"}) {
    if (entry.problem.integer_or(attribute, 0) == 0) continue;
    fail(ErrorCode::invalid_input, "files of this kind have no key for the attribute '{}', write a CSV table: {}",
         attribute, entry.problem.key());
  }
}

bool same_content(const TuneGemmEntry& one, const TuneGemmEntry& other) {
  return identity(one) == identity(other) && one.candidate == other.candidate && one.us == other.us &&
         one.tflops == other.tflops && one.noise == other.noise && one.runner_up == other.runner_up &&
         one.parameters == other.parameters;
}

/// A results file as read, with the change to each entry.
class TuneGemmEdit {
 public:
  TuneGemmEdit(std::string content, std::string name) : content_(std::move(content)), name_(std::move(name)) {
    raw_ = parse(content_, name_);
    if (raw_.empty()) return;
    old_ = parse_tune_gemm(content_, name_).entries;
    edits_.resize(old_.size());
    for (size_t i = 0; i < old_.size(); ++i) index_[identity(old_[i])].push_back(i);
  }

  void add(const TuneGemmEntry& entry) {
    check_held(entry);
    const auto key = identity(entry);
    const auto found = entry.device.empty() ? index_.end() : index_.find(key);
    if (found == index_.end()) {
      const auto [known, fresh] = appended_index_.try_emplace(key, appended_.size());
      if (fresh) appended_.push_back(&entry);
      appended_[known->second] = &entry;
      return;
    }
    // A file may hold a result twice; a second one would otherwise stay beside the new one.
    for (const size_t i : found->second) edits_[i].dropped = true;
    edits_[found->second.front()] = {.dropped = false, .replacement = &entry};
  }

  /// Returns the new content: the old bytes with lines replaced, or, if that does not parse to the same entries, all
  /// entries rewritten.
  std::string finish() const {
    std::vector<TuneGemmEntry> wanted;
    std::string rewritten;
    const auto want = [&](const TuneGemmEntry& entry) {
      wanted.push_back(entry);
      rewritten += entry_line(entry);
    };
    for (size_t i = 0; i < old_.size(); ++i) {
      if (!edits_[i].dropped) want(edits_[i].replacement ? *edits_[i].replacement : old_[i]);
    }
    for (const TuneGemmEntry* entry : appended_) want(*entry);
    std::string edited = with_lines_exchanged();
    return says(edited, wanted) ? edited : rewritten;
  }

 private:
  struct EntryEdit {
    bool dropped = false;
    const TuneGemmEntry* replacement = nullptr;
  };

  std::string with_lines_exchanged() const {
    std::vector<std::string_view> lines = split(content_, '\n');
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    const std::string indent(raw_.empty() ? 0 : lines[raw_.front().line - 1].find_first_not_of(' '), ' ');
    const std::string_view line_end = !lines.empty() && lines.front().ends_with('\r') ? "\r\n" : "\n";
    const auto put = [&](std::string& to, const TuneGemmEntry& entry) {
      std::string line = indent + entry_line(entry);
      line.pop_back();
      to.append(line).append(line_end);
    };
    std::string edited;
    size_t next = 0;
    for (size_t i = 0; i < edits_.size(); ++i) {
      if (!edits_[i].dropped && !edits_[i].replacement) continue;
      for (; next + 1 < raw_[i].line; ++next) edited.append(lines[next]).append("\n");
      if (edits_[i].replacement) put(edited, *edits_[i].replacement);
      next = raw_[i].last_line;
    }
    for (; next < lines.size(); ++next) edited.append(lines[next]).append("\n");
    for (const TuneGemmEntry* entry : appended_) put(edited, *entry);
    return edited;
  }

  bool says(const std::string& content, const std::vector<TuneGemmEntry>& wanted) const {
    try {
      const auto entries = parse_tune_gemm(content, name_).entries;
      return std::equal(entries.begin(), entries.end(), wanted.begin(), wanted.end(), same_content);
    } catch (const Error&) {
      return false;
    }
  }

  std::string content_, name_;
  std::vector<RawEntry> raw_;
  std::vector<TuneGemmEntry> old_;
  std::vector<EntryEdit> edits_;
  std::map<std::string, std::vector<size_t>> index_;
  std::vector<const TuneGemmEntry*> appended_;
  std::map<std::string, size_t> appended_index_;
};

}  // namespace

TuneGemmFile read_tune_gemm(const std::filesystem::path& path, const TuneGemmOptions& options) {
  return parse_tune_gemm(read_file(path, kMaxFileBytes), path.string(), options);
}

std::vector<TuneGemmEntry> read_tune_gemm_results(const std::filesystem::path& path) {
  auto entries = read_tune_gemm(path).entries;
  const auto is_result = [](const TuneGemmEntry& entry) {
    return !entry.candidate.empty() || entry.us || !entry.parameters.empty();
  };
  if (std::none_of(entries.begin(), entries.end(), is_result))
    fail(ErrorCode::invalid_input,
         "{}:{}: the file is a list of sizes, whose entries state no kernel, so it holds no tuning results; name a "
         "results file",
         path.string(), entries.front().line);
  return entries;
}

std::vector<std::string> architectures_in_tune_gemm(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) return {};
  std::set<std::string> found;
  try {
    for (const TuneGemmEntry& entry : read_tune_gemm(path).entries) {
      if (!entry.device.empty()) found.insert(entry.device.substr(0, entry.device.rfind('/')));
    }
  } catch (const Error&) {
    return {};
  }
  return {found.begin(), found.end()};
}

TuneGemmFile parse_tune_gemm(std::string_view content, const std::string& name, const TuneGemmOptions& options) {
  if (options.op != "gemm_a16w16") {
    fail(ErrorCode::invalid_input, "files of this kind hold sizes of gemm_a16w16, omit --op: '{}'", options.op);
  }
  std::vector<RawEntry> raw = parse(content, name);
  if (raw.empty()) fail(ErrorCode::invalid_input, "{}:1: the list of sizes is empty, give at least one", name);
  const auto lines = split(content, '\n');
  TuneGemmFile file;
  size_t num_default = 0;
  for (RawEntry& entry : raw) {
    EntryReader reader(entry, name, options);
    const size_t last_line = entry.last_line;
    file.entries.push_back(reader.read());
    num_default += reader.used_default_dtype();
    TuneGemmEntry& done = file.entries.back();
    if (done.us || last_line > lines.size()) continue;
    done.us = from_comment(lines[last_line - 1], "time(us):");
    if (!done.tflops) done.tflops = from_comment(lines[last_line - 1], "TFLOPS:");
  }
  if (num_default > 0)
    file.notices.push_back(fmt::format("{}: using {} for {} without a dtype; choose another with --dtype", name,
                                       attune::name(TuneGemmOptions::kDefaultType), counted(num_default, "size")));
  return file;
}

void check_tune_gemm_results(const std::filesystem::path& path) {
  std::error_code missing;
  if (std::filesystem::exists(path, missing)) TuneGemmEdit(read_file(path, kMaxFileBytes), path.string());
}

void publish_tune_gemm(const std::filesystem::path& path, std::span<const TuneGemmEntry> entries) {
  if (entries.empty()) return;
  check_writable(path);
  const FileLock lock(path, FileLock::Use::shared);
  remove_stale_temporaries(path);
  std::error_code missing;
  std::string content;
  if (std::filesystem::exists(path, missing)) content = read_file(path, kMaxFileBytes);
  TuneGemmEdit publication(content, path.string());
  for (const TuneGemmEntry& entry : entries) publication.add(entry);
  const std::string published = publication.finish();
  if (published != content) write_file_atomically(path, published);
}

}  // namespace attune
