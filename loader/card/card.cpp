// SPDX-License-Identifier: BSD-2-Clause
#include "card.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "olaf/try.hpp"

namespace olaf {

std::string mapping_remedy(int code) {
    if (code == EPERM)
        return "kernel lockdown forbids it: boot without Secure Boot, or with lockdown=none";
    if (code == EINVAL || code == EBUSY)
        return "CONFIG_IO_STRICT_DEVMEM forbids it while a driver holds the device: boot with "
               "iomem=relaxed, or let the registers have a function of their own without a driver";
    if (code == EACCES)
        return "run as root";
    return "";
}

Result<Bar> Bar::map(const std::string &path) {
    // Device memory isn't to be cached: O_SYNC asks for that where the file system doesn't know.
    Fd fd(::open(path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC));
    if (!fd)
        return fail("open the registers", path, errno, mapping_remedy(errno));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0)
        return fail("inspect the registers", path, errno);
    const auto bytes = static_cast<std::size_t>(status.st_size);
    if (bytes < sizeof(std::uint32_t))
        return fail("map the registers", path, 0, "name the file of another BAR", "it is empty");
    void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED)
        return fail("map the registers", path, errno, mapping_remedy(errno));
    return Bar(path, std::move(fd), at, bytes);
}

Bar::Bar(Bar &&other) noexcept
    : path_(std::move(other.path_)), fd_(std::move(other.fd_)),
      at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}

Bar::~Bar() {
    if (at_ != nullptr)
        ::munmap(at_, bytes_);
}

std::uint32_t Bar::read(std::size_t offset) const {
    const auto *words = static_cast<const volatile std::uint32_t *>(at_);
    const std::uint32_t value = words[offset / sizeof *words];
    std::atomic_thread_fence(std::memory_order_acquire);
    return le32toh(value);
}

void Bar::write(std::size_t offset, std::uint32_t value) const {
    auto *words = static_cast<volatile std::uint32_t *>(at_);
    std::atomic_thread_fence(std::memory_order_release);
    words[offset / sizeof *words] = htole32(value);
}

void Bar::order() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

Bar::Turn::Turn(const Bar &bar) : fd_(bar.fd_.get()) {
    while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR)
        ;
}

Bar::Turn::~Turn() {
    ::flock(fd_, LOCK_UN);
}

namespace {

constexpr std::uint32_t all_ones = 0xffffffff;
constexpr std::size_t opennic_box = 0x100000; ///< of the 250 MHz clock, in BAR 2
/// Longer than the second after which a card that passes no fence is lost: hosts are busy.
constexpr std::chrono::seconds patience{3};
constexpr std::uint32_t ready = 1, admits = 2, refused = 4, nothing_waits = 8; ///< of STATUS

std::unexpected<Error> lost(const std::string &path, const std::string &why) {
    return fail("use the card", path, ENODEV, "look at the card and its slot; olaf detach cleans up",
                "it is lost: " + why);
}

/// Whether it comes true in time.
template <class Test> bool comes(const Test &test) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!test()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

std::unexpected<Error> too_small(const Bar &bar) {
    return fail("use the card", bar.path(), 0, "name the file of another BAR: OpenNIC's is resource2",
                fmt::format("the BAR is too small: it has {} bytes, and the registers take {}",
                            bar.bytes(), OLAF_CARD_WINDOW));
}

/// Where in the file the queue's registers begin; nothing: nowhere.
std::optional<std::size_t> find_start(const Bar &bar) {
    for (const std::size_t start : {opennic_box, std::size_t{0}})
        if (bar.bytes() >= start + OLAF_CARD_WINDOW &&
            bar.read(start + OLAF_REGISTER_MAGIC) == OLAF_CARD_MAGIC)
            return start;
    return {};
}

} // namespace

bool is_lost(const Error &error) {
    return error.code == ENODEV;
}

