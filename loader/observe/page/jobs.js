// SPDX-License-Identifier: BSD-2-Clause
// Jobs, whose members sum in rounds: a line each. Nothing is shown where there is none.
"use strict";

function drawJobs({ jobs }) {
  document.getElementById("jobs-card").hidden = !jobs.length;
  document.getElementById("jobs").replaceChildren(...jobs.map((job) => {
    const line = document.createElement("tr");
    const underWay = job.up ? `${count(job.open)} + ${count(job.up)} up` : count(job.open);
    for (const text of [job.job, job.state, `${job.members} of ${job.children}`,
      count(job.chunks_per_s), underWay, count(job.late), count(job.stale),
      job.group ?? "each member"]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      line.append(cell);
    }
    return line;
  }));
}
