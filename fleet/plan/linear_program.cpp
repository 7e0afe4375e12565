// SPDX-License-Identifier: BSD-2-Clause
#include "linear_program.hpp"

#include <coin/ClpSimplex.hpp>
#include <coin/ClpSolve.hpp>

namespace olaf::fleet {

Result<std::vector<double>> solve(const LinearProgram &program, double seconds) {
    std::vector<CoinBigIndex> starts{0};
    std::vector<int> columns;
    std::vector<double> factors, least, most;
    for (const auto &row : program.rows) {
        for (const auto &term : row.terms) {
            columns.push_back(term.column);
            factors.push_back(term.factor);
        }
        starts.push_back(static_cast<CoinBigIndex>(columns.size()));
        least.push_back(row.least);
        most.push_back(row.most);
    }
    const auto rows = static_cast<int>(program.rows.size());
    const auto width = static_cast<int>(program.costs.size());
    const CoinPackedMatrix matrix(false, width, rows, static_cast<CoinBigIndex>(columns.size()),
                                  factors.data(), columns.data(), starts.data(), nullptr);
    const std::vector<double> zeros(program.costs.size());
    ClpSimplex model;
    model.setLogLevel(0);
    model.loadProblem(matrix, zeros.data(), program.most.data(), program.costs.data(), least.data(),
                      most.data());
    model.setMaximumSeconds(seconds);
    // The dual simplex, since Clp's barrier never ended on a fat-tree of 74 ports; and what
    // presolve takes out first is most of such a program.
    model.setPerturbation(
        50); // as the program clp has it: else it stalls where many ways are as long
    ClpSolve how;
    how.setSolveType(ClpSolve::useDual);
    how.setPresolveType(ClpSolve::presolveOn);
    model.initialSolve(how);
    if (model.status() != 0)
        return fail("solve", "the linear program", 0, "give a longer --time-limit",
                    model.status() == 3 ? "the time ran out" : "Clp found no solution");
    const auto *values = model.getColSolution();
    return std::vector<double>(values, values + width);
}

} // namespace olaf::fleet
