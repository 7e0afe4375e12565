// SPDX-License-Identifier: BSD-2-Clause
// The terminal, taken over for as long as an object lives and then given back as it was.
#pragma once

#include <memory>
#include <vector>

#include "olaf/result.hpp"
#include "top_screen.hpp"

namespace olaf {

enum class Key { none, quit, left, right, up, down, page_up, page_down, home, reverse, clock };

class Terminal {
  public:
    static Result<std::unique_ptr<Terminal>> take();
    ~Terminal();
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;

    [[nodiscard]] int lines() const;
    [[nodiscard]] int columns() const;
    /// Whether its character set has more than ASCII.
    [[nodiscard]] bool unicode() const { return unicode_; }

    void draw(const std::vector<Line> &screen);
    /// Takes the window's new size over, after SIGWINCH.
    void resize();
    /// The next key pressed; none at once if there isn't any.
    Key key();

  private:
    Terminal(void *screen, bool unicode) : screen_(screen), unicode_(unicode) {}
    void *screen_; ///< curses' SCREEN
    bool unicode_;
};

} // namespace olaf
