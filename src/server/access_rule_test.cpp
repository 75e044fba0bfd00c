// SPDX-License-Identifier: MIT
#include "server/access_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "attune/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kToken = "0123456789abcdef";

HttpRequest request(const std::string& path, const std::string& host = "127.0.0.1:8080") {
  return {.method = "GET", .path = path, .host = host};
}

int status(const AccessRule& rule, const HttpRequest& asked) {
  const auto refusal = rule.refusal(asked);
  return refusal ? refusal->status : 200;
}

TEST(AccessRule, AnswersOnlyUnderItsOwnName) {
  const AccessRule rule({"127.0.0.1", 8080}, {"tuner.example.org", "other.example.org:9000"}, std::nullopt);
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "tuner.example.org",
                           "tuner.example.org:81", "other.example.org:9000"})
    EXPECT_EQ(status(rule, request("/", host)), 200) << host;
  for (const char* host : {"", "evil.example.org", "evil.example.org:8080", "localhost", "localhost:8081",
                           "localhost.evil.example.org:8080", "other.example.org", "[::1]", "localhost:8080:x",
                           "127.0.0.1:8080:81", "[::1]:8080:81", "tuner.example.org:x",
                           "tuner.example.org:", "tuner.example.org:80:81", "tuner.example.org:80.evil.example.org"})
    EXPECT_EQ(status(rule, request("/", host)), 421) << host;
  EXPECT_EQ(status(rule, {.method = "GET", .path = "/", .host = std::nullopt}), 421);
}

TEST(AccessRule, WantsATokenBeyondThisMachine) {
  EXPECT_THROW(AccessRule({"0.0.0.0", 8080}, {}, std::nullopt), Error);
  const AccessRule rule({"0.0.0.0", 8080}, {"h"}, AccessToken(kToken));
  EXPECT_EQ(status(rule, request("/api/v1/runs", "h")), 401);
  EXPECT_EQ(status(rule, request("/metrics", "h")), 401);
  EXPECT_EQ(status(rule, request("/", "h")), 303);
  EXPECT_EQ(status(rule, request("/healthz", "h")), 200);
  auto asked = request("/api/v1/runs", "h");
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER ", "Bearer  "}) {
    asked.authorization = scheme + std::string(kToken);
    EXPECT_EQ(status(rule, asked), 200) << scheme;
  }
  for (const char* wrong : {"Bearer 0123456789abcdeg", "Bearer 0123456789abcde", "Bearer ", "0123456789abcdef",
                            "Bearer", "Basic 0123456789abcdef"}) {
    asked.authorization = wrong;
    EXPECT_EQ(status(rule, asked), 401) << wrong;
  }
  auto by_query = request("/api/v1/runs", "h");
  by_query.query["token"] = kToken;
  EXPECT_EQ(status(rule, by_query), 401) << "a token in an address would be logged";
}

TEST(AccessRule, ALoginGivesACookieThatIsNotTheToken) {
  const AccessRule rule({"127.0.0.1", 8080}, {}, AccessToken(kToken));
  auto form = request("/login");
  form.method = "POST";
  EXPECT_EQ(rule.login(form).status, 403);
  form.form["token"] = "0123456789abcdee";
  EXPECT_EQ(rule.login(form).status, 403);
  form.form["token"] = kToken;
  const HttpAnswer answer = rule.login(form);
  EXPECT_EQ(answer.status, 303);
  const auto set = std::ranges::find(answer.headers, "Set-Cookie", &std::pair<std::string, std::string>::first);
  ASSERT_NE(set, answer.headers.end());
  EXPECT_THAT(set->second, HasSubstr("HttpOnly; SameSite=Strict"));
  EXPECT_THAT(set->second, testing::Not(HasSubstr(kToken)));
  auto asked = request("/");
  asked.cookie = "other=1; " + set->second.substr(0, set->second.find(';'));
  EXPECT_EQ(status(rule, asked), 200);
  asked.cookie = std::string("attune_session=") + kToken;
  EXPECT_EQ(status(rule, asked), 303);
}

TEST(AccessRule, ServersOnOneHostHaveCookiesOfTheirOwn) {
  const auto cookie_of = [](const AccessRule& rule, const std::string& host) {
    HttpRequest form = request("/login", host);
    form.method = "POST";
    form.form["token"] = kToken;
    for (const auto& [name, value] : rule.login(form).headers)
      if (name == "Set-Cookie") return value.substr(0, value.find(';'));
    return std::string();
  };
  const auto name_of = [](const std::string& cookie) { return cookie.substr(0, cookie.find('=')); };
  const AccessRule first({"127.0.0.1", 8080}, {"h"}, AccessToken(kToken));
  const AccessRule second({"127.0.0.1", 8081}, {"h"}, AccessToken(kToken));
  // The browser sees the port of the Host field; a container may map it to another one of the server.
  for (const auto& [one, other] :
       {std::pair<const char*, const char*>{"127.0.0.1:8080", "127.0.0.1:8081"}, {"h:9000", "h:9001"}, {"h", "h"}}) {
    const std::string cookie = cookie_of(first, one), others = cookie_of(second, other);
    EXPECT_NE(name_of(cookie), name_of(others)) << one;
    auto asked = request("/", one);
    asked.cookie = others + "; " + cookie;
    EXPECT_EQ(status(first, asked), 200) << one;
  }
}

TEST(AccessToken, IsReadFromAPrivateFile) {
  const TestFolder folder;
  const auto file = folder.put("token", std::string(kToken) + "\n");
  ::chmod(file.c_str(), 0600);
  EXPECT_TRUE(AccessToken::read(file).matches(kToken));
  ::chmod(file.c_str(), 0640);
  EXPECT_THROW(AccessToken::read(file), Error);
  std::filesystem::create_symlink(file, folder.path() / "link");
  ::chmod(file.c_str(), 0600);
  EXPECT_THROW(AccessToken::read(folder.path() / "link"), Error);
  EXPECT_THROW(AccessToken::read(folder.path()), Error);
  EXPECT_THROW(AccessToken::read(folder.path() / "absent"), Error);
  for (const char* wrong : {"", "short\n", "0123456789 abcdef\n", "0123456789abcdef\nmore\n"}) {
    const auto bad = folder.put("bad", wrong);
    ::chmod(bad.c_str(), 0600);
    EXPECT_THROW(AccessToken::read(bad), Error) << wrong;
  }
}

}  // namespace
}  // namespace attune
