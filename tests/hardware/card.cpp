// SPDX-License-Identifier: BSD-2-Clause
#include "card.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "Volaf_queue.h"
#include "hardware/card/accesses.hpp"

namespace olaf::test {

namespace {

constexpr std::size_t beat_bytes = 64;

/// The signals of a stream, by the names of its ports.
template <class Data> struct Stream {
    CData &valid, &ready;
    Data &data;
    QData &keep;
    CData &last;
    QData &user;
};
template <class Data> Stream(CData &, CData &, Data &, QData &, CData &, QData &) -> Stream<Data>;

} // namespace

Card::Card(std::uint64_t seed) : top_(std::make_unique<Volaf_queue>()), random_(seed) { reset(); }
Card::~Card() = default;

void Card::fault(const std::string &what) {
    faults_ += "cycle " + std::to_string(clock_) + ": " + what + "\n";
}

bool Card::stalls_now(unsigned &stalled, unsigned often) {
    if (stalled > 0)
        return --stalled > 0;
    if (often == 0 || random_() % 256 >= often)
        return false;
    stalled = 1 + static_cast<unsigned>(random_() % stalls.longest);
    return true;
}

template <class Port> void Card::offer(Way way, Port port) {
    In &in = in_[way];
    // What is offered stays until it is taken.
    if (!in.offers && !in.frames.empty()) {
        in.offers = !stalls_now(in.stalled, stalls.in);
        met_.stalls_in[way] += !in.offers;
    }
    port.valid = in.offers;
    if (!in.offers)
        return;
    const auto &frame = in.frames.front();
    const auto left = frame.bytes.size() - in.at, now = std::min(left, beat_bytes);
    std::memset(&port.data[0], 0x5a, beat_bytes); // behind the last byte: anything
    std::memcpy(&port.data[0], &frame.bytes[in.at], now);
    port.keep = ~0ull >> (beat_bytes - now);
    port.last = left <= beat_bytes;
    port.user = (frame.bytes.size() & 0xffff) | static_cast<std::uint64_t>(frame.side) << 16;
}

template <class Port> void Card::take(Way way, Port port) {
    Out &out = out_[way];
    if (out.held && (!port.valid || out.keep != port.keep || out.last != port.last ||
                     std::memcmp(out.data.data(), &port.data[0], beat_bytes) != 0))
        fault("a beat that waited was changed or withdrawn");
    out.held = port.valid && !port.ready;
    met_.stalls_out[way] += out.held;
    std::memcpy(out.data.data(), &port.data[0], beat_bytes);
    out.keep = port.keep;
    out.last = port.last;
    if (!port.valid || !port.ready)
        return;
    const auto bytes = static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(port.keep)));
    if (port.keep != ~0ull >> (beat_bytes - bytes) || (!port.last && bytes != beat_bytes))
        fault("a beat with a gap");
    if (out.frame.bytes.empty()) {
        out.user = port.user;
        out.began = clock_;
    }
    const auto *data = reinterpret_cast<const std::uint8_t *>(&port.data[0]);
    out.frame.bytes.insert(out.frame.bytes.end(), data, data + bytes);
    if (!port.last)
        return;
    if ((out.user & 0xffff) != (out.frame.bytes.size() & 0xffff))
        fault("the side band tells " + std::to_string(out.user & 0xffff) + " bytes of " +
              std::to_string(out.frame.bytes.size()));
    out.frame.side = static_cast<std::uint32_t>(out.user >> 16);
    received(way, std::exchange(out.frame, {}));
}

void Card::drive() {
    auto &t = *top_;
    offer(up, Stream{t.up_s_tvalid, t.up_s_tready, t.up_s_tdata, t.up_s_tkeep, t.up_s_tlast,
                     t.up_s_tuser});
    offer(down, Stream{t.down_s_tvalid, t.down_s_tready, t.down_s_tdata, t.down_s_tkeep,
                       t.down_s_tlast, t.down_s_tuser});
    t.up_m_tready = !blocked && !stalls_now(out_[up].stalled, stalls.out);
    t.down_m_tready = !stalls_now(out_[down].stalled, stalls.out);
}

void Card::sample() {
    auto &t = *top_;
    traced({t.t_now, t.t_restarts != 0, t.t_ignored != 0, t.t_decided != 0, t.t_way_clear != 0,
            t.t_popped != 0, t.t_freed != 0, t.t_sampled != 0, t.t_foreign != 0,
            t.t_snapshot != 0, t.t_action});
    take(up, Stream{t.up_m_tvalid, t.up_m_tready, t.up_m_tdata, t.up_m_tkeep, t.up_m_tlast,
                    t.up_m_tuser});
    take(down, Stream{t.down_m_tvalid, t.down_m_tready, t.down_m_tdata, t.down_m_tkeep,
                      t.down_m_tlast, t.down_m_tuser});
    for (Way way : {up, down}) {
        In &in = in_[way];
        const bool taken = in.offers && (way == up ? t.up_s_tready : t.down_s_tready);
        if (!taken)
            continue;
        in.offers = false;
        in.at += beat_bytes;
        if (in.at >= in.frames.front().bytes.size()) {
            in.frames.pop_front();
            in.at = 0;
        }
    }
}

void Card::cycle() {
    drive();
    top_->clk = 0;
    top_->eval();
    if (!top_->rst) {
        sample();
        watch();
    }
    top_->clk = 1;
    top_->eval();
    clock_++;
}

void Card::reset() {
    auto &t = *top_;
    for (Way way : {up, down}) {
        met_.cut_in[way] += in_[way].at > 0;
        met_.cut_out[way] += !out_[way].frame.bytes.empty();
        in_[way] = {};
        out_[way] = {};
    }
    t.awvalid = t.wvalid = t.arvalid = t.bready = t.rready = 0;
    t.rst = 1;
    cycles(3);
    t.rst = 0;
    while (!(read(OLAF_REGISTER_STATUS) & 1))
        ;
}

std::uint32_t Card::read(std::uint32_t offset) {
    return card::read_register(*top_, offset, [this] { cycle(); });
}

void Card::write(std::uint32_t offset, std::uint32_t value) {
    card::write_register(*top_, offset, value, [this] { cycle(); });
}

bool Card::commit() {
    write(OLAF_REGISTER_COMMIT, 1);
    return !(read(OLAF_REGISTER_STATUS) & 4);
}

void Card::set_rule(std::uint32_t cluster, const olaf_rule &rule) {
    const auto at = OLAF_REGISTER_RULE + OLAF_REGISTER_STRIDE_RULE * cluster;
    write(at, rule.policy);
    write(at + 4, rule.max_count);
    write64(at + 8, static_cast<std::uint64_t>(rule.reward_threshold));
}

} // namespace olaf::test
