// The job as a graph: what every vertex does now, and its subtasks when one is picked.
import { get, jobPath, optional } from "../api.js";
import { shareBar } from "../charts.js";
import { h, s } from "../dom.js";
import * as f from "../format.js";
import { layered } from "../layout.js";
import { badge, empty } from "../parts.js";
import { liveOf, plain } from "../vertices.js";
import { details } from "./subtasks.js";

const SIZE = { width: 252, height: 150, gapX: 78, gapY: 28 };

export async function load({ job, jid, ui, config }) {
  const live = await liveOf(job);
  const picked = ui.picked && job.vertices.some((v) => v.id === ui.picked) ? ui.picked : null;
  if (!picked) return { live };
  const path = jobPath(jid, "vertices", picked);
  const [vertex, marks, accumulators, pressure, sample] = await Promise.all([
    get(path), optional(`${path}/watermarks`), optional(`${path}/accumulators`), optional(`${path}/backpressure`),
    showsRows(config, job) ? optional(`${path}/sample`) : null,
  ]);
  return { live, picked: { vertex, marks, accumulators, pressure, sample } };
}

/** Flink's servers have no such path, and of a job that has ended no rows are left. */
const showsRows = (config, job) => String(config["flink-revision"]).startsWith("penstock") && job.state === "RUNNING";

export function view({ live, picked }, context) {
  const { job, ui } = context;
  if (!job.vertices.length) return empty("This job has no vertices.");
  const pick = (id) => {
    ui.picked = ui.picked === id ? null : id;
    context.redraw();
    context.refresh();
  };
  return [
    h("div", { class: "legend" }, ["busy", "backpressured", "idle"].map((name) =>
      h("span", {}, h("i", { class: `swatch ${name}` }), name === "backpressured" ? "back-pressured" : name)),
      h("span", { class: "quiet-text" }, "of the busiest subtask · pick a vertex for its subtasks")),
    stage(job, live, ui, pick),
    ui.picked ? (picked ? details(picked, job, () => pick(ui.picked)) : h("p", { class: "quiet-text" }, "Loading subtasks…")) : null,
  ];
}

function stage(job, live, ui, pick) {
  const plan = new Map((job.plan?.nodes ?? []).map((node) => [node.id, node]));
  const inputs = (id) => (plan.get(id)?.inputs ?? []).map((input) => input.id);
  const placed = layered(job.vertices.map((v) => ({ id: v.id, inputs: inputs(v.id) })), SIZE);
  const strategy = (edge) => plan.get(edge.to)?.inputs?.find((input) => input.id === edge.from)?.ship_strategy;
  return h("div", { class: "graph", tabindex: "0", role: "group", "aria-label": "Job graph" },
    h("div", { class: "graph-stage", style: { width: `${placed.width}px`, height: `${placed.height}px` } },
      s("svg", { width: placed.width, height: placed.height, "aria-hidden": "true" }, arrow(), placed.edges.map((edge) => edgeOf(edge, strategy(edge)))),
      job.vertices.map((vertex) => box(vertex, placed.nodes[vertex.id], live[vertex.id], job, ui.picked === vertex.id, pick))));
}

const arrow = () =>
  s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0 0L8 4L0 8z", class: "edge-head" })));

function edgeOf({ from, to, points }, strategy) {
  const [first, ...rest] = points;
  let [px, py] = first;
  let d = `M${px} ${py}`;
  for (const [x, y] of rest) {
    const middle = (px + x) / 2;
    d += `C${middle} ${py} ${middle} ${y} ${x} ${y}`;
    [px, py] = [x, y];
  }
  const [a, b] = [points[0], points[1]];
  return s("g", { "data-key": `${from}>${to}` }, s("path", { d, class: "edge", "marker-end": "url(#arrow)" }),
    strategy ? s("text", { x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 - 6, class: "edge-label" }, strategy.toLowerCase()) : null);
}

function box(vertex, at, live, job, picked, pick) {
  const shares = live?.shares;
  const lag = f.lag(live?.watermark, job.now);
  const rate = (name) => live?.values?.[name]?.sum;
  const label = shares ? `busy ${f.percent(shares.busy)}, back-pressured ${f.percent(shares.backpressured)}, idle ${f.percent(shares.idle)}` : "no load known";
  return h("button", {
    type: "button", "data-key": vertex.id, class: ["vertex", picked && "picked", heat(shares)], "aria-pressed": String(picked),
    style: { left: `${at.x}px`, top: `${at.y}px`, width: `${SIZE.width}px`, height: `${SIZE.height}px` }, onclick: () => pick(vertex.id),
  },
  h("span", { class: "vertex-name", title: plain(vertex.name) }, plain(vertex.name)),
  h("span", { class: "vertex-line" }, vertex.status === "RUNNING" ? null : badge(vertex.status), h("span", {}, `parallelism ${vertex.parallelism}`),
    shares ? h("strong", {}, `${f.percent(shares.busy)} busy`) : null),
  shares ? shareBar([["busy", shares.busy], ["backpressured", shares.backpressured], ["idle", shares.idle]], label) : h("span", { class: "shares" }),
  h("span", { class: "vertex-grid" },
    h("span", {}, "in"), h("b", {}, f.short(vertex.metrics["read-records"])), h("i", {}, f.rate(rate("numRecordsInPerSecond"))),
    h("span", {}, "out"), h("b", {}, f.short(vertex.metrics["write-records"])), h("i", {}, f.rate(rate("numRecordsOutPerSecond"))),
    h("span", {}, "watermark"), h("b", { class: "two" }, mark(live?.watermark, lag))));
}

const mark = (watermark, lag) => (lag === null ? f.watermark(watermark) : [f.clock(Number(watermark)), h("em", {}, ` ${f.duration(lag)} behind`)]);

const heat = (shares) => (!shares ? null : shares.backpressured > 0.5 ? "held" : shares.busy > 0.8 ? "hot" : shares.busy > 0.5 ? "warm" : null);
