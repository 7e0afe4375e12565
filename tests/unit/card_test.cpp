// SPDX-License-Identifier: BSD-2-Clause
// What the loader asks of a card before it drives it, on files with registers.
#include <gtest/gtest.h>

#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "loader/attachment/card.hpp"
#include "loader/card/card.hpp"
#include "loader/card/find.hpp"
#include "loader/host/fd.hpp"
#include "olaf/registers.h"

namespace olaf::test::card_test {
namespace {

// A file with the registers of a card, as a test prepares them. Nobody answers behind it.

class RegistersFile {
  public:
    static constexpr std::size_t usual_bytes = OLAF_CARD_WINDOW;

    /// A card that is there, of 8 places, 128 clusters and slots, and 1152 lanes.
    explicit RegistersFile(std::size_t bytes = usual_bytes, std::size_t start = 0)
        : path_(::testing::TempDir() + "/olaf_registers_XXXXXX"), start_(start) {
        fd_ = Fd(::mkstemp(path_.data()));
        EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
        put(OLAF_REGISTER_MAGIC, OLAF_CARD_MAGIC);
        put(OLAF_REGISTER_LAYOUT, OLAF_CARD_LAYOUT);
        put(OLAF_REGISTER_PLACES, 8);
        put(OLAF_REGISTER_CLUSTERS, 128);
        put(OLAF_REGISTER_SLOTS, 128);
        put(OLAF_REGISTER_LANES, 1152);
        put(OLAF_REGISTER_FEATURES, 7);
    }
    RegistersFile(const RegistersFile &) = delete;
    RegistersFile &operator=(const RegistersFile &) = delete;
    ~RegistersFile() { ::unlink(path_.c_str()); }

    void put(std::size_t at, std::uint32_t value) const {
        const std::uint32_t word = htole32(value);
        EXPECT_EQ(::pwrite(fd_.get(), &word, sizeof word, static_cast<off_t>(start_ + at)), 4);
    }
    [[nodiscard]] std::uint32_t get(std::size_t at) const {
        std::uint32_t word = 0;
        EXPECT_EQ(::pread(fd_.get(), &word, sizeof word, static_cast<off_t>(start_ + at)), 4);
        return le32toh(word);
    }
    /// As a card reads that has gone from its slot.
    void lose() const {
        const std::string ones(std::filesystem::file_size(path_), '\xff');
        EXPECT_EQ(::pwrite(fd_.get(), ones.data(), ones.size(), 0),
                  static_cast<ssize_t>(ones.size()));
    }
    [[nodiscard]] const std::string &path() const { return path_; }

