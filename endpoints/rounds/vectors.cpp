// SPDX-License-Identifier: BSD-2-Clause
// A vector of n pieces of floats takes n + lag chunks: chunk c brings the exponent of piece c, and
// the data of piece c - lag, whose exponent all know by then. A short one has lag n, and its data
// goes along with the exponents by a guess. If the guess was good, the chunk n later is spared.
// Integers need no exponent, nor do floats that the node adds: lag 0.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <olaf/clock.hpp>
#include <olaf/rounds.h>

#include "endpoints/rounds/member.hpp"
#include "endpoints/wire/block_exponent.hpp"

namespace olaf {
namespace {

// Integers to lanes that add up, and back.
std::uint64_t wide(std::int32_t element) {
    return static_cast<std::uint64_t>(std::int64_t{element});
}

// docs/rounds.md, "Integers": SplitMix64's numbers from 0 on, made odd.
constexpr std::uint64_t weight_of(std::uint64_t element) {
    std::uint64_t x = (element + 1) * 0x9e37'79b9'7f4a'7c15;
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    return (x ^ (x >> 31)) | 1;
}

constexpr auto kWeights = [] {
    std::array<std::uint64_t, 2 * OLAF_MAX_LANES> weights{};
    for (std::size_t i = 0; i < weights.size(); i++)
        weights[i] = weight_of(i);
    return weights;
}();

std::uint64_t weighted(std::span<const std::int32_t> elements, std::size_t i) {
    return wide(elements[i]) * kWeights[i];
}

// Two a lane. Of a sum that doesn't fit, what is above goes into the neighbour. So the last lane
// has the weighted sum of all, which no other elements have.
void pack_pairs(std::span<const std::int32_t> in, std::span<std::uint64_t> lanes) {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    for (; i + 1 < in.size(); i += 2) {
        lanes[i / 2] = wide(in[i]) + (wide(in[i + 1]) << 32);
        sum += weighted(in, i) + weighted(in, i + 1);
    }
    if (i < in.size()) {
        lanes[i / 2] = wide(in[i]);
        sum += weighted(in, i);
    }
    lanes.back() = sum;
}

// Whether they are the sums.
bool unpack_pairs(std::span<const std::uint64_t> lanes, std::span<std::int32_t> out) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < out.size(); i += 2) {
        const std::uint64_t lane = lanes[i / 2];
        const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(lane));
        out[i] = low;
        sum += weighted(out, i);
        if (i + 1 == out.size())
            break;
        const auto above = static_cast<std::uint32_t>((lane - wide(low)) >> 32);
        out[i + 1] = static_cast<std::int32_t>(above);
        sum += weighted(out, i + 1);
    }
    return lanes.back() == sum;
}

// One a lane, whose sum of 64 bits tells whether it fits.
bool unpack_singles(std::span<const std::uint64_t> lanes, std::span<std::int32_t> out) {
    bool fit = true;
    for (std::size_t i = 0; i < out.size(); i++) {
        out[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(lanes[i]));
        fit = fit && lanes[i] == wide(out[i]);
    }
    return fit;
}

} // namespace

void spoil(Collective::Impl::Element element, void *data, std::size_t elements) {
    if (element == Collective::Impl::Element::f32)
        std::ranges::fill(std::span(static_cast<float *>(data), elements),
                          std::numeric_limits<float>::quiet_NaN());
}

std::size_t CollectiveMember::elements_a_frame(Element element) const {
    if (element == Element::i32)
        return pairs_integers() ? 2 * (data_lanes() - 1) : data_lanes();
    return data_lanes() * (element == Element::i64 ? 1 : elements_per_lane(options_.format));
}

FloatPieces CollectiveMember::cut(Element element, std::size_t elements) const {
    if (element == Element::f32 && options_.format != Format::f32x2)
        return cut_floats(options_.format, data_lanes(), elements, options_.ahead);
    const std::size_t each = elements_a_frame(element);
    return {.elements = elements,
            .each = each,
            .pieces = static_cast<std::uint32_t>((elements + each - 1) / each)};
}

template <class T>
std::span<T> CollectiveMember::piece(const Vector &vector, std::uint32_t number) const {
    return std::span(static_cast<T *>(vector.data), vector.elements)
        .subspan(number * vector.each, elements_of(vector, number));
}

std::size_t CollectiveMember::elements_of(const Vector &vector, std::uint32_t number) const {
    return std::min(vector.each, vector.elements - number * vector.each);
}

Result<std::shared_ptr<Collective::Impl::State>> CollectiveMember::add(Element element, void *data,
                                                                       std::size_t elements,
                                                                       Combine combine, Part part) {
    return add_range(element, data, elements, combine, part, cut(element, elements));
}

