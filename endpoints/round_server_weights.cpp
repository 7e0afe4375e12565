// SPDX-License-Identifier: BSD-2-Clause
// As at the workers (collective_vectors.cpp), chunk c brings the exponent of piece c, and the data
// of piece c - lag. The exponent that all agree on covers the weights, too, since they go back with
// it.
#include <algorithm>
#include <bit>

#include "block_exponent.hpp"
#include "round_child.hpp"
#include "round_server_impl.hpp"

namespace olaf {

RoundServer::Impl::Impl(const RoundServerOptions &options, std::uint32_t generation,
                        UdpSocket socket, std::vector<float> weights, RoundRule rule)
    : options_(options), socket_(std::move(socket)), weights_(std::move(weights)),
      rule_(std::move(rule)),
      pieces_(cut_floats(options.format, options.lanes - (options.checksum ? 1U : 0U),
                         weights_.size(), options.ahead)),
      sum_(pieces_.each), root_(options_, generation, *this) {}

std::span<float> RoundServer::Impl::piece(std::uint32_t number) {
    const std::size_t begin = number * pieces_.each;
    return std::span(weights_).subspan(begin, std::min(pieces_.each, weights_.size() - begin));
}

// Room for twice the sum of what all contribute, and for weights twice as large as now.
std::int16_t RoundServer::Impl::exponent_for(std::uint32_t number, std::int16_t contributed) {
    const std::int16_t own = exponent_of(piece(number));
    if (contributed == kNotFinite || own == kNotFinite)
        return kNotFinite;
    if (contributed == kAllZero && own == kAllZero)
        return kAllZero;
    const int sum =
        contributed == kAllZero ? own : contributed + std::bit_width(options_.workers - 1);
    return static_cast<std::int16_t>(std::max<int>(sum, own) + 1);
}

void RoundServer::Impl::answer(RoundTotal &total, std::span<std::uint64_t> lanes) {
    if (total.chunks == kFarewellChunks)
        return; // nothing but zeros
    const std::uint32_t chunk = total.chunk;
    if (chunk >= pieces_.lag)
        answer_piece(total, chunk - pieces_.lag, lanes);
    else
        std::ranges::fill(lanes, 0); // what workers have guessed is not the answer
    if (chunk < pieces_.pieces) {
        total.exponent = exponent_for(chunk, total.exponent);
        exponents_[{total.round, chunk}] = total.exponent;
    }
}

void RoundServer::Impl::answer_piece(const RoundTotal &total, std::uint32_t number,
                                     std::span<std::uint64_t> lanes) {
    const auto told = exponents_.find({total.round, number});
    // There is one unless a child sends data before it has the exponent, which none may.
    const std::int16_t exponent = told == exponents_.end() ? kNotFinite : told->second;
    const auto weights = piece(number);
    const auto used = lanes.first(lanes_for(options_.format, weights.size()));
    const auto sum = std::span(sum_).first(weights.size());
    if (exponent == kNotFinite) {
        std::ranges::fill(lanes, 0); // at the workers NaN, whatever it is
        counts_.not_finite += weights.size();
    } else {
        unpack_block(options_.format, options_.workers, exponent, used, sum);
        rule_({.round = total.round,
               .begin = number * pieces_.each,
               .sum = sum,
               .count = total.count,
               .partial = total.partial,
               .generated_ns = total.generated_ns},
              weights);
        counts_.clipped += pack_block(options_.format, options_.workers, exponent, weights, used);
    }
    if (told != exponents_.end())
        exponents_.erase(told); // not before the rule, which may throw
}

} // namespace olaf
