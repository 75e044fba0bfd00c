// SPDX-License-Identifier: MIT
#include "fleet/agent/session_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const FleetEnvironment kPinned{.fingerprint = "f",
                               .device_json = R"({"model": "A", "facts": {"l2_bytes": 7}})",
                               .versions = {{"onednn.conv", "1+2.6.3"}, {"compiler.cc", "12"}},
                               .variables = {"OMP_NUM_THREADS=2"}};

TEST(SessionMatch, TheSameEnvironmentHasNoDifference) { EXPECT_THAT(differences(kPinned, kPinned), IsEmpty()); }

TEST(SessionMatch, NamesEachDifference) {
  FleetEnvironment here = kPinned;
  here.fingerprint = "g";
  here.device_json = R"({"model": "B", "facts": {"l2_bytes": 8}})";
  here.versions = {{"onednn.conv", "1+3.1"}};
  here.variables = {"BLIS_ARCH_TYPE=3"};
  EXPECT_THAT(differences(kPinned, here), ElementsAre("device facts.l2_bytes is '7' in the session and '8' here",
                                                      "device model is 'A' in the session and 'B' here",
                                                      "compiler.cc is '12' in the session and absent here",
                                                      "onednn.conv is '1+2.6.3' in the session and '1+3.1' here",
                                                      "BLIS_ARCH_TYPE is absent in the session and '3' here",
                                                      "OMP_NUM_THREADS is '2' in the session and absent here"));
}

TEST(SessionMatch, ComparesTheProtocolOfASessionThatStatesOne) {
  FleetEnvironment here = kPinned, session = kPinned;
  here.versions.emplace("protocol", "race/6 served");
  EXPECT_THAT(differences(kPinned, here), IsEmpty()) << "a session of an earlier version";
  session.versions.emplace("protocol", "race/5 served");
  EXPECT_THAT(differences(session, here),
              ElementsAre("protocol is 'race/5 served' in the session and 'race/6 served' here"));
}

TEST(SessionMatch, DescriptionsThatDoNotTellAreNamedByTheirFingerprint) {
  FleetEnvironment here = kPinned;
  here.fingerprint = "g";
  EXPECT_THAT(differences(kPinned, here), ElementsAre("the device's fingerprint is 'f' in the session and 'g' here"));
}

TEST(SessionMatch, NamesSolversThatAreAbsentOrOfAnotherVersion) {
  const std::vector<FleetSolver> session = {{"a.conv", "1", "conv", true, ""},
                                            {"b.gemm", "2", "gemm_a16w16", true, ""}};
  EXPECT_THAT(solver_differences(session, session), IsEmpty());
  const std::vector<FleetSolver> here = {{"a.conv", "3", "conv", false, ""}, {"c.conv", "1", "conv", true, ""}};
  EXPECT_THAT(solver_differences(session, here),
              ElementsAre("a.conv for conv is '1' in the session and '3' here",
                          "b.gemm for gemm_a16w16 is '2' in the session and absent here"));
}

}  // namespace
}  // namespace attune