Result<std::shared_ptr<Collective::Impl::State>>
CollectiveMember::add_range(Element element, void *data, std::size_t elements, Combine combine,
                            Part part, const FloatPieces &whole) {
    if (broken_)
        return std::unexpected(*broken_);
    if (element == Element::i32 && options_.format == Format::i16x4)
        return fail("sum 32-bit integers", {}, 0, "choose i32x2 or i64x1",
                    "the job's format is i16x4");
    if (element != Element::f32 && options_.format == Format::f32x2)
        return fail("sum integers", {}, 0, "choose i32x2 or i64x1", "the job's format is f32x2");
    if (elements / elements_a_frame(element) >= UINT32_MAX / 2)
        return fail("sum vector", {}, 0, {}, "it is too long");
    // A vector without elements takes a round, too: other members may have given elements to it.
    const bool is_empty = elements == 0;
    const auto pieces =
        is_empty ? 1U : static_cast<std::uint32_t>((elements + whole.each - 1) / whole.each);
    Vector vector = {.state = std::make_shared<State>(),
                     .element = element,
                     .combine = combine,
                     .part = part,
                     .data = data,
                     .elements = elements,
                     .pieces = pieces,
                     .lag = is_empty ? 0U : std::min(whole.lag, pieces),
                     .each = whole.each,
                     .whole = whole.elements,
                     .guesses = whole.guesses && !is_empty};
    vector.exponents.resize(vector.lag == 0 ? 0 : vector.pieces);
    vector.left = vector.pieces + vector.lag;
    vector.report = {.chunks = vector.left, .least_count = UINT32_MAX};
    vector.round = child_->add(vector.left, vector.lag, tai_now_ns(), kind_of(vector));
    vectors_.push_back(std::move(vector));
    return vectors_.back().state;
}

std::shared_ptr<Collective::Impl::State> CollectiveMember::add_farewell() {
    Vector vector = {.state = std::make_shared<State>(),
                     .element = Element::i64,
                     .data = &farewell_,
                     .elements = 1,
                     .pieces = 1,
                     .each = 1,
                     .left = 1};
    vector.report = {.chunks = 1, .least_count = UINT32_MAX};
    vector.round = child_->add_farewell(tai_now_ns(), kind_of(vector));
    vectors_.push_back(std::move(vector));
    return vectors_.back().state;
}

// docs/rounds.md, "One vector".
VectorKind CollectiveMember::kind_of(const Vector &vector) const {
    const auto content = [&] {
        const bool mean = vector.combine == Combine::mean;
        if (vector.element == Element::i64)
            return OLAF_CONTENT_INT64;
        if (vector.element == Element::i32)
            return OLAF_CONTENT_INT32;
        if (vector.guesses)
            return mean ? OLAF_CONTENT_GUESSED_MEAN : OLAF_CONTENT_GUESSED_SUM;
        return mean ? OLAF_CONTENT_FLOAT_MEAN : OLAF_CONTENT_FLOAT_SUM;
    };
    return {.workers = static_cast<std::uint16_t>(options_.workers),
            .content = content(),
            .last = static_cast<std::uint16_t>(elements_of(vector, vector.pieces - 1))};
}

// The other member's options are taken to be as this one's.
std::string CollectiveMember::describe(const VectorIdentity &vector) const {
    const auto [chunks, kind] = vector;
    const auto say = [&kind](const char *what, std::size_t pieces, std::size_t each,
                             const char *type) {
        const std::size_t elements = pieces == 0 ? 0 : (pieces - 1) * each + kind.last;
        return what + std::to_string(elements) + type + " among " + std::to_string(kind.workers) +
               " workers";
    };
    const auto say_floats = [&](const char *what) {
        const std::size_t lag = options_.format == Format::f32x2 ? 0 : options_.ahead;
        const std::size_t pieces = chunks <= 2 * lag ? (chunks + 1) / 2 : chunks - lag;
        return say(what, pieces, elements_a_frame(Element::f32), " float32");
    };
    const auto say_guessed = [&](const char *what) {
        return say(what, chunks / 2,
                   elements_a_frame(Element::f32) - elements_per_lane(options_.format), " float32");
    };
    switch (kind.content) {
    case OLAF_CONTENT_INT32:
        return say("the sum of ", chunks, elements_a_frame(Element::i32), " int32");
    case OLAF_CONTENT_INT64:
        return say("the sum of ", chunks, elements_a_frame(Element::i64), " int64");
    case OLAF_CONTENT_FLOAT_SUM:
        return say_floats("the sum of ");
    case OLAF_CONTENT_FLOAT_MEAN:
        return say_floats("the mean of ");
    case OLAF_CONTENT_GUESSED_SUM:
        return say_guessed("the sum of ");
    case OLAF_CONTENT_GUESSED_MEAN:
        return say_guessed("the mean of ");
    case OLAF_CONTENT_UNTOLD:
        break;
    }
    return RoundVectors::describe(vector);
}

