// SPDX-License-Identifier: BSD-2-Clause
#include "terminal.hpp"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// Its macros would change everything that follows.
#define NCURSES_NOMACROS 1
#include <ncurses.h>

namespace olaf {
namespace {

constexpr short warning_pair = 1;

attr_t attributes(Look look) {
    switch (look) {
    case Look::dim:
        return A_DIM;
    case Look::strong:
        return A_BOLD;
    case Look::heading:
        return A_REVERSE;
    case Look::chosen:
        return A_REVERSE | A_BOLD | A_UNDERLINE;
    case Look::warning:
        return static_cast<attr_t>(COLOR_PAIR(warning_pair)) | A_BOLD;
    case Look::plain:
        break;
    }
    return A_NORMAL;
}

} // namespace

Result<std::unique_ptr<Terminal>> Terminal::take() {
    if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0)
        return fail("show a live table on", "standard output", 0,
                    "run it in one; olaf top --json and olaf status are for scripts",
                    "it is not a terminal");
    std::setlocale(LC_CTYPE, "");
    const char *kind = std::getenv("TERM");
    SCREEN *screen = newterm(nullptr, stdout, stdin);
    if (screen == nullptr)
        return fail("use the terminal", kind != nullptr ? kind : "", 0,
                    "set TERM to one that terminfo knows, such as xterm",
                    kind != nullptr ? "it is not known here" : "TERM is not set");
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    if (has_colors()) {
        start_color();
        use_default_colors();
        init_pair(warning_pair, COLOR_RED, -1);
    }
    const bool unicode = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
    return std::unique_ptr<Terminal>(new Terminal(screen, unicode));
}

Terminal::~Terminal() {
    endwin();
    delscreen(static_cast<SCREEN *>(screen_));
}

int Terminal::lines() const {
    return LINES;
}

int Terminal::columns() const {
    return COLS;
}

void Terminal::draw(const std::vector<Line> &screen) {
    erase();
    for (std::size_t row = 0; row < screen.size(); row++)
        for (const auto &piece : screen[row]) {
            attrset(static_cast<int>(attributes(piece.look)));
            mvaddstr(static_cast<int>(row), piece.column, piece.text.c_str());
        }
    attrset(A_NORMAL);
    refresh();
}

void Terminal::resize() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clear();
}

Key Terminal::key() {
    switch (getch()) {
    case 'q':
    case 'Q':
        return Key::quit;
    case KEY_LEFT:
    case '<':
        return Key::left;
    case KEY_RIGHT:
    case '>':
        return Key::right;
    case KEY_UP:
    case 'k':
        return Key::up;
    case KEY_DOWN:
    case 'j':
        return Key::down;
    case KEY_PPAGE:
        return Key::page_up;
    case KEY_NPAGE:
    case ' ':
        return Key::page_down;
    case KEY_HOME:
    case 'g':
        return Key::home;
    case 'r':
        return Key::reverse;
    case 'c':
        return Key::clock;
    case KEY_RESIZE:
        return key(); // SIGWINCH has told already
    default:
        return Key::none;
    }
}

} // namespace olaf
