// SPDX-License-Identifier: BSD-2-Clause
// What is forwarded passes netfilter by: where it has rules for that, olaf says so.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "testbed.hpp"

namespace olaf::test::netfilter_test {
namespace {

struct Chain {
    const char *name; ///< of the case
    std::uint8_t family;
    std::uint32_t hook;
    bool has_rule, drops;
    const char *told; ///< what olaf names; "": nothing
    Way way = Way::routed;
    const char *device = ""; ///< of a hook that is a device's
};

/// What `nft -f` would send: table t of a family, with a chain c, and maybe a rule in it.
class Ruleset {
  public:
    void set(const Netns &netns, const Chain &chain) {
        begin(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
        begin(of(NFT_MSG_NEWTABLE), NLM_F_CREATE, chain.family);
        text(NFTA_TABLE_NAME, "t");
        begin(of(NFT_MSG_NEWCHAIN), NLM_F_CREATE, chain.family);
        text(NFTA_CHAIN_TABLE, "t");
        text(NFTA_CHAIN_NAME, "c");
        text(NFTA_CHAIN_TYPE, "filter");
        number(NFTA_CHAIN_POLICY, chain.drops ? NF_DROP : NF_ACCEPT);
        const auto hook = bytes_.size();
        attribute(NFTA_CHAIN_HOOK | NLA_F_NESTED, nullptr, 0);
        number(NFTA_HOOK_HOOKNUM, chain.hook);
        number(NFTA_HOOK_PRIORITY, 0);
        if (*chain.device != '\0')
            text(NFTA_HOOK_DEV, chain.device);
        const auto length = static_cast<std::uint16_t>(bytes_.size() - hook);
        std::memcpy(&bytes_[hook], &length, sizeof(length));
        if (chain.has_rule) {
            begin(of(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND, chain.family);
            text(NFTA_RULE_TABLE, "t");
            text(NFTA_RULE_CHAIN, "c");
        }
        begin(NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
        end_message();
        send(netns);
    }

  private:
    static std::uint16_t of(int type) {
        return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type);
    }
    void put(const void *data, std::size_t size) {
        const auto *first = static_cast<const std::uint8_t *>(data);
        bytes_.insert(bytes_.end(), first, first + size);
        bytes_.resize((bytes_.size() + 3) / 4 * 4);
    }
    void attribute(int type, const void *data, std::size_t size) {
        const nlattr header{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + size),
                            .nla_type = static_cast<std::uint16_t>(type)};
        put(&header, sizeof(header));
        if (size != 0)
            put(data, size);
    }
    void text(int type, const char *value) { attribute(type, value, std::strlen(value) + 1); }
    void number(int type, std::uint32_t value) {
        value = htonl(value);
        attribute(type, &value, sizeof(value));
    }
    void begin(std::uint16_t type, std::uint16_t flags, std::uint8_t family, std::uint16_t about = 0) {
        end_message();
        message_ = bytes_.size();
        const nlmsghdr header{
            .nlmsg_len = 0,
            .nlmsg_type = type,
            .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags),
            .nlmsg_seq = ++sent_,
            .nlmsg_pid = 0};
        put(&header, sizeof(header));
        const nfgenmsg more{
            .nfgen_family = family, .version = NFNETLINK_V0, .res_id = htons(about)};
        put(&more, sizeof(more));
    }
    void end_message() {
        if (bytes_.empty())
            return;
        const auto length = static_cast<std::uint32_t>(bytes_.size() - message_);
        std::memcpy(&bytes_[message_], &length, sizeof(length));
    }
    /// The kernel has done it all when the call returns, and has answered.
    void send(const Netns &netns) {
        const Inside inside(netns);
        const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
        ASSERT_GE(fd, 0);
        ASSERT_EQ(::send(fd, bytes_.data(), bytes_.size(), 0), static_cast<ssize_t>(bytes_.size()));
        std::uint8_t answer[4096];
        for (;;) {
            const auto got = ::recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
            if (got <= 0)
                break;
            auto left = static_cast<unsigned>(got);
            for (auto *each = reinterpret_cast<nlmsghdr *>(answer); NLMSG_OK(each, left);
                 each = NLMSG_NEXT(each, left)) {
                EXPECT_EQ(each->nlmsg_type, NLMSG_ERROR);
                EXPECT_EQ(static_cast<nlmsgerr *>(NLMSG_DATA(each))->error, 0) << each->nlmsg_seq;
            }
        }
        ::close(fd);
    }

