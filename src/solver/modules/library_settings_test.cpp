// SPDX-License-Identifier: MIT
#include "solver/modules/library_settings.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(LibrarySettings, AreRecordedByVersionsOrNot) {
  for (const auto name : recorded_settings()) EXPECT_FALSE(is_unrecorded_setting(name)) << name;
  for (const char* name : {"OMP_DYNAMIC", "OMP_NUM_THREADS", "GOMP_SPINCOUNT", "KMP_AFFINITY", "OPENBLAS_NUM_THREADS",
                           "GOTO_NUM_THREADS", "MKL_CBWR", "ONEDNN_VERBOSE", "DNNL_VERBOSE", "LIBXSMM_VERBOSE"})
    EXPECT_TRUE(is_unrecorded_setting(name)) << name;
  for (const char* name : {"PATH", "ATTUNE_THREADS", "XOMP_DYNAMIC", ""})
    EXPECT_FALSE(is_unrecorded_setting(name)) << name;
}

}  // namespace
}  // namespace attune
