// SPDX-License-Identifier: BSD-2-Clause
// The live page: asks /live.json once a second and draws what it says.
"use strict";

const kept = 300; // points of a curve: five minutes
const byId = (id) => document.getElementById(id);
const state = { queue: null, clock: "by_generated", sort: "aom", descending: true, chosen: null };
const histories = new Map(); // queue's device -> its curves

// ---- curves ---------------------------------------------------------------------------------

function historyOf(device) {
  if (!histories.has(device))
    histories.set(device, { times: [], length: [], in: [], out: [], dropped: [],
      by_generated: new Map(), by_arrival: new Map() });
  return histories.get(device);
}
function keep(list, value) {
  list.push(value);
  if (list.length > kept) list.shift();
}
function remember(live) {
  const history = historyOf(live.status.device);
  keep(history.times, Date.now() / 1000);
  keep(history.length, live.status.queue.length);
  const rate = (value) => live.interval_s > 0 ? value : null; // the first look tells none
  keep(history.in, rate(live.total.received_per_s));
  keep(history.out, rate(live.total.messages_out_per_s));
  keep(history.dropped, rate(live.total.dropped_per_s));
  for (const clock of ["by_generated", "by_arrival"])
    for (const row of live.clusters) {
      const curves = history[clock];
      if (!curves.has(row.cluster))
        curves.set(row.cluster, new Array(history.times.length - 1).fill(null));
      const recent = live.interval_s > 0 && !row.idle ? row.recent_average : null;
      keep(curves.get(row.cluster), recent && recent[`${clock}_ns`]);
    }
}
/// Highest, mean and lowest of the clusters at each moment.
function spread(curves, length) {
  const highest = [], mean = [], lowest = [];
  for (let i = 0; i < length; i++) {
    const values = [];
    for (const curve of curves.values())
      if (curve[i] !== null && curve[i] !== undefined) values.push(curve[i]);
    highest.push(values.length ? Math.max(...values) : null);
    lowest.push(values.length ? Math.min(...values) : null);
    mean.push(values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
  }
  return { highest, mean, lowest };
}

// ---- charts ---------------------------------------------------------------------------------

const charts = {};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const clockTime = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });

/// What the curves say at the moment under the pointer: a line each, beside it.
function tellTip(tip, plot, format) {
  const at = plot.cursor.idx;
  const line = (text, stroke) => {
    const div = document.createElement("div");
    div.textContent = text;
    div.style.borderColor = stroke || "transparent";
    return div;
  };
  const lines = at === null || at === undefined ? [] : plot.series.slice(1).map((one, i) => {
    const value = plot.data[i + 1][at];
    const missing = value === null || value === undefined;
    return missing ? null : line(`${one.label()} ${format(value)}`, one.colour);
  }).filter((one) => one);
  tip.hidden = !lines.length || plot.cursor.left < 0;
  if (tip.hidden) return;
  tip.replaceChildren(line(clockTime(plot.data[0][at])), ...lines);
  const { left } = plot.cursor, { clientWidth } = plot.over;
  tip.style.left = left < clientWidth / 2 ? `${left + 12}px` : "";
  tip.style.right = left < clientWidth / 2 ? "" : `${clientWidth - left + 12}px`;
}
/// Series are [label, name of its colour, width, name of its filling].
function chart(id, format, series, bands) {
  const box = byId(id), tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  const options = {
    width: box.clientWidth, height: box.clientHeight, legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: "olaf" }, points: { size: 7 } },
    hooks: { setCursor: [(plot) => tellTip(tip, plot, format)] }, bands,
    scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [{ ...axis, size: 30, space: 80, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300],
             values: (_, ticks) => ticks.map(clockTime) },
           { ...axis, size: 64, values: (_, ticks) => ticks.map((v) => format(v)) }],
    series: [{}, ...series.map(([label, name, width, fill]) => ({
      label: () => (typeof label === "function" ? label() : label), colour: name && colour(name),
      stroke: name && width ? colour(name) : undefined, width, fill: fill && colour(fill),
      points: { show: false } }))],
  };
  const empty = [[], ...series.map(() => [])];
  charts[id] = new uPlot(options, empty, box);
  charts[id].over.append(tip);
}
function makeCharts() {
  for (const id of Object.keys(charts)) { charts[id].destroy(); delete charts[id]; }
  chart("aom-chart", duration, [["highest", "--line", 0], ["lowest", "--line", 0],
        ["mean", "--mean", 2], [() => `cluster ${state.chosen}`, "--one", 2]],
        [{ series: [1, 2], fill: colour("--band") }]);
  chart("rate-chart", (v) => `${count(v)}/s`,
        [["in", "--mean", 2], ["out", "--out", 2], ["dropped", "--drop", 2]]);
  chart("queue-chart", count, [["waiting", "--mean", 2, "--band"]]);
}
function drawCharts(live) {
  const history = historyOf(live.status.device);
  const curves = history[state.clock];
  const { highest, mean, lowest } = spread(curves, history.times.length);
  const chosen = curves.get(state.chosen) || history.times.map(() => null);
  charts["aom-chart"].setData([history.times, highest, lowest, mean, chosen]);
  charts["rate-chart"].setData([history.times, history.in, history.out, history.dropped]);
  charts["queue-chart"].setData([history.times, history.length]);
}
function fitCharts() {
  for (const [id, one] of Object.entries(charts)) {
    const box = byId(id);
    one.setSize({ width: box.clientWidth, height: box.clientHeight });
  }
}

