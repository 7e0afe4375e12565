// SPDX-License-Identifier: BSD-2-Clause
// The columns of `olaf top`: what each shows, and how rows are ordered by it.
#pragma once

#include <string>
#include <vector>

#include "cluster_rows.hpp"

namespace olaf {

struct Column {
    const char *key;   ///< for --sort
    const char *title; ///< as wide as `width` at most
    int width;
    double (*value)(const ClusterRow &row, AgeClock clock);
    std::string (*text)(const ClusterRow &row, AgeClock clock);
    bool descends; ///< what is worth looking at is at the high end
};

const std::vector<Column> &top_columns();
std::vector<std::string> column_keys();

/// Index of the column of that key; the first if there is none.
std::size_t column_by_key(const std::string &key);

/// Orders rows by a column, equal ones by cluster.
void sort_rows(std::vector<ClusterRow> &rows, std::size_t column, bool reversed, AgeClock clock);

} // namespace olaf
