// SPDX-License-Identifier: MIT
#include "report/document/markup.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "report/document/report_values_test.h"

namespace attune {
namespace {

TEST(Markup, MarkupInATextAndAnAttributeShowsAsText) {
  Markup page;
  page.element("p", {{"title", "\"><script>'&"}}, "</p><script>alert(\"1\")</script>&amp;");
  EXPECT_EQ(
      page.take(),
      "<p title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">&lt;/p&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;"
      "&amp;amp;</p>");
}

TEST(Markup, WhatXmlForbidsIsWrittenAsEscapes) {
  EXPECT_EQ(plain_text(std::string_view("a\0b\x1b[31m", 8), 80), "a\\x00b\\x1b[31m");
  EXPECT_EQ(plain_text("\xff\xc0\xaf", 80), "\\xff\\xc0\\xaf");
  EXPECT_EQ(plain_text("\xef\xbf\xbe\xef\xbf\xbd", 80), "\\xef\\xbf\\xbe\xef\xbf\xbd");
  EXPECT_EQ(plain_text("µ×…", 80), "µ×…");
}

TEST(Markup, CharactersThatTurnTheDirectionOfTheTextAreShown) {
  EXPECT_EQ(plain_text("a\xe2\x80\xaetxt.exe", 80), "a\\xe2\\x80\\xaetxt.exe");
  EXPECT_EQ(plain_text("\xe2\x81\xa6z", 80), "\\xe2\\x81\\xa6z");
}

TEST(Markup, TenMegabytesAreCutAtTheCostOfWhatIsKept) {
  const std::string text = hostile_text(10'000'000);
  const double began_s = steady_clock().now_s();
  Markup page;
  for (int i = 0; i < 100; ++i) page.element("p", {{"title", text}}, text);
  EXPECT_LT(page.take().size(), 100 * 2 * (Markup::kMaxCharacters + 500));
  EXPECT_LT(steady_clock().now_s() - began_s, 0.5);
}

TEST(Markup, ElementsCloseInTheOrderInWhichTheyBegan) {
  Markup page;
  page.open("a").open("b", {{"c", "d"}}).text("e").close().empty("f", {}).close();
  EXPECT_EQ(page.take(), "<a><b c=\"d\">e</b><f/></a>");
}

}  // namespace
}  // namespace attune
