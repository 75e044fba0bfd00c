// SPDX-License-Identifier: MIT
#include "server/http/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(RequestParser, DecodesThePathAndTheQuery) {
  const auto head = parse_head("GET /a%2fb%zz+c?x=1%202+3&y&x=9&&=z HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->request.method, "GET");
  EXPECT_EQ(head->request.path, "/a/b%zz+c");
  EXPECT_THAT(head->request.query, ElementsAre(Pair("", "z"), Pair("x", "1 2 3"), Pair("y", "")));
  EXPECT_THAT(parse_fields("token=a%"), ElementsAre(Pair("token", "a%")));
}

TEST(RequestParser, GivesTheFieldsThatTheServerReadsWhateverTheirCase) {
  const auto head = parse_head(
      "GET / HTTP/1.1\r\nHOST: h:1\r\nauthorization: Bearer t\r\nCookie: c=1\r\nIf-None-Match: \"e\"\r\n"
      "last-event-id: 7\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->request.host, "h:1");
  EXPECT_EQ(head->request.authorization, "Bearer t");
  EXPECT_EQ(head->request.cookie, "c=1");
  EXPECT_EQ(head->request.if_none_match, "\"e\"");
  EXPECT_EQ(head->request.last_event_id, "7");
}

TEST(RequestParser, OfTwoHostsNoneIsBelieved) {
  const auto head = parse_head("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->request.host, std::nullopt);
}

TEST(RequestParser, TellsWhetherTheConnectionGoesOn) {
  EXPECT_TRUE(parse_head("GET / HTTP/1.1\r\n\r\n")->keeps_alive);
  EXPECT_FALSE(parse_head("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")->keeps_alive);
  EXPECT_FALSE(parse_head("GET / HTTP/1.0\r\n\r\n")->keeps_alive);
  EXPECT_TRUE(parse_head("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")->keeps_alive);
}

TEST(RequestParser, BelievesOnlyALengthThatEveryProxyReadsAlike) {
  const auto with = [](const std::string& fields) {
    return parse_head("POST /f HTTP/1.1\r\n" + fields + "Content-Type: Application/X-WWW-Form-urlencoded; a=b\r\n\r\n");
  };
  EXPECT_EQ(with("Content-Length: 12\r\n")->body_bytes, 12u);
  EXPECT_TRUE(with("Content-Length: 12\r\n")->has_body);
  EXPECT_TRUE(with("Content-Length: 12\r\n")->is_form);
  EXPECT_FALSE(with("Content-Length: 0\r\n")->has_body);
  EXPECT_FALSE(with("")->has_body);
  EXPECT_EQ(with("")->body_bytes, std::nullopt);
  for (const char* wrong : {"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n",
                            "Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: +1\r\n",
                            "Content-Length: 1, 1\r\n", "Content-Length: 99999999999999999999\r\n",
                            "Content-Length:\r\n", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"}) {
    const auto head = with(wrong);
    EXPECT_TRUE(!head || (head->has_body && !head->body_bytes)) << wrong;
  }
}

TEST(RequestParser, RefusesWhatIsNoRequestOfHttp1) {
  for (const char* wrong :
       {"PRI * HTTP/2.0\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "get / HTTP/1.1\r\n\r\n", "GET /\r\n\r\n",
        "GET / HTTP/1.2\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n", "SPEAK / HTTP/1.1\r\n\r\n", "GET / http/1.1\r\n\r\n",
        "GET /\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\n", ""})
    EXPECT_FALSE(parse_head(wrong)) << wrong;
}

}  // namespace
}  // namespace attune