// ---- table ----------------------------------------------------------------------------------

// Of the last interval; -1: nothing has left yet, -2: idle.
const recentAge = (row, age) => (row.idle && row.aom ? -2 : age?.[`${state.clock}_ns`] ?? -1);
const ageOrIdle = (v) => (v === -2 ? "idle" : duration(v < 0 ? null : v));

const columns = [
  { key: "cluster", title: "cluster", value: (r) => r.cluster, text: String },
  { key: "aom", title: "AoM", value: (r) => r.aom?.[state.clock].age_ns ?? -1, text: (v) => duration(v < 0 ? null : v) },
  { key: "average", title: "average", minor: true, value: (r) => recentAge(r, r.recent_average), text: ageOrIdle },
  { key: "peak", title: "peak", minor: true, value: (r) => recentAge(r, r.recent_peak), text: ageOrIdle },
  { key: "in", title: "in/s", value: (r) => r.received_per_s, text: count },
  { key: "out", title: "out/s", value: (r) => r.messages_out_per_s, text: count },
  { key: "fold", title: "fold", minor: true, value: (r) => r.fold_factor, text: (v) => v ? v.toFixed(2) : "–" },
  { key: "drops", title: "drops", value: (r) => r.dropped, text: count },
];

function makeTitles() {
  byId("titles").replaceChildren(...columns.map((column) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.classList.toggle("minor", !!column.minor);
    if (column.key === state.sort) cell.ariaSort = state.descending ? "descending" : "ascending";
    const button = document.createElement("button");
    button.textContent = column.title;
    button.onclick = () => {
      state.descending = state.sort === column.key ? !state.descending : column.key !== "cluster";
      state.sort = column.key;
      makeTitles();
      redraw();
    };
    cell.append(button);
    return cell;
  }));
}
function drawTable(live) {
  const by = columns.find((column) => column.key === state.sort);
  const sign = state.descending ? -1 : 1;
  const rows = [...live.clusters].sort((a, b) =>
    sign * (by.value(a) - by.value(b)) || a.cluster - b.cluster);
  byId("rows").replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    line.tabIndex = 0;
    line.ariaSelected = String(row.cluster === state.chosen);
    for (const column of columns) {
      const cell = document.createElement("td");
      cell.textContent = column.text(column.value(row));
      cell.classList.toggle("minor", !!column.minor);
      line.append(cell);
    }
    line.onclick = () => {
      state.chosen = state.chosen === row.cluster ? null : row.cluster;
      redraw();
    };
    line.onkeydown = (event) => { if (event.key === "Enter") line.onclick(); };
    return line;
  }));
}

// ---- counters -------------------------------------------------------------------------------

let listed = []; // every counter there is: key, unit, meaning
async function learnCounters() {
  const answer = await fetch("counters.json");
  if (!answer.ok) throw new Error(await answer.text());
  listed = await answer.json();
}
function drawCounters(live) {
  const numberOf = (one) => (one.object ? live.status[one.object] : live.status)?.[one.key];
  byId("counters").replaceChildren(...listed.filter((one) => numberOf(one) > 0).map((one) => {
    const line = document.createElement("tr");
    for (const text of [one.path, numberOf(one), one.unit, one.meaning]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      cell.classList.toggle("minor", text === one.meaning);
      line.append(cell);
    }
    return line;
  }));
}

