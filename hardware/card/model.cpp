// SPDX-License-Identifier: BSD-2-Clause
#include "model.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "Volaf_queue.h"
#include "Volaf_queue___024root.h"
#include "accesses.hpp"
#include "olaf/registers.h"

namespace olaf::card {
namespace {

constexpr std::size_t beat_bytes = 64;
/// Cycles from the last thing that is seen to happen to a frame's end, besides a cycle a beat.
constexpr unsigned settling = 32;

/// The signals of a stream, by the names of its ports.
template <class Data> struct Stream {
    CData &valid, &ready;
    Data &data;
    QData &keep;
    CData &last;
    QData &user;
};
template <class Data> Stream(CData &, CData &, Data &, QData &, CData &, QData &) -> Stream<Data>;

#define STREAM(t, name)                                                                            \
    Stream { t.name##_tvalid, t.name##_tready, t.name##_tdata, t.name##_tkeep, t.name##_tlast, t.name##_tuser }

} // namespace

Model::Model() : top_(std::make_unique<Volaf_queue>()) {
    auto &t = *top_;
    t.awvalid = t.wvalid = t.arvalid = t.bready = t.rready = 0;
    t.rst = 1;
    for (int i = 0; i < 3; i++)
        cycle();
    t.rst = 0;
    while ((read(OLAF_REGISTER_STATUS) & 1) == 0)
        ;
}

Model::~Model() = default;

void Model::advance(std::uint64_t to_ns) {
    auto &now = top_->rootp->olaf_queue__DOT__now;
    now = std::max<std::uint64_t>(now, to_ns);
}

template <class Port> void Model::offer(In &in, Port port) {
    port.valid = !in.frames.empty();
    if (in.frames.empty())
        return;
    const auto &frame = in.frames.front();
    const auto left = frame.size() - in.at, now = std::min(left, beat_bytes);
    std::memcpy(&port.data[0], &frame[in.at], now);
    port.keep = ~0ull >> (beat_bytes - now);
    port.last = left <= beat_bytes;
    port.user = frame.size() & 0xffff;
}

/// Whether a beat was taken in this cycle.
template <class Port> bool Model::take(In &in, Port port) const {
    if (!port.valid || !port.ready)
        return false;
    in.at += beat_bytes;
    return true;
}

template <class Port> void Model::collect(Out &out, Port port) {
    if (!port.valid || !port.ready)
        return;
    const auto bytes = std::popcount(static_cast<std::uint64_t>(port.keep));
    const auto *data = reinterpret_cast<const std::uint8_t *>(&port.data[0]);
    out.begun.insert(out.begun.end(), data, data + bytes);
    if (port.last)
        out.frames.push_back(std::exchange(out.begun, {}));
}

/// Frames that were taken to their end go, and it is told for how long something may be under way.
void Model::settle() {
    for (auto &in : in_)
        if (!in.frames.empty() && in.at >= in.frames.front().size()) {
            longest_ = std::max(longest_, in.at / beat_bytes);
            in.frames.pop_front();
            in.at = 0;
        }
    const auto &t = *top_;
    if (t.up_s_tvalid || t.down_s_tvalid || t.up_m_tvalid || t.down_m_tvalid || t.t_decided ||
        t.t_ignored || t.t_popped || t.t_freed || t.t_sampled)
        quiet_at_ = clock_ + settling + longest_;
    else if (quiet())
        longest_ = 0;
}

void Model::cycle() {
    auto &t = *top_;
    offer(in_[workers], STREAM(t, up_s));
    offer(in_[server], STREAM(t, down_s));
    t.up_m_tready = !out_[server].held;
    t.down_m_tready = !out_[workers].held;
    t.clk = 0;
    t.eval();
    if (!t.rst) {
        collect(out_[server], STREAM(t, up_m));
        collect(out_[workers], STREAM(t, down_m));
        take(in_[workers], STREAM(t, up_s));
        take(in_[server], STREAM(t, down_s));
        settle();
    }
    t.clk = 1;
    t.eval();
    clock_++;
}

std::uint32_t Model::read(std::uint32_t offset) {
    return read_register(*top_, offset, [this] { cycle(); });
}

void Model::write(std::uint32_t offset, std::uint32_t value) {
    stir();
    write_register(*top_, offset, value, [this] { cycle(); });
}

} // namespace olaf::card