CollectiveMember::Vector &CollectiveMember::vector_of(std::uint32_t round) {
    return vectors_[round - vectors_.front().round];
}

std::optional<std::int16_t> CollectiveMember::contribute(std::uint32_t round, std::uint32_t chunk,
                                                         std::span<std::uint64_t> lanes) {
    Vector &vector = vector_of(round);
    if (vector.part == Part::nothing)
        return {};
    if (chunk >= vector.lag && !vector.unknown.empty() && vector.unknown[chunk - vector.lag])
        return {};
    std::ranges::fill(lanes, 0);
    if (chunk >= vector.lag && !pack_piece(vector, chunk - vector.lag, lanes))
        return {};
    if (vector.exponents.empty())
        return 0;
    return chunk < vector.pieces ? pack_exponent(vector, chunk, lanes) : kAllZero;
}

std::span<const float> CollectiveMember::source(std::uint32_t round, std::uint32_t chunk) const {
    const Vector &vector = vectors_[round - vectors_.front().round];
    if (vector.part == Part::nothing || chunk >= vector.exponents.size())
        return {};
    return piece<const float>(vector, chunk);
}

bool CollectiveMember::pack_anew(std::uint32_t, std::uint32_t, std::int16_t exponent,
                                 std::span<const float> source, std::span<std::uint64_t> lanes) {
    return pack_block(options_.format, options_.workers, exponent, source,
                      lanes.first(lanes_for(options_.format, source.size()))) == 0;
}

// Returns the exponent. Packs the data, too, where it fits the exponent that all workers presumably
// guess.
std::int16_t CollectiveMember::pack_exponent(const Vector &vector, std::uint32_t number,
                                             std::span<std::uint64_t> lanes) const {
    const auto in = piece<const float>(vector, number);
    const std::int16_t exponent = exponent_of(in);
    if (!vector.guesses)
        return exponent;
    const std::int16_t guess =
        guess_after(history_.last(vector.whole, number), options_.guess_bits);
    if (guess != kNoGuess && exponent <= guess)
        pack_block(options_.format, options_.workers, guess, in,
                   lanes.first(lanes_for(options_.format, in.size())));
    lanes.back() = say_guess(guess);
    return exponent;
}

// Of floats, only a vector that guesses has as many chunks of exponents as of data (cut_floats()),
// or the range of a long one, whose exponents come without data.
bool CollectiveMember::spares(const RoundResult &result, std::span<const std::uint64_t> lanes,
                              std::uint32_t lag) const {
    return may_guess(options_.format, data_lanes()) && result.chunk < lag &&
           result.chunks == 2 * lag &&
           is_good_guess(agreed_guess(lanes.back(), result.count), result.exponent,
                         options_.guess_bits);
}

// Whether it fits: others may have agreed on the exponent without this member. Cut down to that,
// its part would be in the sum, and nobody but this member would know.
bool CollectiveMember::pack_piece(const Vector &vector, std::uint32_t number,
                                  std::span<std::uint64_t> lanes) const {
    if (vector.element == Element::i64) {
        const auto in = piece<const std::int64_t>(vector, number);
        std::ranges::copy(std::as_bytes(in), std::as_writable_bytes(lanes).begin());
    } else if (vector.element == Element::i32) {
        const auto in = piece<const std::int32_t>(vector, number);
        if (pairs_integers())
            pack_pairs(in, lanes);
        else
            std::ranges::transform(in, lanes.begin(), wide);
    } else if (vector.exponents.empty()) {
        const auto in = piece<const float>(vector, number);
        std::ranges::copy(std::as_bytes(in), std::as_writable_bytes(lanes).begin());
    } else {
        const auto in = piece<const float>(vector, number);
        return pack_block(options_.format, options_.workers, vector.exponents[number], in,
                          lanes.first(lanes_for(options_.format, in.size()))) == 0;
    }
    return true;
}