// ---- the whole ------------------------------------------------------------------------------

function drawTiles(live) {
  const { status, total } = live;
  const ages = live.clusters.filter((row) => row.recent_average && !row.idle)
    .map((row) => row.recent_average[`${state.clock}_ns`]);
  const mean = ages.length ? ages.reduce((sum, age) => sum + age, 0) / ages.length : null;
  const rate = status.rate_bps === null ? "no limit" : scaled(status.rate_bps, [[1, " bit/s"], [1e3, " kbit/s"], [1e6, " Mbit/s"], [1e9, " Gbit/s"], [1e12, " Tbit/s"]]);
  byId("about").textContent = `${status.policy}, ${status.mode}, ${rate}, ${status.deliver.kind}` +
    (status.deliver.target ? ` to ${status.deliver.target}` : "");
  byId("length").textContent = status.queue.length;
  byId("capacity").textContent = byId("capacity-too").textContent = status.queue.capacity;
  byId("occupancy").style.width = `${100 * status.queue.length / status.queue.capacity}%`;
  byId("aom").textContent = duration(mean);
  byId("in").textContent = count(total.received_per_s);
  byId("out").textContent = count(total.messages_out_per_s);
  byId("updates-out").textContent = count(total.updates_out_per_s);
  byId("fold").textContent = total.fold_factor ? total.fold_factor.toFixed(2) : "–";
  byId("dropped").textContent = count(total.dropped_per_s);
  byId("active").textContent = status.active_clusters;
  byId("fairness").textContent = ages.length && status.aom ? status.aom.last_minute[state.clock].fairness.toFixed(3) : "–";
  byId("chosen").textContent = state.chosen === null ? "" : `cluster ${state.chosen}`;
}
/// How the queue is, as `olaf status` begins: the worst first, each with its remedy.
function drawVerdict({ verdict }) {
  byId("verdict").replaceChildren(...[verdict, ...verdict.besides].map((finding) => {
    const line = document.createElement("p");
    const state = document.createElement("b");
    state.textContent = finding.state;
    const ended = finding.last_ns !== null;
    const since = finding.since_ns === null || ended ? "" : ` for ${duration(finding.since_ns)}`;
    const last = ended ? `; the last one ${duration(finding.last_ns)} ago` : "";
    const remedy = finding.remedy ? ` → ${finding.remedy}` : "";
    const harmless = finding !== verdict && ["idle", "working"].includes(finding.state);
    line.className = finding.state;
    if (harmless)
      line.append(`${finding.text}${since && `; going on${since}`}${last}${remedy}`);
    else
      line.append(state, `${since}: ${finding.text}${last}${remedy}`);
    return line;
  }));
}
function tell(trouble) {
  byId("trouble").hidden = !trouble;
  byId("trouble").textContent = trouble || "";
}
let latest = [];
function redraw() {
  const live = latest.find((one) => one.status.device === state.queue) || latest[0];
  document.querySelector("main").hidden = !live;
  if (!live) return tell("No queue is attached.");
  state.queue = live.status.device;
  if (!charts["aom-chart"]) makeCharts();
  drawVerdict(live.status);
  drawTiles(live);
  drawCharts(live);
  drawTable(live);
  drawJobs(live);
  drawCounters(live);
}
function offer(devices) {
  const select = byId("queue");
  if ([...select.options].map((option) => option.value).join() !== devices.join())
    select.replaceChildren(...devices.map((device) => new Option(device, device)));
  if (state.queue) select.value = state.queue;
}
async function look() {
  try {
    if (!listed.length) await learnCounters();
    const answer = await fetch("live.json");
    if (!answer.ok) throw new Error(await answer.text());
    latest = await answer.json();
    tell("");
    latest.forEach(remember);
    redraw();
    offer(latest.map((live) => live.status.device));
  } catch (error) {
    tell(`No answer from olaf serve: ${error.message}`);
  }
  setTimeout(look, 1000);
}

byId("queue").onchange = (event) => { state.queue = event.target.value; state.chosen = null; redraw(); };
byId("clock").onchange = (event) => { state.clock = event.target.value; redraw(); };
addEventListener("resize", fitCharts);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { makeCharts(); redraw(); });
makeTitles();
look();
