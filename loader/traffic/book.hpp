// SPDX-License-Identifier: BSD-2-Clause
// The model that `olaf send` and `olaf receive` train is a book of what has arrived.
//
// An update of worker w has a one in element 1 + w and zeros elsewhere. A queue adds elements where
// it folds updates, so whatever was folded with what, the elements of a message say how many
// updates of each worker are in it. The receiver adds them up in its weights: element 1 + w counts,
// modulo 2^32, what has arrived of worker w. An answer carries the weights, and so tells the
// sender. Element 0 is never trained and has a mark, by which a sender knows such a model. An
// update of zeros counts nothing and asks for an answer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <olaf/packing.hpp>
#include <olaf/rules.hpp>

namespace olaf {

/// Steps a unit: ones are whole.
inline constexpr double book_scale = 1;

/// Elements of the model of an update of so many lanes, its checksum lane among them.
std::size_t book_elements(Format format, std::size_t lanes);

/// A book without an entry.
std::vector<float> empty_book(std::size_t elements);
bool is_book(std::span<const float> weights);

inline std::size_t book_element(std::uint32_t worker) {
    return std::size_t{1} + worker;
}
/// What has arrived of the worker with that element, modulo 2^32.
std::uint32_t book_entry(std::span<const float> weights, std::size_t element);

/// Enters what a message holds. Returns the number of updates: 0 for one that only asks, and for a
/// segment, which no sender of ours sends.
std::uint64_t enter_into_book(const Contribution &contribution, std::span<float> weights);

} // namespace olaf