void CollectiveMember::unpack_piece(Vector &vector, std::uint32_t number,
                                    std::span<const std::uint64_t> lanes, std::int16_t packed_by) {
    if (vector.element == Element::i64) {
        const auto out = piece<std::int64_t>(vector, number);
        std::ranges::copy(std::as_bytes(lanes).first(out.size_bytes()),
                          std::as_writable_bytes(out).begin());
    } else if (vector.element == Element::i32) {
        const auto out = piece<std::int32_t>(vector, number);
        if (!(pairs_integers() ? unpack_pairs(lanes, out) : unpack_singles(lanes, out)))
            is_wrong(vector,
                     "a sum of int32 in round " + std::to_string(vector.round) +
                         " doesn't fit into 32 bits",
                     "give int64, at every worker");
    } else if (vector.exponents.empty()) {
        const auto out = piece<float>(vector, number);
        std::ranges::copy(std::as_bytes(lanes).first(out.size_bytes()),
                          std::as_writable_bytes(out).begin());
        vector.report.not_finite += static_cast<std::uint64_t>(
            std::ranges::count_if(out, [](float element) { return element != element; }));
    } else {
        const auto out = piece<float>(vector, number);
        unpack_block(options_.format, options_.workers, packed_by,
                     lanes.first(lanes_for(options_.format, out.size())), out);
        vector.report.not_finite += packed_by == kNotFinite ? out.size() : 0;
    }
}

// The exponents of this vector are the guesses for the next one of its length.
void CollectiveMember::learn_exponent(Vector &vector, std::uint32_t number, std::int16_t exponent) {
    vector.exponents[number] = exponent;
    if (++vector.agreed == vector.pieces && vector.guesses)
        history_.remember(vector.whole, vector.exponents);
}

// Puts the result's exponent and sum into the vector.
bool CollectiveMember::unpack(Vector &vector, const RoundResult &result,
                              std::span<const std::uint64_t> lanes) {
    std::uint32_t number = result.chunk - vector.lag; // wraps where the chunk brings no piece
    std::int16_t packed_by = 0;
    if (result.chunk >= vector.lag) {
        packed_by = vector.exponents.empty() ? std::int16_t{0} : vector.exponents[number];
    } else if (vector.guesses && spares(result, lanes, vector.lag)) {
        number = result.chunk;
        packed_by =
            result.exponent == kNotFinite ? kNotFinite : agreed_guess(lanes.back(), result.count);
    }
    if (result.chunk < vector.exponents.size())
        learn_exponent(vector, result.chunk, result.exponent);
    if (number >= vector.pieces)
        return false;
    unpack_piece(vector, number, lanes, packed_by);
    if (vector.combine == Combine::mean)
        for (float &element : piece<float>(vector, number))
            element /= static_cast<float>(result.count);
    return true;
}

// All members find the same, as all have the same results: each vector fails at all or at none, and
// the next one may be summed.
void CollectiveMember::is_wrong(Vector &vector, std::string why, std::string hint) const {
    if (!vector.wrong)
        vector.wrong = Error{.operation = "sum vectors of",
                             .object = "job " + std::to_string(options_.job),
                             .reason = std::move(why),
                             .hint = std::move(hint)};
}

// Each worker's share of the range is by the number of workers: of more no sum is sure to fit.
bool CollectiveMember::has_too_many(const RoundResult &result) const {
    return result.count > options_.workers;
}

void CollectiveMember::take(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    Vector &vector = vector_of(result.round);
    const bool has_sum = unpack(vector, result, lanes);
    report(vector, result, has_sum);
    vector.left--;
    if (!has_sum || result.chunk >= vector.lag)
        return;
    vector.left--;
    vector.report.chunks--;
    vector.report.spared++;
}

// The piece that came with the chunk itself is a sum of its own.
void CollectiveMember::take_anew(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    Vector &vector = vector_of(result.round);
    vector.agreed--;
    if (result.chunk >= vector.lag) {
        learn_exponent(vector, result.chunk, result.exponent);
    } else if (unpack(vector, result, lanes)) {
        report(vector, result, true);
        vector.left--;
    }
}

void CollectiveMember::report(Vector &vector, const RoundResult &result, bool has_sum) {
    if (has_too_many(result))
        is_wrong(vector,
                 "a sum of round " + std::to_string(result.round) + " has contributions of " +
                     std::to_string(result.count) +
                     " workers, and this one was told that there are " +
                     std::to_string(options_.workers),
                 "say how many workers the job has, of all nodes, at every worker");
    vector.report.least_count = std::min(vector.report.least_count, result.count);
    vector.report.partial += result.partial ? 1 : 0;
    vector.report.late += result.late ? 1 : 0;
    if (!result.late || !has_sum)
        return;
    const std::uint32_t number = result.chunk - (result.chunk < vector.lag ? 0 : vector.lag);
    const ElementRange at = {number * vector.each, elements_of(vector, number)};
    vector.report.left_out += at.count;
    vector.report.left_out_at.push_back(at);
}

