// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string_view>

namespace attune {

/// A file that is part of the program (attune_embed_files() of cmake/AttuneEmbed.cmake).
struct EmbeddedFile {
  std::string_view name;   ///< Without its folder.
  std::string_view bytes;  ///< Lives as long as the program.
};

}  // namespace attune
