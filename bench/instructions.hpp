// SPDX-License-Identifier: BSD-2-Clause
// Counts the instructions the kernel executes for this thread, where there is a PMU.
#pragma once

#include <cstdint>
#include <optional>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace olaf::bench {

class InstructionCounter {
  public:
    InstructionCounter() {
        perf_event_attr attr{};
        attr.size = sizeof(attr);
        attr.type = PERF_TYPE_HARDWARE;
        attr.config = PERF_COUNT_HW_INSTRUCTIONS;
        attr.disabled = 1;
        attr.exclude_user = 1;
        fd_ = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
    }
    ~InstructionCounter() {
        if (supported())
            close(fd_);
    }
    InstructionCounter(const InstructionCounter &) = delete;
    InstructionCounter &operator=(const InstructionCounter &) = delete;

    /// False in most virtual machines.
    [[nodiscard]] bool supported() const { return fd_ >= 0; }

    void start() {
        if (!supported())
            return;
        ioctl(fd_, PERF_EVENT_IOC_RESET, 0);
        ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0);
    }

    std::optional<std::uint64_t> stop() {
        std::uint64_t count = 0;
        if (!supported())
            return std::nullopt;
        ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0);
        if (read(fd_, &count, sizeof(count)) != sizeof(count))
            return std::nullopt;
        return count;
    }

  private:
    int fd_ = -1;
};

} // namespace olaf::bench
