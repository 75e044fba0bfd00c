// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace attune {

/// Returns a clause about what is wrong with the parsed command line, in the words of this program: an argument that
/// neither it nor its command takes, with the nearest flag or command if one is near (`attune tune has no flag
/// '--bugdet', the nearest is --budget`), a command or an argument that is missing, a flag given twice, or a value that
/// a flag refuses.
std::string argument_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace attune