Result<Card> Card::open(const std::string &path) {
    auto bar = OLAF_TRY(Bar::map(path));
    if (bar.bytes() < OLAF_CARD_WINDOW)
        return too_small(bar);
    const auto start = find_start(bar);
    const auto magic = bar.read(OLAF_REGISTER_MAGIC);
    if (!start && magic == all_ones)
        return lost(path, "its registers read as all ones");
    if (!start)
        return fail("use the card", path, 0,
                    "load a bitstream with the queue (docs/hardware.md), or name the file of another BAR",
                    fmt::format("no queue is in it: its magic is {:#010x}, not {:#010x}", magic,
                                std::uint32_t{OLAF_CARD_MAGIC}));
    Card card(std::move(bar), *start);
    if (const auto layout = card.get(OLAF_REGISTER_LAYOUT); layout != OLAF_CARD_LAYOUT)
        return fail("use the card", path, 0, "use the olaf that its bitstream was built with",
                    fmt::format("its registers have layout {}, this olaf knows layout {}", layout,
                                OLAF_CARD_LAYOUT));
    card.capabilities_ = {.places = card.get(OLAF_REGISTER_PLACES),
                          .clusters = card.get(OLAF_REGISTER_CLUSTERS),
                          .slots = card.get(OLAF_REGISTER_SLOTS),
                          .lanes = card.get(OLAF_REGISTER_LANES),
                          .features = card.get(OLAF_REGISTER_FEATURES)};
    const auto &can = card.capabilities_;
    constexpr auto most_clusters =
        (OLAF_REGISTER_SLOT_COUNTER - OLAF_REGISTER_RULE) / OLAF_REGISTER_STRIDE_RULE;
    constexpr auto most_slots =
        (OLAF_CARD_WINDOW - OLAF_REGISTER_SLOT_COUNTER) / OLAF_REGISTER_STRIDE_SLOT_COUNTER;
    if (can.places == 0 || can.clusters == 0 || can.slots == 0 || can.lanes == 0 ||
        can.clusters > most_clusters || can.slots > most_slots)
        return fail("use the card", path, 0, "load its bitstream anew",
                    fmt::format("its capabilities make no sense: {} places, {} clusters, {} slots, "
                                "{} lanes",
                                can.places, can.clusters, can.slots, can.lanes));
    return card;
}

std::uint64_t Card::get64(std::size_t at) const {
    const std::uint64_t low = get(at); // first: it keeps the high word
    return low | std::uint64_t{get(at + 4)} << 32;
}

void Card::put64(std::size_t at, std::uint64_t value) const {
    put(at, static_cast<std::uint32_t>(value));
    put(at + 4, static_cast<std::uint32_t>(value >> 32));
}

Result<void> Card::check_there() const {
    const auto magic = get(OLAF_REGISTER_MAGIC);
    if (magic == OLAF_CARD_MAGIC)
        return {};
    return lost(path(), magic == all_ones ? "its registers read as all ones"
                                          : fmt::format("its magic has become {:#010x}", magic));
}

Result<void> Card::fence() const {
    const auto number = get(OLAF_REGISTER_FENCED) + 1;
    Bar::order();
    put(OLAF_REGISTER_FENCE, number);
    const bool passed = comes([&] {
        return get(OLAF_REGISTER_FENCED) == number || get(OLAF_REGISTER_MAGIC) != OLAF_CARD_MAGIC;
    });
    OLAF_TRY(check_there());
    if (!passed)
        return lost(path(), "it doesn't answer");
    return {};
}

Result<std::uint32_t> Card::status() const {
    OLAF_TRY(fence());
    const auto value = get(OLAF_REGISTER_STATUS);
    // In this order: a card that goes in between leaves ones in the first.
    OLAF_TRY(check_there());
    return value;
}

Result<bool> Card::status_bit(std::uint32_t bit) const {
    const Bar::Turn turn(bar_);
    const auto value = OLAF_TRY(status());
    return (value & bit) != 0;
}

Result<bool> Card::queues() const {
    return status_bit(admits);
}

Result<bool> Card::empty() const {
    return status_bit(nothing_waits);
}

Result<std::uint32_t> Card::queue_length() const {
    const Bar::Turn turn(bar_);
    OLAF_TRY(take_snapshot());
    const auto length = get(OLAF_REGISTER_QUEUE_LENGTH);
    OLAF_TRY(check_there());
    return length;
}

Result<void> Card::commit() const {
    if (auto done = fence(); !done) // the configuration first
        return done;
    put(OLAF_REGISTER_COMMIT, 1);
    const auto now = OLAF_TRY(status());
    if ((now & refused) != 0)
        return fail("configure the card", path(), 0, "olaf doctor says what it can",
                    "it refuses the configuration");
    return {};
}

Result<void> Card::configure(const olaf_config &config, const std::optional<CardOwn> &own) {
    const Bar::Turn turn(bar_);
    if (!comes([&] { return (get(OLAF_REGISTER_STATUS) & ready) != 0; }))
        return lost(path(), "it doesn't become ready");
    put(OLAF_REGISTER_CONTROL,
        1U | ((config.flags & OLAF_CONFIG_VERIFY) != 0 ? 2U : 0U) | (own ? 4U : 0U));
    put(OLAF_REGISTER_PORT, ntohs(config.port_be));
    put(OLAF_REGISTER_QUEUE_CAPACITY, config.queue_capacity);
    put(OLAF_REGISTER_MAX_CLUSTERS, config.max_clusters);
    put(OLAF_REGISTER_MAX_SEGMENTS, config.max_segments);
    put(OLAF_REGISTER_MAX_LANES, config.max_lanes);
    put(OLAF_REGISTER_MTU, config.egress_mtu);
    put(OLAF_REGISTER_FRAME_OVERHEAD, config.frame_overhead);
    put64(OLAF_REGISTER_NS_PER_BYTE_Q24, config.ns_per_byte_q24);
    put(OLAF_REGISTER_DRAIN_INTERVAL, static_cast<std::uint32_t>(config.drain_interval_ns));
    put64(OLAF_REGISTER_ACTIVITY_WINDOW, config.activity_window_ns);
    for (std::size_t i = 0; i < std::tuple_size_v<CardOwn>; i++)
        put(OLAF_REGISTER_OWN_0 + 4 * i, own ? le32toh((*own)[i]) : 0);
    return commit();
}

