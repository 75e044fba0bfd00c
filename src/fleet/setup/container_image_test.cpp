// SPDX-License-Identifier: MIT
#include "fleet/setup/container_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kNone = "/no/such/file";

TEST(ContainerImage, IsStatedByAVariable) {
  const TestEnvironment variable("ATTUNE_IMAGE_DIGEST", "registry.example/attune@sha256:1f0c");
  EXPECT_EQ(container_image(kNone), "registry.example/attune@sha256:1f0c");
}

TEST(ContainerImage, MustBeOneWord) {
  for (const std::string& text : {std::string("two words"), std::string("a\nb"), std::string(256, 'a')}) {
    const TestEnvironment variable("ATTUNE_IMAGE_DIGEST", text);
    EXPECT_THROW(container_image(kNone), Error) << text;
  }
}

TEST(ContainerImage, IsReadFromTheFileOfPodman) {
  const TestFolder folder;
  EXPECT_EQ(container_image(folder.put("a", "engine=\"podman-4.3.1\"\nimage=\"x\"\nimageid=\"1f0c66d2\"\n")),
            "sha256:1f0c66d2");
  for (const char* text : {"", "engine=\"podman\"\n", "imageid=\"\"\n", "imageid=\"a b\"\n"})
    EXPECT_THAT(container_image(folder.put("b", text)), IsEmpty()) << text;
  EXPECT_THAT(container_image(kNone), IsEmpty());
}

TEST(ContainerImage, AnotherOneIsToldToAnAgent) {
  FleetSession session;
  session.id = 7;
  EXPECT_THAT(image_difference(session, "sha256:2"), IsEmpty()) << "the session names none";
  session.custody.image = "sha256:1";
  EXPECT_THAT(image_difference(session, "sha256:1"), IsEmpty());
  EXPECT_THAT(image_difference(session, "sha256:2"),
              HasSubstr("session 7 was begun in the container image sha256:1, and this is sha256:2"));
  EXPECT_THAT(image_difference(session, ""), HasSubstr("none that is known"));
}

}  // namespace
}  // namespace attune
