// SPDX-License-Identifier: MIT
#include "attune/attune_key.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "api/c_calls.h"
#include "base/text.h"
#include "ops/gemm/gemm_key.h"

namespace {

using namespace attune;

constexpr size_t kAnyKeySize = 272;
static_assert(sizeof(attune_key) == kAnyKeySize);

const Weights* own_weights(const attune_weights* weights) { return weights == nullptr ? nullptr : &weights->own; }

void run(Dispatcher& dispatcher, const Key& key, const attune_weights* weights, std::span<void* const> operands,
         void* stream) {
  if (weights != nullptr)
    dispatcher.run(key, weights->own, operands, stream);
  else
    dispatcher.run(key, operands, stream);
}

/// The roles of the operands that a call gives, in order.
std::vector<std::string> roles_of(const Dispatcher& dispatcher, const Key& key, const attune_weights* weights) {
  std::vector<std::string> roles;
  for (const TensorSpec& tensor : dispatcher.operands(key, own_weights(weights))) roles.push_back(tensor.role);
  return roles;
}

}  // namespace

extern "C" {

int attune_parse_key(const char* text, attune_key* key) {
  return guarded([&] {
    needed(key, "key");
    give(*key, c_key(complete_key_of(std::string_view(needed(text, "text")))), kAnyKeySize);
  });
}

int attune_gemm_to_key(const attune_gemm_key* gemm, attune_key* key) {
  return guarded([&] {
    needed(key, "key");
    give(*key, c_key(checked_key(gemm_key_of(*needed(gemm, "gemm")))), kAnyKeySize);
  });
}

int attune_choose_key(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                      attune_hit* hit) {
  return guarded([&] {
    needed(hit, "hit");
    give(*hit, c_hit(used(dispatcher).choose(looked_up_key_of(*needed(key, "key")), own_weights(weights))), kHitSize);
  });
}

int attune_require_key(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                       attune_hit* hit) {
  return guarded([&] {
    const attune_hit found = c_hit(used(dispatcher).require(key_of(*needed(key, "key")), own_weights(weights)));
    if (hit != nullptr) give(*hit, found, kHitSize);
  });
}

int attune_explain_key(attune_dispatcher* dispatcher, const attune_key* key, char* buffer, size_t capacity,
                       size_t* length) {
  return guarded([&] { give_text(used(dispatcher).explain(key_of(*needed(key, "key"))), buffer, capacity, length); });
}

int attune_run_key(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                   void* const* operands, size_t num_operands, void* stream) {
  return guarded([&] {
    const Key problem = key_of(*needed(key, "key"));
    if (num_operands > 0) needed(operands, "operands");
    run(used(dispatcher), problem, weights, std::span(operands, num_operands), stream);
  });
}

int attune_run_named(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                     const attune_operand* operands, size_t num_operands, void* stream) {
  return guarded([&] {
    const Key problem = key_of(*needed(key, "key"));
    if (num_operands > 0) needed(operands, "operands");
    const auto roles = roles_of(used(dispatcher), problem, weights);
    std::vector<std::optional<void*>> named(roles.size());
    for (size_t i = 0; i < num_operands; ++i) {
      const std::string_view role = needed(operands[i].role, "role");
      const auto place = static_cast<size_t>(std::find(roles.begin(), roles.end(), role) - roles.begin());
      if (place == roles.size())
        fail(ErrorCode::invalid_input, "this problem has no operand '{}', only {}", shown(role), join(roles, ", "));
      if (named[place]) fail(ErrorCode::invalid_input, "the operand is given twice: {}", role);
      named[place] = operands[i].data;
    }
    std::vector<void*> all;
    for (size_t i = 0; i < roles.size(); ++i) {
      if (!named[i]) fail(ErrorCode::invalid_input, "the operand is missing: {}", roles[i]);
      all.push_back(*named[i]);
    }
    run(used(dispatcher), problem, weights, all, stream);
  });
}

int attune_operand_role(attune_dispatcher* dispatcher, const attune_key* key, size_t index, char* buffer,
                        size_t capacity, size_t* length) {
  return guarded([&] {
    const auto roles = roles_of(used(dispatcher), key_of(*needed(key, "key")), nullptr);
    if (index >= roles.size())
      fail(ErrorCode::not_found, "this problem has {}, the index is out of range: {}", counted(roles.size(), "operand"),
           index);
    give_text(roles[index], buffer, capacity, length);
  });
}

int attune_pack_weights_key(attune_dispatcher* dispatcher, const attune_key* key, const void* const* plain,
                            size_t num_plain, const attune_pack_options* options, attune_weights** weights) {
  return guarded([&] {
    needed(weights, "weights");
    const Key problem = key_of(*needed(key, "key"));
    const std::span all(needed(plain, "plain"), num_plain);
    for (const void* operand : all) check_place(operand, "plain");
    *weights = new attune_weights(*dispatcher, used(dispatcher).pack_weights(problem, all, pack_options_of(options)));
  });
}

}  // extern "C"
