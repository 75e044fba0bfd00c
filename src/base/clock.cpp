// SPDX-License-Identifier: MIT
#include "base/clock.h"

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

}  // namespace

Clock& steady_clock() {
  static SteadyClock clock;
  return clock;
}

int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string utc_text(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[64];
  return {text, std::strftime(text, sizeof text, format, ::gmtime_r(&now, &parts))};
}

}  // namespace attune
