// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <olaf/address.hpp>

namespace olaf::test::address_test {
namespace {

TEST(Address, ResolvesNumericOnes) {
    const auto v4 = Address::resolve("192.0.2.7");
    ASSERT_TRUE(v4);
    EXPECT_EQ(v4->text(), "192.0.2.7:6523");
    EXPECT_FALSE(v4->is_ipv6());
    const auto v6 = Address::resolve("2001:db8::1", 99);
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->text(), "[2001:db8::1]:99");
    EXPECT_EQ(v6->port(), 99);
    EXPECT_TRUE(v6->is_ipv6());
}

TEST(Address, ReadsHostAndPort) {
    const auto text = [](const std::string &address) { return Address::parse(address)->text(); };
    EXPECT_EQ(text("192.0.2.1"), "192.0.2.1:6523");
    EXPECT_EQ(text("192.0.2.1:99"), "192.0.2.1:99");
    EXPECT_EQ(text("2001:db8::1"), "[2001:db8::1]:6523");
    EXPECT_EQ(text("[2001:db8::1]"), "[2001:db8::1]:6523");
    EXPECT_EQ(text("[2001:db8::1]:99"), "[2001:db8::1]:99");
}

TEST(Address, RefusesOtherPorts) {
    for (const char *address : {"192.0.2.1:", "192.0.2.1:x", "192.0.2.1:70000", "[::1]:1x"}) {
        const auto parsed = Address::parse(address);
        ASSERT_FALSE(parsed) << address;
        EXPECT_NE(parsed.error().message().find("port"), std::string::npos) << address;
    }
}

TEST(Address, SaysWhatItCannotResolve) {
    const auto address = Address::resolve("not an address");
    ASSERT_FALSE(address);
    EXPECT_NE(address.error().message().find("not an address"), std::string::npos);
}

TEST(Address, ComparesHostAndPort) {
    const auto of = [](const char *host, std::uint16_t port) {
        return Address::resolve(host, port).value();
    };
    EXPECT_EQ(of("127.0.0.1", 1), of("127.0.0.1", 1));
    EXPECT_NE(of("127.0.0.1", 1), of("127.0.0.1", 2));
    EXPECT_NE(of("127.0.0.1", 1), of("127.0.0.2", 1));
    EXPECT_EQ(of("::1", 1), of("::1", 1));
    EXPECT_NE(of("::1", 1), of("::2", 1));
    EXPECT_NE(of("::1", 1), of("127.0.0.1", 1));
    EXPECT_EQ(Address().text(), "unspecified");
}

} // namespace
} // namespace olaf::test::address_test