Result<void> Card::admit(bool yes) {
    const Bar::Turn turn(bar_);
    put(OLAF_REGISTER_CONTROL, (get(OLAF_REGISTER_CONTROL) & ~1U) | (yes ? 1U : 0U));
    return commit();
}

Result<olaf_rule> Card::rule(std::uint32_t cluster) const {
    const auto at =
        OLAF_REGISTER_RULE + std::size_t{cluster} * OLAF_REGISTER_STRIDE_RULE;
    const olaf_rule rule{.policy = get(at),
                         .max_count = get(at + 4),
                         .reward_threshold = static_cast<std::int64_t>(get64(at + 8))};
    OLAF_TRY(check_there());
    return rule;
}

Result<void> Card::set_rules(std::uint32_t first, std::uint32_t last, const olaf_rule &rule) {
    const Bar::Turn turn(bar_); // three of a rule's words wait for the fourth
    for (auto cluster = first; cluster <= last; cluster++) {
        const auto at =
            OLAF_REGISTER_RULE + std::size_t{cluster} * OLAF_REGISTER_STRIDE_RULE;
        put(at, rule.policy);
        put(at + 4, rule.max_count);
        put(at + 8, static_cast<std::uint32_t>(rule.reward_threshold));
        Bar::order();
        put(at + 12, static_cast<std::uint32_t>(
                         static_cast<std::uint64_t>(rule.reward_threshold) >> 32));
    }
    return fence();
}

Result<void> Card::take_snapshot() const {
    Bar::order();
    put(OLAF_REGISTER_SNAPSHOT, 1);
    return fence();
}

void Card::read_counters(Snapshot &into) const {
    const auto count = [&](unsigned place) {
        return get64(OLAF_REGISTER_COUNTER + std::size_t{place} * OLAF_REGISTER_STRIDE_COUNTER);
    };
#define SLOT(field, ...) into.slots.field = count(OLAF_CARD_##field);
    OLAF_SLOT_COUNTER_LIST(SLOT)
#undef SLOT
    into.counters.received = count(OLAF_CARD_received);
    into.counters.updates_in = count(OLAF_CARD_updates_in);
    for (unsigned i = 0; i < OLAF_BYPASS_REASONS; i++)
        into.counters.bypassed[i] = count(OLAF_CARD_bypassed + i);
    for (unsigned i = 0; i < OLAF_MALFORMED_REASONS; i++)
        into.counters.malformed[i] = count(OLAF_CARD_malformed + i);
    for (unsigned i = 0; i < OLAF_NOT_ALLOWED_REASONS; i++)
        into.counters.not_allowed[i] = count(OLAF_CARD_not_allowed + i);
    into.acks.foreign = count(OLAF_CARD_acks_foreign);
    into.acks.recognised = count(OLAF_CARD_acks_recognised);
    into.acks.stamped = count(OLAF_CARD_acks_stamped);
    into.acks.kept = count(OLAF_CARD_acks_kept);
    static_assert(OLAF_CARD_COUNTERS == OLAF_CARD_SLOT_COUNTERS + 2 + OLAF_BYPASS_REASONS +
                                            OLAF_MALFORMED_REASONS + OLAF_NOT_ALLOWED_REASONS + 4,
                  "every counter of a card is read");
}

Result<Snapshot> Card::snapshot(const olaf_config &config) const {
    Snapshot snapshot;
    snapshot.clusters.resize(config.max_clusters);
    snapshot.waiting.resize(config.max_clusters);
    {
        const Bar::Turn turn(bar_); // another's snapshot would come between two words
        OLAF_TRY(take_snapshot());
        snapshot.levels.queue_length = get(OLAF_REGISTER_QUEUE_LENGTH);
        snapshot.active_clusters = get(OLAF_REGISTER_ACTIVE_CLUSTERS);
        snapshot.levels.updates_waiting = get64(OLAF_REGISTER_UPDATES_WAITING);
        read_counters(snapshot);
        const auto slots = config.max_clusters * config.max_segments;
        for (std::uint32_t slot = 0; slot < slots; slot++) {
            const auto at = OLAF_REGISTER_SLOT_COUNTER +
                            std::size_t{slot} * OLAF_REGISTER_STRIDE_SLOT_COUNTER;
#define SLOT(field, ...)                                                                           \
    snapshot.clusters[slot / config.max_segments].field +=                                         \
        get64(at + 8 * std::size_t{OLAF_CARD_SLOT_##field});
            OLAF_SLOT_COUNTER_LIST(SLOT)
#undef SLOT
        }
    }
    // A card that went meanwhile has read as ones, which must not be taken for counts.
    OLAF_TRY(check_there());
    return snapshot;
}

} // namespace olaf
