// SPDX-License-Identifier: MIT
#include "solver/solver.h"

#include "base/error.h"

namespace attune {

// Called only for layouts that layouts() lists, none by default.

uint64_t Backend::packed_bytes(const Layout& layout, const Problem&) const {
  ATTUNE_CHECK(false, "this backend has no layout '{}'", layout.name);
  return 0;
}

void Backend::pack(const Layout& layout, const Problem&, PlainOperands, Buffer) const {
  ATTUNE_CHECK(false, "this backend has no layout '{}'", layout.name);
}

}  // namespace attune
