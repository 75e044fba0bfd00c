// SPDX-License-Identifier: MIT
#include "fleet/setup/issue_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {

void PrintTo(const FencedBlock& block, std::ostream* out) { *out << block.first_line << ": " << block.text; }

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

auto block(size_t line, const char* text) {
  return AllOf(Field(&FencedBlock::first_line, line), Field(&FencedBlock::text, text));
}

TEST(IssueText, HasTheLinesBetweenFences) {
  EXPECT_THAT(fenced_blocks("Please tune\n```\nconv -n 1\n\nconv -n 2\n```\nand\r\n~~~csv\r\nM,N,K\r\n~~~\r\nthanks\n"),
              ElementsAre(block(3, "conv -n 1\n\nconv -n 2\n"), block(9, "M,N,K\r\n")));
}

TEST(IssueText, FencesMayBeQuotedIndentedAndLong) {
  EXPECT_THAT(fenced_blocks("> ```sh\n> a\n>  b\n> ```\n- see\n  ````\n  ```\n  c\n  ````\n"),
              ElementsAre(block(2, "a\n b\n"), block(7, "```\nc\n")));
}

TEST(IssueText, TheLastFenceMayBeMissing) {
  EXPECT_THAT(fenced_blocks("```\na\n"), ElementsAre(block(2, "a\n")));
  EXPECT_THAT(fenced_blocks("```\na"), ElementsAre(block(2, "a\n")));
}

TEST(IssueText, ATextWithoutFencesHasNone) {
  for (const char* text :
       {"", "\n", "MIOpenDriver conv -n 1\n", "use ```a``` here\n", "``\na\n``\n", "```\n \n```\n", "```"})
    EXPECT_THAT(fenced_blocks(text), IsEmpty()) << text;
}

}  // namespace
}  // namespace attune
