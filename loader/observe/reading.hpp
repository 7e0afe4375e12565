// SPDX-License-Identifier: BSD-2-Clause
// All that is read of a queue and of its host at one moment.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/attachment/addresses.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/tracepoints.hpp"
#include "loader/datapath/aom.hpp"
#include "loader/datapath/jobs.hpp"
#include "loader/datapath/snapshot.hpp"
#include "loader/datapath/spells.hpp"

namespace olaf {

// Whether a queue is still the one that was opened: maps that are held open outlive a detach, and
// say nothing of it.

class PinWatch {
  public:
    explicit PinWatch(const Attachment &attachment)
        : device_(attachment.device), path_(attachment.place.path(pin::record)),
          inode_(inode(path_)) {}

    /// Fails with ENOENT once it was detached, also if another was attached since.
    [[nodiscard]] Result<void> check() const {
        if (inode_ != 0 && inode(path_) == inode_)
            return {};
        return fail("read the queue on", device_, ENOENT, "olaf status lists what is attached",
                    "it was detached");
    }

    /// Tells one attachment from every other, also from a later one on the same device.
    [[nodiscard]] std::string identity() const { return path_ + "#" + std::to_string(inode_); }

  private:
    /// 0 if it isn't there.
    static std::uint64_t inode(const std::string &path) {
        struct stat status {};
        return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
    }
    std::string device_, path_;
    std::uint64_t inode_;
};

// What a queue's host does that its maps don't tell of: devices, hooks, addresses, memory.

struct HostState {
    std::uint64_t memory_bytes = 0; ///< what the maps take
    OwnDifference own;
    std::string dead;          ///< why the queue isn't alive, in words; "": it is
    std::string other_program; ///< of somebody else's, where the queue's XDP program was; "": none
    std::string other_removal; ///< the command that takes that one off
    std::optional<std::uint64_t> other_age_ns; ///< how long ago that was loaded; nothing: not known
    std::string device_obstacle; ///< "in is down", "in has no carrier"; "": none
    std::string output;          ///< name of the output now; "": local, or it has gone
    std::string output_obstacle; ///< the same of the output, or that it has gone
    bool output_program = false; ///< the output has an XDP program for the queue's sake
    std::string drain_obstacle;  ///< the same of an end of the drain
    std::uint64_t frames_unseen = 0; ///< that the device has received since attach, if no program saw any
    /// Programs that aren't on their hooks any more. Not known, and empty, without CAP_SYS_ADMIN.
    std::vector<std::string> missing_programs;
    std::vector<std::string> allowed; ///< sources that it takes updates from; none: everybody
    std::vector<std::string> chains;  ///< netfilter's, that forwarded updates pass by
    std::uint64_t wall_ns = 0;        ///< CLOCK_REALTIME, when this was read
};

/// As it is now. Needs no more than the right to read the pins.
Result<HostState> read_host_state(const Attachment &attachment);

/// What the kernel has counted since the queue was attached.
struct Counted {
    Snapshot snapshot;
    std::optional<olaf_losses> losses; ///< nothing: not watched
    /// Frames whose end nobody could look at (attachment/tracepoints.hpp), since attach.
    std::optional<std::uint64_t> deaths_unseen;
};
Result<Counted> read_counted(const Attachment &attachment);

/// The same and the ages, since attach or the last `olaf reset`.
struct QueueReading : Counted {
    AomReading aom;
    std::vector<JobReading> jobs; ///< since each was set
    Spells spells; ///< of troubles
    std::uint64_t reset_ns = 0; ///< when that was, CLOCK_MONOTONIC; 0: never

    /// Of a queue in a card; nothing: it is in the kernel.
    struct OfCard {
        std::string lost;    ///< why nothing of it is known; "": it is there
        bool queues = false; ///< it takes updates in
    };
    std::optional<OfCard> card = {};
    [[nodiscard]] bool lost() const { return card && !card->lost.empty(); }

    /// Its counters, for the tables of counters.hpp. They are this object's: keep it.
    [[nodiscard]] Numbers numbers() const;
};

Result<QueueReading> read_queue(const Attachment &attachment);

// Everything that the observing commands show of a queue, read in one go. What `olaf status`
// says comes from the same readers.

/// What `olaf status` reads, and of which attachment.
struct Reading : QueueReading {
    Attachment attachment;
    HostState host;
    std::string identity; ///< of the attachment: another one's counters start anew
};

/// Reads a queue for as long as it is the same one. Needs CAP_BPF and the right to read the pins,
/// no more.
class QueueReader {
  public:
    explicit QueueReader(Attachment attachment)
        : attachment_(std::move(attachment)), watch_(attachment_) {}

    /// Fails with ENOENT when the queue was detached since, and where its card is lost.
    Result<Reading> read();
    /// The same, and of a lost card what is known without it.
    Result<Reading> read_even_lost();

  private:
    Attachment attachment_;
    PinWatch watch_;
};

} // namespace olaf