void CollectiveMember::miss(std::uint32_t round, std::uint32_t chunk) {
    Vector &vector = vector_of(round);
    if (chunk < vector.exponents.size()) {
        vector.unknown.resize(vector.pieces);
        vector.unknown[chunk] = true;
        learn_exponent(vector, chunk, kNotFinite); // the sum has no meaning here
        vector.left -= vector.guesses ? 1 : 0;
    }
    vector.missed++;
    vector.left--;
}

void CollectiveMember::miss_anew(std::uint32_t round, std::uint32_t chunk) {
    Vector &vector = vector_of(round);
    vector.left++; // the chunk itself was taken
    vector.agreed--;
    miss(round, chunk);
}

// ---- sums of others ----
//
// Sums that others have without this worker come by themselves: a node gives each member all. The
// newest is kept whole, so that a worker that is behind needn't ask for what the node has given up
// by then.

void CollectiveMember::overhear(std::size_t elements) {
    overheard_ = elements;
    heard_ = {};
}

CollectiveMember::Heard *CollectiveMember::newest_heard() {
    Heard *newest = nullptr;
    for (Heard &each : heard_)
        if (each.is_whole() && each.generation == child_->generation() &&
            !olaf_is_before(each.vector.round, child_->next_round()) &&
            (newest == nullptr || olaf_is_before(newest->vector.round, each.vector.round)))
            newest = &each;
    return newest;
}

// The place where the result's vector is put together. Null: the vector is of no use.
CollectiveMember::Heard *CollectiveMember::heard_of(const RoundResult &result) {
    const FloatPieces pieces = cut(Element::f32, overheard_);
    const VectorKind kind = kind_of({.elements = overheard_,
                                     .pieces = pieces.pieces,
                                     .each = pieces.each,
                                     .guesses = pieces.guesses});
    Heard *const whole = newest_heard();
    if (result.chunks != pieces.pieces + pieces.lag || !adds_up(result.kind, kind) ||
        (whole != nullptr && olaf_is_before(result.round, whole->vector.round)))
        return nullptr;
    const auto is_current = [&](const Heard &each) {
        return !each.sum.empty() && each.generation == result.generation;
    };
    Heard *place = nullptr; // the one to replace: of no use, or the oldest
    for (Heard &each : heard_) {
        if (is_current(each) && each.vector.round == result.round)
            return &each;
        if (&each == whole || (place != nullptr && !is_current(*place)))
            continue;
        if (place == nullptr || !is_current(each) ||
            olaf_is_before(each.vector.round, place->vector.round))
            place = &each;
    }
    if (is_current(*place) && olaf_is_before(result.round, place->vector.round))
        return nullptr;
    place->generation = result.generation;
    place->chunks.assign(result.chunks, false);
    place->sum.resize(overheard_);
    place->vector = {.round = result.round,
                     .data = place->sum.data(),
                     .elements = overheard_,
                     .pieces = pieces.pieces,
                     .lag = pieces.lag,
                     .each = pieces.each,
                     .whole = overheard_,
                     .guesses = pieces.guesses,
                     .left = result.chunks,
                     .exponents = std::vector<std::int16_t>(pieces.lag == 0 ? 0 : pieces.pieces)};
    return place;
}

// A piece whose exponent was lost can't be unpacked: that vector never becomes whole.
void CollectiveMember::overhear(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    Heard *const heard = overheard_ == 0 ? nullptr : heard_of(result);
    if (heard == nullptr || heard->chunks[result.chunk] || has_too_many(result))
        return;
    Vector &vector = heard->vector;
    if (vector.lag != 0 && result.chunk >= vector.lag && !heard->chunks[result.chunk - vector.lag])
        return;
    const bool has_sum = unpack(vector, result, lanes);
    heard->chunks[result.chunk] = true;
    vector.left--;
    if (!has_sum || result.chunk >= vector.lag)
        return;
    heard->chunks[result.chunk + vector.lag] = true; // spared
    vector.left--;
}

bool CollectiveMember::take_overheard(std::span<float> vector) {
    Heard *const newest = newest_heard();
    if (broken_ || !vectors_.empty() || newest == nullptr || newest->sum.size() != vector.size())
        return false;
    std::ranges::copy(newest->sum, vector.begin());
    while (!olaf_is_before(newest->vector.round, child_->next_round()))
        child_->skip(newest->vector.pieces + newest->vector.lag);
    return true;
}

} // namespace olaf
