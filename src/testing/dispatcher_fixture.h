// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "attune/dispatcher.h"
#include "base/file.h"
#include "testing/test_files.h"

namespace attune {

/// A dispatcher of the fake device over one table of gemm_a16w16, which the test writes.
class DispatcherTest : public testing::Test {
 protected:
  static constexpr const char* kGood = "fake.gemm@1:split_k=1;tile_m=32;tile_n=32";
  static constexpr const char* kOther = "fake.gemm@1:split_k=1;tile_m=16;tile_n=16";

  static GemmKey key(int64_t m, int64_t n = 16, int64_t k = 16) {
    return {.m = m, .n = n, .k = k, .in = DType::fp32, .out = DType::fp32};
  }
  static std::string row(int64_t m, const std::string& kernel, double us = 1) {
    return fmt::format("fake,4,{},16,16,torch.float32,torch.float32,{},{}\n", m, us, kernel);
  }
  void write(const std::string& rows) {
    write_file_atomically(table_, "gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\n" + rows);
  }
  /// Opens the dispatcher with `options_` at the first call.
  Dispatcher& dispatcher() {
    if (!dispatcher_) {
      options_.device = "fake:0";
      options_.tables["gemm_a16w16"] = {table_};
      dispatcher_ = std::make_unique<Dispatcher>(options_);
    }
    return *dispatcher_;
  }
  /// Looks up until the hit satisfies `is_accepted`, for at most 2000 tries 1 ms apart.
  Hit wait_for(const GemmKey& wanted, const std::function<bool(const Hit&)>& is_accepted) {
    Hit hit;
    for (int i = 0; i < 2000; ++i) {
      hit = dispatcher().choose(wanted);
      if (is_accepted(hit)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return hit;
  }

  TestFolder folder_;
  std::filesystem::path table_ = folder_.path() / "t.csv";
  DispatcherOptions options_{.poll_interval = std::chrono::milliseconds(0)};
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace attune
