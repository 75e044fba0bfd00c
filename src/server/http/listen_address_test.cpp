// SPDX-License-Identifier: MIT
#include "server/http/listen_address.h"

#include <gtest/gtest.h>

#include "attune/error.h"

namespace attune {
namespace {

TEST(ListenAddress, IsReadFromItsText) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:9000"), (ListenAddress{"127.0.0.1", 9000}));
  EXPECT_EQ(parse_listen_address("[::1]:0"), (ListenAddress{"::1", 0}));
  EXPECT_EQ(parse_listen_address("[::1]"), (ListenAddress{"::1", 8080}));
  EXPECT_EQ(parse_listen_address("tuner.example.org"), (ListenAddress{"tuner.example.org", 8080}));
  EXPECT_EQ(parse_listen_address(":81"), (ListenAddress{"127.0.0.1", 81}));
  EXPECT_EQ((ListenAddress{"::1", 80}.text()), "[::1]:80");
}

TEST(ListenAddress, AnotherTextIsRefused) {
  for (const char* text : {"", ":", "host:", "host:65536", "host:-1", "host:80:90", "::1", "[::1", "[host]:80",
                           "[::1]80", "a b:80", "host:8o", "http://host:80", "ho/st:80", "host:80\n", "8080"})
    EXPECT_THROW(parse_listen_address(text), Error) << text;
}

TEST(ListenAddress, TellsWhetherOnlyThisMachineReachesIt) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"})
    EXPECT_TRUE((ListenAddress{host, 1}.is_loopback())) << host;
  for (const char* host : {"0.0.0.0", "::", "192.168.1.1", "127.0.0.1.example.org", "localhost.example.org", "::2"})
    EXPECT_FALSE((ListenAddress{host, 1}.is_loopback())) << host;
}

TEST(ListenAddress, TellsWhetherItStandsForAllAddresses) {
  for (const char* host : {"0.0.0.0", "::", "0:0::0"}) EXPECT_TRUE((ListenAddress{host, 1}.is_any())) << host;
  for (const char* host : {"127.0.0.1", "0.0.0.1", "::1", "1::", "localhost", "0.0.0.0.example.org"})
    EXPECT_FALSE((ListenAddress{host, 1}.is_any())) << host;
}

}  // namespace
}  // namespace attune
