// The subtasks of a picked vertex, its accumulators, and a sample of its rows where the server gives one.
import { shareBar } from "../charts.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { badge, empty, facts, table } from "../parts.js";
import { plain } from "../vertices.js";

export function details({ vertex, marks, accumulators, pressure, sample }, job, close) {
  const markOf = (index) => (marks ?? []).find((mark) => mark.id.split(".")[0] === String(index))?.value;
  const loadOf = (index) => (pressure?.subtasks ?? []).find((one) => one.subtask === index);
  const node = (job.plan?.nodes ?? []).find((one) => one.id === vertex.id);
  return h("section", { class: "panel drawer", "aria-label": "Subtasks" },
    h("div", { class: "drawer-head" }, h("h2", {}, plain(vertex.name)), h("button", { type: "button", class: "quiet", onclick: close }, "Close")),
    facts([["Vertex", h("code", {}, vertex.id)], ["Parallelism", `${vertex.parallelism} of at most ${vertex.maxParallelism}`],
      node?.description ? ["What it does", h("pre", { class: "inline" }, plain(node.description))] : null]),
    table([
      ["Subtask", (one) => String(one.subtask)],
      ["Status", (one) => badge(one.status)],
      ["Load", (one) => loadBar(loadOf(one.subtask))],
      ["Records in", (one) => f.count(one.metrics["read-records"]), { num: true }],
      ["Records out", (one) => f.count(one.metrics["write-records"]), { num: true }],
      ["Received", (one) => f.bytes(one.metrics["read-bytes"]), { num: true }],
      ["Sent", (one) => f.bytes(one.metrics["write-bytes"]), { num: true }],
      ["Watermark", (one) => f.watermark(markOf(one.subtask))],
      ["Behind", (one) => (f.lag(markOf(one.subtask), job.now) === null ? f.DASH : f.duration(f.lag(markOf(one.subtask), job.now))), { num: true }],
      ["Attempt", (one) => String(one.attempt), { num: true }],
      ["Where", (one) => one.endpoint ?? f.DASH],
    ], vertex.subtasks, { key: (one) => one.subtask, caption: "Subtasks" }),
    accumulators?.["user-accumulators"]?.length
      ? [h("h3", {}, "Accumulators"), table([["Name", (a) => a.name], ["Type", (a) => a.type], ["Value", (a) => String(a.value)]], accumulators["user-accumulators"], { key: (a) => a.name })]
      : null,
    sample ? sampleOf(sample) : null);
}

function loadBar(load) {
  if (!load) return f.DASH;
  const [busy, held, idle] = [load.busyRatio, load.ratio, load.idleRatio].map((n) => (Number.isFinite(Number(n)) ? Number(n) : 0));
  return h("span", { class: "load" }, shareBar([["busy", busy], ["backpressured", held], ["idle", idle]], `busy ${f.percent(busy)}, back-pressured ${f.percent(held)}, idle ${f.percent(idle)}`), h("span", {}, f.percent(busy)));
}

function sampleOf(sample) {
  const columns = sample.columns ?? [];
  const rows = sample.rows ?? [];
  return [
    h("h3", {}, "Sample of its rows"),
    h("p", { class: "quiet-text" }, "The first rows of an epoch that leave the vertex, or go into its sink."),
    rows.length
      ? table(columns.map((name, n) => [name, (row) => text(row[n])]), rows, { caption: "Sample" })
      : empty("No rows have been seen yet.", "Rows are taken from the next epoch on, while this is open."),
  ];
}

const text = (value) => (value === null || value === undefined ? h("span", { class: "null" }, "NULL") : typeof value === "object" ? JSON.stringify(value) : String(value));
