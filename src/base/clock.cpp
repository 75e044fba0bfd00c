// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace attune {
namespace {

class SteadyClock final : public Clock {
 public:
  double now_s() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  void sleep_s(double seconds) override { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
};

std::string utc_text_of(std::time_t seconds, const char* format) {
  std::tm parts{};
  char text[64];
  return {text, std::strftime(text, sizeof text, format, ::gmtime_r(&seconds, &parts))};
}

}  // namespace

Clock& steady_clock() {
  static SteadyClock clock;
  return clock;
}

int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string utc_text(const char* format) { return utc_text_of(std::time(nullptr), format); }

std::string utc_time_text(int64_t unix_ms) {
  const int64_t ms = ((unix_ms % 1000) + 1000) % 1000;
  return utc_text_of(static_cast<std::time_t>((unix_ms - ms) / 1000), "%FT%T") + fmt::format(".{:03}Z", ms);
}

}  // namespace attune
