// SPDX-License-Identifier: BSD-2-Clause
#include "registers.hpp"

#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "olaf/registers.h"

namespace olaf::card {
namespace {

constexpr std::uint32_t word = 4;
/// Accesses between two calls of `meanwhile`.
constexpr unsigned at_once = 16;

enum class Access { ro, rw, wo, sn };
struct One {
    std::uint32_t offset, bits;
    Access access;
};
constexpr One page[] = {
#define ONE(NAME, offset, bits, access, meaning) {offset, bits, Access::access},
    OLAF_REGISTER_LIST(ONE)
#undef ONE
};

/// Calls with the offset of each word of the registers that match.
void each_word(auto &&matches, auto &&call) {
    for (const auto &one : page)
        for (std::uint32_t at = 0; matches(one) && at < one.bits / 8; at += word)
            call(one.offset + at);
}

[[noreturn]] void fail(const std::string &what, const std::string &file) {
    throw std::runtime_error(what + " " + file + ": " + std::strerror(errno));
}

/// The file is this process's for as long as it has it open. flock() is left to its readers.
void claim(int fd, const std::string &file) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return;
    if (errno == EAGAIN || errno == EACCES)
        throw std::runtime_error("another olaf-card has " + file + ": end it, or name another file");
    fail("can't lock", file);
}

} // namespace

Registers::Registers(const std::string &file, Model &model, std::function<void()> meanwhile)
    : model_(model), meanwhile_(std::move(meanwhile)), left_(OLAF_CARD_WINDOW / word, UINT32_MAX) {
    fd_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0)
        fail("can't open", file);
    claim(fd_, file);
    if (ftruncate(fd_, OLAF_CARD_WINDOW) != 0)
        fail("can't give its size to", file);
    void *at = mmap(nullptr, OLAF_CARD_WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at == MAP_FAILED)
        fail("can't map", file);
    words_ = static_cast<volatile std::uint32_t *>(at);
    clusters_ = model_.read(OLAF_REGISTER_CLUSTERS);
    slots_ = model_.read(OLAF_REGISTER_SLOTS);
    store(OLAF_REGISTER_MAGIC, UINT32_MAX);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::uint32_t offset = word; offset < OLAF_CARD_WINDOW; offset += word)
        store(offset, 0);
    for (std::uint32_t cluster = 0; cluster < clusters_; cluster++)
        renew_rule(cluster);
    renew_counters(true);
    renew_page();
    std::atomic_thread_fence(std::memory_order_release);
    store(OLAF_REGISTER_MAGIC, OLAF_CARD_MAGIC);
}

Registers::~Registers() {
    for (std::uint32_t offset = 0; offset < OLAF_CARD_WINDOW; offset += word)
        store(offset, UINT32_MAX);
    munmap(const_cast<std::uint32_t *>(words_), OLAF_CARD_WINDOW);
    close(fd_);
}

std::uint32_t Registers::load(std::uint32_t offset) const { return le32toh(words_[offset / word]); }

void Registers::store(std::uint32_t offset, std::uint32_t value) {
    words_[offset / word] = htole32(value);
    left_[offset / word] = value;
}

bool Registers::changed(std::uint32_t offset) const { return load(offset) != left_[offset / word]; }

void Registers::breathe() {
    if (++accesses_ % at_once == 0)
        meanwhile_();
}

void Registers::apply(std::uint32_t offset) {
    model_.write(offset, load(offset));
    breathe();
}

/// COMMIT and SNAPSHOT, which read as 0. Returns whether it was written.
bool Registers::order(std::uint32_t offset) {
    if (load(offset) == 0)
        return false;
    apply(offset);
    store(offset, 0);
    return true;
}

void Registers::apply_rules() {
    for (std::uint32_t cluster = 0; cluster < clusters_; cluster++) {
        const auto at = OLAF_REGISTER_RULE + OLAF_REGISTER_STRIDE_RULE * cluster;
        bool any = false;
        for (std::uint32_t i = 0; i < OLAF_REGISTER_STRIDE_RULE; i += word)
            any |= changed(at + i);
        if (!any)
            continue;
        // The last word makes all of them take effect, whether it is another or not.
        for (std::uint32_t i = 0; i < OLAF_REGISTER_STRIDE_RULE; i += word)
            apply(at + i);
        renew_rule(cluster);
    }
}

void Registers::renew(std::uint32_t offset) {
    store(offset, model_.read(offset));
    breathe();
}

void Registers::renew_rule(std::uint32_t cluster) {
    for (std::uint32_t i = 0; i < OLAF_REGISTER_STRIDE_RULE; i += word)
        renew(OLAF_REGISTER_RULE + OLAF_REGISTER_STRIDE_RULE * cluster + i);
}

/// The counters of the last snapshot; those of the slots if the sums of theirs aren't what they were.
void Registers::renew_counters(bool all) {
    bool moved = all;
    for (std::uint32_t i = 0; i < OLAF_CARD_COUNTERS; i++)
        for (const auto at : {OLAF_REGISTER_COUNTER + OLAF_REGISTER_STRIDE_COUNTER * i,
                              OLAF_REGISTER_COUNTER + OLAF_REGISTER_STRIDE_COUNTER * i + word}) {
            const auto before = left_[at / word];
            renew(at);
            moved |= i < OLAF_CARD_SLOT_COUNTERS && left_[at / word] != before;
        }
    for (std::uint32_t slot = 0; moved && slot < slots_; slot++)
        for (std::uint32_t i = 0; i < 2 * OLAF_CARD_SLOT_COUNTERS; i++)
            renew(OLAF_REGISTER_SLOT_COUNTER + OLAF_REGISTER_STRIDE_SLOT_COUNTER * slot + word * i);
}

/// All registers but MAGIC and FENCED, which say that the others are there.
void Registers::renew_page() {
    each_word([](const One &one) { return one.offset != OLAF_REGISTER_MAGIC &&
                                          one.offset != OLAF_REGISTER_FENCED; },
              [this](std::uint32_t offset) { renew(offset); });
}

bool Registers::serve() {
    const auto asked = load(OLAF_REGISTER_FENCE);
    if (asked == left_[OLAF_REGISTER_FENCED / word] || load(OLAF_REGISTER_MAGIC) != OLAF_CARD_MAGIC)
        return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    each_word([](const One &one) { return one.access == Access::rw; },
              [this](std::uint32_t offset) {
                  if (changed(offset))
                      apply(offset);
              });
    apply_rules();
    order(OLAF_REGISTER_COMMIT);
    if (order(OLAF_REGISTER_SNAPSHOT))
        renew_counters(false);
    renew_page();
    std::atomic_thread_fence(std::memory_order_release);
    store(OLAF_REGISTER_FENCED, asked);
    return true;
}

} // namespace olaf::card
