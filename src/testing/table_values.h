// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "dispatch/capture/captured_shapes.h"
#include "formats/csv/table.h"

/// Tables of gemm_a16w16 in memory.
namespace attune {

inline constexpr std::string_view kTestHeader =
    "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,us,kernelName";
inline constexpr std::string_view kTestKernel = "known.gemm@1:a=1";

inline const FamilySpec& test_family() { return *find_family("gemm_a16w16"); }

inline DeviceInfo table_device() {
  DeviceInfo device;
  device.gfx = "fake";
  device.num_units = 4;
  return device;
}

/// A row for M = `m`, N = K = 64 in fp32, without its line end.
inline std::string test_row(int m, std::string_view us, std::string_view kernel = kTestKernel,
                            std::string_view device = "fake,4") {
  return fmt::format("{},{},64,64,False,torch.float32,torch.float32,False,False,{},{}", device, m, us, kernel);
}

inline std::string test_text(const std::vector<std::string>& rows, std::string_view more_columns = "") {
  std::string text = fmt::format("{}{}\n", kTestHeader, more_columns);
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

inline CsvDocument test_document(const std::string& name, const std::vector<std::string>& rows,
                                 std::string_view more_columns = "") {
  return CsvDocument::parse(test_text(rows, more_columns), name);
}

inline Table test_table(std::vector<CsvDocument> documents) { return Table::of(std::move(documents), &test_family()); }

/// The problem of test_row(), normalised.
inline Problem table_problem(int m) {
  return Problem::parse(fmt::format("gemm_a16w16 m={} n=64 k=64 dtype=fp32 outdtype=fp32 bias=0", m));
}

}  // namespace attune
