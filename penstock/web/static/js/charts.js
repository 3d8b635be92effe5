// Small charts: lines over time, columns of several parts, and bars. The drawing stretches with the page and the labels
// do not: they are HTML around it.
import { h, s } from "./dom.js";
import * as f from "./format.js";

const W = 1000;
const H = 100;

/** Lines of [time, value] points: [{points}]. */
export function lineChart(series, { format = f.short, height = 130, label = "" } = {}) {
  const points = series.flatMap((one) => one.points);
  if (new Set(points.map((p) => p[0])).size < 2) return h("div", { class: "chart-empty", style: { height: `${height}px` } }, "Gathering data…");
  const [t0, t1] = [Math.min(...points.map((p) => p[0])), Math.max(...points.map((p) => p[0]))];
  const low = Math.min(0, ...points.map((p) => p[1]));
  const top = nice(Math.max(...points.map((p) => p[1]), 0));
  const x = (t) => (((t - t0) / (t1 - t0)) * W).toFixed(1);
  const y = (v) => ((1 - (v - low) / (top - low)) * H).toFixed(2);
  const lines = series.map((one, i) =>
    s("polyline", { points: one.points.map((p) => `${x(p[0])},${y(p[1])}`).join(" "), class: `line c${i % 6}` }));
  return frame({ low, top, format, height, label, first: f.clock(t0), last: f.clock(t1) }, lines);
}

/** A column per row, its parts on top of each other: [{key, label, title, parts: [{value}]}]. Newest last. */
export function stackedColumns(rows, { format = f.duration, height = 210, onpick, picked, label = "" } = {}) {
  if (!rows.length) return null;
  const top = nice(Math.max(...rows.map((row) => sum(row.parts))));
  const step = W / Math.max(rows.length, 12);
  const columns = rows.map((row, i) => {
    let y = H;
    const parts = row.parts.map((part, n) => {
      const size = (Math.max(0, part.value) / top) * H;
      y -= size;
      return s("rect", { x: i * step + step * 0.14, y, width: step * 0.72, height: size, class: `part p${n}` });
    });
    return s("g", { class: ["column", picked === row.key && "picked"], "data-key": row.key, onclick: onpick && (() => onpick(row.key)) },
      s("title", {}, row.title ?? row.label), s("rect", { x: i * step, y: 0, width: step, height: H, class: "hit" }), parts);
  });
  return frame({ low: 0, top, format, height, label, first: rows[0].label, last: rows[rows.length - 1].label }, columns);
}

function frame({ low, top, format, height, label, first, last }, drawing) {
  const middle = (low + top) / 2;
  const line = (v) => s("line", { x1: 0, x2: W, y1: (1 - (v - low) / (top - low)) * H, y2: (1 - (v - low) / (top - low)) * H, class: "grid" });
  return h("figure", { class: "chart", role: "img", "aria-label": label },
    h("div", { class: "chart-ticks", style: { height: `${height}px` } }, [top, middle, low].map((v) => h("span", {}, format(v)))),
    s("svg", { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", height }, [low, middle, top].map(line), drawing),
    h("div", { class: "chart-foot" }, h("span", {}, first), h("span", {}, last)));
}

/** Shares of one whole, side by side. */
export const shareBar = (parts, label) =>
  h("span", { class: "shares", role: "img", "aria-label": label, title: label },
    parts.map(([name, share]) => h("span", { class: `share ${name}`, style: { "flex-grow": String(Math.max(0, share)) } })));

/** How large a value is beside the largest. */
export const meterBar = (share, kind = "") =>
  h("span", { class: "meter-bar" }, h("span", { class: kind, style: { width: `${Math.min(100, Math.max(0, share * 100))}%` } }));

const sum = (parts) => parts.reduce((total, part) => total + part.value, 0);

/** The next round number. */
function nice(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((n) => n * power).find((n) => n >= value * 0.999999);
}
