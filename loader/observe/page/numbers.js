// SPDX-License-Identifier: BSD-2-Clause
// Numbers as people read them: three digits and a unit, as `olaf top` writes them.
"use strict";

function scaled(value, units) {
  let [size, name] = units[0];
  for (const [s, n] of units) if (value >= s * 0.9995) [size, name] = [s, n];
  const scaledValue = value / size;
  const digits = scaledValue >= 99.95 ? 0 : scaledValue >= 9.995 ? 1 : 2;
  return scaledValue.toFixed(digits) + name;
}
function duration(ns) {
  if (ns === null || ns === undefined) return "–";
  if (ns < 1) return "0";
  if (ns < 999.5) return ns.toFixed(0) + " ns";
  return scaled(ns, [[1, " ns"], [1e3, " µs"], [1e6, " ms"], [1e9, " s"], [3600e9, " h"], [86400e9, " d"]]);
}
function count(value) {
  if (!(value > 0)) return "0";
  if (value < 999.5 && Number.isInteger(value)) return String(value);
  return scaled(value, [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]]);
}
