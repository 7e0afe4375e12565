// SPDX-License-Identifier: BSD-2-Clause
// olaf send and olaf receive: their book, and both ends over loopback.
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <thread>

#include <olaf/parameter_server.hpp>

#include "loader/traffic/book.hpp"
#include "loader/traffic/receiver.hpp"
#include "loader/traffic/sender.hpp"

namespace olaf::test::traffic_test {
namespace {

/// The book after a message that holds so many updates of each worker.
std::uint64_t entered(Format format, const std::vector<std::uint32_t> &updates,
                      std::vector<float> &book) {
    const Packing packing{.format = format, .scale = book_scale};
    std::vector<std::uint64_t> sum(lanes_for(format, book.size())), lanes(sum.size());
    std::uint32_t count = 1; // one that only asks
    for (std::uint32_t worker = 0; worker < updates.size(); worker++)
        for (std::uint32_t i = 0; i < updates[worker]; i++, count++) {
            std::vector<float> gradient(book.size());
            gradient[book_element(worker)] = 1;
            EXPECT_TRUE(pack(packing, gradient, lanes));
            for (std::size_t drain = 0; drain < lanes.size(); drain++)
                sum[drain] += lanes[drain];
        }
    std::vector<float> mean(book.size());
    EXPECT_TRUE(unpack(format, 1.0 / count, sum, mean));
    return enter_into_book({.mean_gradient = mean, .segments = 1, .count = count}, book);
}

TEST(Book, CountsEachWorkersUpdatesHoweverTheyWereFolded) {
    for (const auto format : {Format::i32x2, Format::i16x4, Format::i64x1}) {
        auto book = empty_book(book_elements(format, 9));
        EXPECT_TRUE(is_book(book));
        EXPECT_EQ(entered(format, {3, 0, 100}, book), 103u);
        EXPECT_EQ(entered(format, {0, 7, 30}, book), 37u);
        EXPECT_EQ(entered(format, {}, book), 0u);
        EXPECT_EQ(book_entry(book, book_element(0)), 3u);
        EXPECT_EQ(book_entry(book, book_element(1)), 7u);
        EXPECT_EQ(book_entry(book, book_element(2)), 130u);
        EXPECT_TRUE(is_book(book));
    }
    EXPECT_FALSE(is_book(std::vector<float>(9)));
}

TEST(Book, CountsBeyondWhatAFloatCan) {
    std::vector<float> book = empty_book(2);
    const std::vector<float> ones{0, 1};
    std::uint64_t updates = 0;
    for (int i = 0; i < 300; i++)
        updates += enter_into_book({.mean_gradient = ones, .segments = 1, .count = 65535}, book);
    EXPECT_EQ(updates, 300u * 65535u);
    EXPECT_EQ(book_entry(book, 1), 300u * 65535u); // above 2^24
}

TEST(Summary, TellsClocksThatDiffer) {
    EXPECT_FALSE(clocks_differ(50'000));
    EXPECT_FALSE(clocks_differ(-10'000)); // as two clocks by PTP may
    EXPECT_TRUE(clocks_differ(-37'000'000'000));
    EXPECT_TRUE(clocks_differ(37'000'000'000));
}

/// `olaf receive` on a free port of loopback, on a thread of its own.
class Receiver {
  public:
    explicit Receiver(const std::string &bind) {
        std::promise<std::string> listening;
        auto address = listening.get_future();
        result_ =
            std::async(std::launch::async, [this, bind, promise = std::move(listening)]() mutable {
                ReceiveOptions options{.bind = bind, .port = 0};
                options.for_ns = 20'000'000'000;
                options.idle_ns = 200'000'000;
                return receive_updates(
                    options, {.listening = [&](const std::string &at) { promise.set_value(at); },
                              .progress = [](const ReceiveProgress &) {}});
            });
        address_ = address.get();
    }
    [[nodiscard]] const std::string &address() const { return address_; }
    ReceiveSummary end() { return result_.get().value(); }

  private:
    std::future<Result<ReceiveSummary>> result_;
    std::string address_;
};

SendSummary sent(SendOptions options) {
    options.rate = {.bps = 50'000'000};
    auto summary = send_updates(options, [](const SendProgress &) {});
    if (!summary)
        throw std::runtime_error(summary.error().message());
    return std::move(*summary);
}

TEST(SendAndReceive, AgreeInEveryFormatAndFamily) {
    for (const std::string bind : {"127.0.0.1", "::1"})
        for (const std::string format : {"i32x2", "i16x4", "i64x1"}) {
            Receiver receiver(bind);
            const auto near = sent({.server = receiver.address(),
                                    .clusters = 2,
                                    .workers = 3,
                                    .first_worker = 4,
                                    .lanes = 20,
                                    .format = format,
                                    .lag = 2,
                                    .updates = 300});
            const auto far = receiver.end();
            EXPECT_FALSE(near.failure);
            EXPECT_EQ(near.ipv6, bind == "::1");
            EXPECT_EQ(near.total.sent, 300u);
            EXPECT_EQ(near.total.received, 300u);
            EXPECT_EQ(near.total.messages, far.messages);
            EXPECT_EQ(near.total.others, 0u);
            EXPECT_EQ(far.updates, 300u);
            ASSERT_EQ(far.clusters.size(), 2u);
            EXPECT_EQ(far.clusters[1].updates, 150u);
            EXPECT_EQ(far.clusters[1].workers, 3u);
            EXPECT_GE(far.clusters[1].worst_lag, 2u);
            EXPECT_GT(near.total.round_trip_ns.count, 0u);
            EXPECT_GT(near.total.aom.average_ns, 0);
        }
}

/// A run after a run, and two at a time: each sees its own.
TEST(SendAndReceive, OneReceiverServesSeveralSenders) {
    Receiver receiver("127.0.0.1");
    const auto server = receiver.address();
    EXPECT_EQ(sent({.server = server, .updates = 10}).total.received, 10u);
    EXPECT_EQ(sent({.server = server, .updates = 20}).total.received, 20u);
    auto beside = std::async(std::launch::async, [&] {
        return sent({.server = server, .workers = 2, .first_worker = 1, .updates = 500});
    });
    const auto here = sent({.server = server, .updates = 500});
    const auto there = beside.get();
    EXPECT_EQ(here.total.received, 500u);
    EXPECT_EQ(there.total.received, 500u);
    EXPECT_EQ(receiver.end().updates, 1030u);
}

std::string refusal(const SendOptions &options) {
    const auto summary = send_updates(options, [](const SendProgress &) {});
    return summary ? "" : summary.error().message();
}

TEST(SendAndReceive, SayWhyNothingCanBeSent) {
    Receiver receiver("127.0.0.1");
    const auto server = receiver.address();
    EXPECT_EQ(sent({.server = server, .lanes = 20, .updates = 1}).total.received, 1u);
    EXPECT_NE(refusal({.server = server, .lanes = 10}).find("another size"), std::string::npos);
    EXPECT_NE(refusal({.server = server, .workers = 40, .lanes = 10}).find("more --lanes"),
              std::string::npos);
    EXPECT_NE(refusal({.server = server, .clusters = 1000, .workers = 3}).find("fewer --clusters"),
              std::string::npos);
    EXPECT_EQ(receiver.end().updates, 1u);
    // Nobody: the port that has just become free.
    const auto nobody = refusal({.server = server, .patience_ns = 100'000'000});
    EXPECT_NE(nobody.find("nothing there has answered for 100"), std::string::npos) << nobody;
    EXPECT_NE(refusal({.server = "127.0.0.1", .family = 6}).find("127.0.0.1"), std::string::npos);
}

/// Somebody's training isn't spoilt by an attempt.
TEST(SendAndReceive, AParameterServerIsLeftAlone) {
    auto server = ParameterServer::make({.bind = Address::resolve("127.0.0.1", 0).value()});
    ASSERT_TRUE(server);
    const std::vector<float> weights(book_elements(Format::i32x2, 64), 0.5F);
    ASSERT_TRUE(server->add_cluster({.weights = weights, .rule = async_sgd_rule(1)}));
    const auto address = server->local_address()->text();
    std::jthread serving([&](const std::stop_token &stop) { (void)server->serve(stop); });
    EXPECT_NE(refusal({.server = address}).find("isn't ours to train"), std::string::npos);
    serving.request_stop();
    serving.join();
    EXPECT_TRUE(std::ranges::equal(server->cluster(0)->weights(), weights));
}

TEST(Receiver, SaysWhyItCannotListen) {
    Receiver first("127.0.0.1");
    const auto port = Address::parse(first.address())->port();
    const ReceiveWatcher watcher{.listening = [](const std::string &) { FAIL(); },
                                 .progress = [](const ReceiveProgress &) {}};
    const auto taken = receive_updates({.bind = "127.0.0.1", .port = port}, watcher);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, EADDRINUSE);
    EXPECT_NE(taken.error().message().find("--port"), std::string::npos);
    const auto foreign = receive_updates({.bind = "192.0.2.1", .port = 0}, watcher);
    ASSERT_FALSE(foreign);
    EXPECT_NE(foreign.error().message().find("--bind"), std::string::npos);
    EXPECT_EQ(sent({.server = first.address(), .updates = 1}).total.received, 1u);
    EXPECT_EQ(first.end().updates, 1u);
}

} // namespace
} // namespace olaf::test::traffic_test