  private:
    std::string path_;
    std::size_t start_;
    Fd fd_;
};

void expect_refused(const RegistersFile &file, const std::string &text) {
    const auto card = Card::open(file.path());
    ASSERT_FALSE(card);
    EXPECT_NE(card.error().message().find(text), std::string::npos) << card.error().message();
    EXPECT_FALSE(card.error().hint.empty());
    EXPECT_FALSE(is_lost(card.error()));
}

TEST(Card, IsFoundAtTheStartOfItsFile) {
    const RegistersFile file;
    const auto card = Card::open(file.path());
    ASSERT_TRUE(card) << card.error().message();
    EXPECT_EQ(card->capabilities().places, 8);
    EXPECT_EQ(card->capabilities().clusters, 128);
    EXPECT_EQ(card->capabilities().slots, 128);
    EXPECT_EQ(card->capabilities().lanes, 1152);
    EXPECT_TRUE(card->capabilities().has(OLAF_CARD_FEATURE_RATE));
    EXPECT_FALSE(card->capabilities().has(OLAF_CARD_FEATURE_WINDOW));
}

TEST(Card, IsFoundInTheBoxOfOpenNic) {
    const RegistersFile file(0x400000, 0x100000);
    const auto card = Card::open(file.path());
    ASSERT_TRUE(card) << card.error().message();
    EXPECT_EQ(card->capabilities().places, 8);
}

TEST(Card, OfAllOnesIsLost) {
    const RegistersFile file;
    file.lose();
    const auto card = Card::open(file.path());
    ASSERT_FALSE(card);
    EXPECT_TRUE(is_lost(card.error()));
    EXPECT_NE(card.error().message().find("all ones"), std::string::npos);
}

TEST(Card, ThatGoesWhileItIsUsedIsLostAndReadsAsNothing) {
    const RegistersFile file;
    auto card = Card::open(file.path());
    ASSERT_TRUE(card) << card.error().message();
    file.lose();
    const auto there = card->check_there();
    const auto queues = card->queues(), empty = card->empty();
    const auto rule = card->rule(3);
    const auto stopped = card->admit(false);
    ASSERT_FALSE(there);
    ASSERT_FALSE(queues);
    ASSERT_FALSE(empty);
    ASSERT_FALSE(rule);
    ASSERT_FALSE(stopped);
    for (const auto &error :
         {there.error(), queues.error(), empty.error(), rule.error(), stopped.error()})
        EXPECT_TRUE(is_lost(error)) << error.message();
}

TEST(Card, ThatIsNotOursOrMakesNoSenseIsLeftAlone) {
    const struct {
        std::size_t at;
        std::uint32_t value;
        const char *why;
    } wrong[] = {
        {OLAF_REGISTER_MAGIC, 0x12345678,
         "no queue is in it: its magic is 0x12345678, not 0x46414c4f"},
        {OLAF_REGISTER_LAYOUT, OLAF_CARD_LAYOUT + 1,
         "its registers have layout 4, this olaf knows layout 3"},
        {OLAF_REGISTER_PLACES, 0, "its capabilities make no sense: 0 places"},
        {OLAF_REGISTER_SLOTS, 6145, // more than the registers have room for
         "its capabilities make no sense"},
    };
    for (const auto &[at, value, why] : wrong) {
        const RegistersFile file;
        file.put(at, value);
        expect_refused(file, why);
    }
    expect_refused(RegistersFile(0x3000),
                   "the BAR is too small: it has 12288 bytes, and the registers take");
    expect_refused(RegistersFile(OLAF_CARD_WINDOW - 4),
                   "the BAR is too small: it has 1048572 bytes, and the registers take 1048576");
}

TEST(Card, ThatAnswersNothingIsLost) {
    const RegistersFile file;
    file.put(OLAF_REGISTER_STATUS, 1);
    auto card = Card::open(file.path());
    ASSERT_TRUE(card) << card.error().message();
    const auto done =
        card->configure(make_config({.queue_capacity = 8, .max_clusters = 4}).value(), {});
    ASSERT_FALSE(done);
    EXPECT_TRUE(is_lost(done.error()));
    EXPECT_NE(done.error().message().find("it doesn't answer"), std::string::npos);
    EXPECT_EQ(file.get(OLAF_REGISTER_CONTROL), 3); // it queues, and verifies
    EXPECT_EQ(file.get(OLAF_REGISTER_PORT), 6523);
    EXPECT_EQ(file.get(OLAF_REGISTER_QUEUE_CAPACITY), 8);
    EXPECT_EQ(file.get(OLAF_REGISTER_MAX_CLUSTERS), 4);
}

TEST(Card, TakesTheRulesOfARangeOfClusters) {
    const RegistersFile file;
    auto card = Card::open(file.path());
    ASSERT_TRUE(card) << card.error().message();
    const olaf_rule rule{.policy = OLAF_POLICY_NEWEST, .max_count = 7, .reward_threshold = -1};
    EXPECT_FALSE(card->set_rules(3, 4, rule)); // nobody passes the fence behind them
    for (const std::size_t cluster : {3, 4}) {
        const auto at = OLAF_REGISTER_RULE + cluster * OLAF_REGISTER_STRIDE_RULE;
        EXPECT_EQ(file.get(at), OLAF_POLICY_NEWEST);
        EXPECT_EQ(file.get(at + 4), 7);
        EXPECT_EQ(file.get(at + 8), 0xffffffff);
        EXPECT_EQ(file.get(at + 12), 0xffffffff);
    }
    EXPECT_EQ(file.get(OLAF_REGISTER_RULE + 5 * OLAF_REGISTER_STRIDE_RULE), 0);
    const auto read = card->rule(4);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->max_count, 7);
    EXPECT_EQ(read->reward_threshold, -1);
}

constexpr CardCapabilities small{
    .places = 8, .clusters = 128, .slots = 128, .lanes = 1152, .features = 7};

TEST(CardFit, FitsWhatWasNotAskedFor) {
    DatapathConfig config{.max_lanes = 1200};
    EXPECT_EQ(fit_to_card(config, {}, small), "");
    EXPECT_EQ(config.queue_capacity, 8);
    EXPECT_EQ(config.max_clusters, 128);
    EXPECT_EQ(config.max_lanes, 1152);
}

TEST(CardFit, SaysWhatIsTooMuch) {
    const auto says = [](DatapathConfig config, const Given &given, const std::string &text) {
        const auto obstacle = fit_to_card(config, given, small);
        EXPECT_NE(obstacle.find(text), std::string::npos) << obstacle;
    };
    says({.queue_capacity = 9}, {.queue = true}, "it has 8 places, and --queue asks for 9");
    says({.max_clusters = 129}, {.clusters = true}, "it has 128 clusters");
    says({.max_clusters = 64, .max_segments = 3}, {.clusters = true}, "it has 128 slots");
    says({.max_segments = 129}, {}, "it has 128 slots");
    says({.max_lanes = 1153}, {.lanes = true}, "it has 1152 lanes");
    says({.window = {.automatic = false, .most = 4}}, {}, "--window");
    says({.allow_list = true}, {}, "--allow");
    says({.strict = true}, {}, "--strict");
    says({.round_slots = 8}, {}, "--round-slots");
    says({}, {.workers = true}, "--max-workers");
    says({.rate_bps = 1000}, {}, "too slow");
    says({.activity_window_ns = 1'200'000'000'000}, {}, "--activity-window");
    says({.deliver = OLAF_DELIVER_UPSTREAM}, {}, "--upstream");
}

TEST(CardFit, PacesOnlyWhereTheCardCan) {
    auto can = small;
    can.features = 0;
    DatapathConfig config{.rate_bps = 1'000'000'000};
    EXPECT_NE(fit_to_card(config, {}, can).find("--rate"), std::string::npos);
    EXPECT_EQ(fit_to_card(config, {}, small), "");
    auto rule = default_rule(OLAF_POLICY_OLAF);
    EXPECT_EQ(rule_obstacle(rule, can), "");
    rule.reward_threshold = 1;
    EXPECT_NE(rule_obstacle(rule, can), "");
    EXPECT_EQ(rule_obstacle(rule, small), "");
}

TEST(CardFind, LooksAtOpenNicDevicesOnly) {
    const std::string pci = ::testing::TempDir() + "/olaf_pci";
    const auto folder = pci + "/0000:01:00.0";
    std::filesystem::create_directories(folder);
    const auto says = [&](const std::string &driver, const std::string &bus,
                          const std::string &text) {
        const auto found = card_on_bus("in", driver, bus, pci);
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, ENXIO);
        EXPECT_NE(found.error().message().find(text), std::string::npos) << found.error().message();
    };
    says("veth", "", "it is no PCI device (its driver is veth)");
    says("nsim", "netdevsim0", "it is no PCI device");
    std::ofstream(folder + "/vendor") << "0x8086\n";
    says("ice", "0000:01:00.0", "its driver is ice, of PCI vendor 0x8086");
    std::ofstream(folder + "/vendor") << "0x10ee\n";
    says("other", "0000:01:00.0", "its driver is other, of PCI vendor 0x10ee");
    says("onic", "0000:01:00.0", "has no resource2");
    std::ofstream(folder + "/resource2") << "";
    const auto found = card_on_bus("in", "onic", "0000:01:00.0", pci);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, folder + "/resource2");
    std::filesystem::remove_all(pci);
}

} // namespace
} // namespace olaf::test::card_test
