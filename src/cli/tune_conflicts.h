// SPDX-License-Identifier: MIT
#pragma once

namespace CLI {
class App;
}

namespace attune {

/// Throws invalid_input for flags of `attune tune` that were given and would have no effect beside the others. Looks at
/// the parsed verb, because a default and a value that was given are the same in TuneOptions.
void refuse_conflicts(const CLI::App& verb);

}  // namespace attune
