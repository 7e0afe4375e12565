// SPDX-License-Identifier: BSD-2-Clause
#include "bar.hpp"

#include <endian.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <utility>

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

} // namespace olaf