    Bytes bytes_;
    std::size_t message_ = 0;
    std::uint32_t sent_ = 0;
};

/// All who should say it do; "": nobody says anything.
void expect_told(Testbed &bed, const std::string &told) {
    const auto expect_told = [&](const std::string &text, const char *where) {
        const auto words = "netfilter has rules for what this host forwards (" + told + ")";
        EXPECT_EQ(text.contains(words), !told.empty()) << where << " says:\n" << text;
        EXPECT_EQ(text.contains("netfilter has rules"), !told.empty()) << where;
    };
    auto line = bed.delivery();
    line.insert(line.begin(), {"attach", "in", "--rate", "1mbit"});
    const auto attached = bed.olaf(line);
    ASSERT_EQ(attached.status, 0) << attached.err;
    expect_told(attached.err, "attach");
    expect_told(bed.olaf({"status", "in"}).out, "status");
    expect_told(bed.olaf({"doctor", "in"}).out, "doctor");
    EXPECT_EQ(bed.olaf.status().json.at("netfilter_chains"),
              told.empty() ? nlohmann::json::array() : nlohmann::json::array({told}));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
}

class Netfilter : public testing::TestWithParam<Chain> {};

TEST_P(Netfilter, RulesForWhatIsForwardedAreTold) {
    Testbed bed{{.way = GetParam().way}};
    Ruleset().set(bed.host, GetParam());
    expect_told(bed, GetParam().told);
}

INSTANTIATE_TEST_SUITE_P(
    Chains, Netfilter,
    testing::Values(
        Chain{"Forward4", NFPROTO_IPV4, NF_INET_FORWARD, true, false, "ip t c"},
        Chain{"Forward6", NFPROTO_IPV6, NF_INET_FORWARD, true, false, "ip6 t c"},
        Chain{"ForwardOfBoth", NFPROTO_INET, NF_INET_FORWARD, true, false, "inet t c"},
        Chain{"Prerouting", NFPROTO_IPV4, NF_INET_PRE_ROUTING, true, false, "ip t c"},
        Chain{"Postrouting", NFPROTO_IPV4, NF_INET_POST_ROUTING, true, false, "ip t c"},
        Chain{"ThatDropsAll", NFPROTO_IPV4, NF_INET_FORWARD, false, true, "ip t c"},
        Chain{"ThatIsEmpty", NFPROTO_INET, NF_INET_FORWARD, false, false, ""},
        Chain{"Input", NFPROTO_INET, NF_INET_LOCAL_IN, true, false, ""},
        Chain{"OfBridgesWhereNoneIs", NFPROTO_BRIDGE, NF_INET_FORWARD, true, false, ""},
        Chain{"OfABridge", NFPROTO_BRIDGE, NF_INET_FORWARD, true, false, "bridge t c", Way::bridged},
        Chain{"IngressOfTheDevice", NFPROTO_NETDEV, NF_NETDEV_INGRESS, true, false, "netdev t c", Way::routed, "in"},
        Chain{"IngressOfTheOutput", NFPROTO_NETDEV, NF_NETDEV_INGRESS, true, false, "", Way::routed, "out"},
        Chain{"EgressOfTheOutput", NFPROTO_NETDEV, NF_NETDEV_EGRESS, true, false, "netdev t c", Way::routed, "out"},
        Chain{"EgressOfTheDevice", NFPROTO_NETDEV, NF_NETDEV_EGRESS, true, false, "", Way::routed, "in"},
        Chain{"IngressOfIp", NFPROTO_INET, NF_INET_INGRESS, true, false, "inet t c", Way::routed, "in"},
        Chain{"WhereNothingIsForwarded", NFPROTO_INET, NF_INET_FORWARD, true, true, "", Way::local},
        Chain{"WhereTheHostSends", NFPROTO_INET, NF_INET_FORWARD, true, true, "", Way::upstream4}),
    by_name);

/// What the iptables commands of old have set, in the tables that the kernel had before nft's.
struct Legacy {
    const char *name; ///< of the case
    const char *commands;
    const char *told;
};

class LegacyTables : public testing::TestWithParam<Legacy> {};

TEST_P(LegacyTables, RulesForWhatIsForwardedAreTold) {
    Testbed bed{{.way = Way::routed}};
    ASSERT_EQ(run({"sh", "-euc", GetParam().commands}, {}, &bed.host).status, 0);
    const auto tables = [&] {
        return run({"sh", "-euc", "cat /proc/net/ip_tables_names /proc/net/ip6_tables_names"}, {}, &bed.host).out;
    };
    const auto before = tables();
    expect_told(bed, GetParam().told);
    EXPECT_EQ(tables(), before) << "nobody asks for a table that isn't there: that would make it";
}

INSTANTIATE_TEST_SUITE_P(
    All, LegacyTables,
    testing::Values(
        Legacy{"NoTable", "", ""},
        Legacy{"Rule", "iptables-legacy -A FORWARD -s 10.9.9.9 -j DROP", "iptables-legacy filter FORWARD"},
        Legacy{"Masquerade", "iptables-legacy -t nat -A POSTROUTING -o out -j MASQUERADE",
               "iptables-legacy nat POSTROUTING"},
        Legacy{"Policy", "iptables-legacy -P FORWARD DROP", "iptables-legacy filter FORWARD"},
        Legacy{"Rule6", "ip6tables-legacy -t raw -A PREROUTING -s fd09::9 -j DROP", "ip6tables-legacy raw PREROUTING"},
        Legacy{"Policy6", "ip6tables-legacy -P FORWARD DROP", "ip6tables-legacy filter FORWARD"},
        Legacy{"EmptyTable", "iptables-legacy -L", ""},
        Legacy{"Input", "iptables-legacy -A INPUT -s 10.9.9.9 -j DROP", ""},
        Legacy{"ChainThatNobodyCalls", "iptables-legacy -N mine; iptables-legacy -A mine -j DROP", ""}),
    by_name);

} // namespace
} // namespace olaf::test::netfilter_test
