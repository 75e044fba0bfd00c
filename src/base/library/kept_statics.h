// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune {

/// Has the static objects that a loaded library makes from now on never destroyed: its calls of __cxa_atexit() register
/// nothing. exit() would destroy the objects while another thread makes a plan: a library makes them at first use,
/// after all of Attune's exit functions are registered. Call it before the first use of a library that nothing else in
/// the process uses. `library`: a name as the loader looks it up. Does nothing for a library that is not loaded, or
/// whose pages cannot be written.
void keep_statics(const std::string& library) noexcept;

}  // namespace attune
