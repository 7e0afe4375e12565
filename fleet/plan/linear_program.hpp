// SPDX-License-Identifier: BSD-2-Clause
// A linear program: the least cost of columns that are at least 0, under rows of sums.
#pragma once

#include <cstdint>
#include <vector>

#include "olaf/result.hpp"

namespace olaf::fleet {

struct LinearProgram {
    std::vector<double> costs, most; ///< of each column: its cost, and what it may be at most
    struct Term {
        int column;
        double factor;
    };
    struct Row {
        double least, most; ///< of the sum of its terms
        std::vector<Term> terms;
    };
    std::vector<Row> rows;

    int column(double cost, double most) {
        costs.push_back(cost);
        this->most.push_back(most);
        return static_cast<int>(costs.size()) - 1;
    }
};

/// The values of the columns; nothing where it took more than so many seconds. By Clp's dual
/// simplex.
Result<std::vector<double>> solve(const LinearProgram &program, double seconds);

} // namespace olaf::fleet
