// SPDX-License-Identifier: MIT
#include "measure/evaluate.h"

#include <new>

#include "attune/error.h"

namespace attune {
namespace {

Status status_of(Step step, ErrorCode code) {
  if (code == ErrorCode::timeout) return Status::timed_out;
  switch (step) {
    case Step::memory:
      // A packing runs code of a library, which may fail for reasons of its own.
      return code == ErrorCode::device ? Status::out_of_memory : Status::load_failed;
    case Step::run:
      return Status::launch_failed;
    case Step::prepare:
      break;
  }
  if (code == ErrorCode::unavailable) return Status::unsupported;
  return code == ErrorCode::device ? Status::launch_failed : Status::load_failed;
}

Finding find(Step step, const std::function<Finding()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    return {status_of(step, error.code()), error.what(), {}};
  } catch (const std::bad_alloc&) {
    return {Status::out_of_memory, "the host is out of memory", {}};
  } catch (const std::exception& error) {
    return {status_of(step, ErrorCode::internal), error.what(), {}};
  } catch (...) {
    return {status_of(step, ErrorCode::internal), "an exception of unknown type", {}};
  }
}

}  // namespace

Outcome evaluate(Step step, const std::function<Finding()>& work) {
  Finding found = find(step, work);
  Outcome outcome;
  outcome.status = found.status;
  outcome.detail = std::move(found.detail);
  outcome.errors = found.errors;
  return outcome;
}

}  // namespace attune
