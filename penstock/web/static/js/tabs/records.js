// Where data is not as it should be: unevenly spread, too late, or impossible to process.
import { get, jobPath, metrics, optional } from "../api.js";
import { meterBar } from "../charts.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { card, empty, facts, section, table } from "../parts.js";
import { plain } from "../vertices.js";

const COUNTED = ["numLateRecordsDropped", "numDeadLetters"];
const DESTINATION = "penstock.dead-letter.";

export async function load({ job, jid }) {
  const [config, vertices] = await Promise.all([
    optional(jobPath(jid, "config")),
    Promise.all(job.vertices.map((vertex) => look(jid, vertex))),
  ]);
  return { vertices, destinations: Object.entries(config?.["execution-config"]?.["user-config"] ?? {}).filter(([key]) => key.startsWith(DESTINATION)) };
}

async function look(jid, vertex) {
  const path = jobPath(jid, "vertices", vertex.id);
  const [detail, ids] = await Promise.all([get(path), optional(`${path}/subtasks/metrics`)]);
  const counted = (ids ?? []).map((m) => m.id).filter((id) => COUNTED.some((name) => id === name || id.endsWith(`.${name}`)));
  const values = await metrics(`${path}/subtasks/metrics`, counted);
  const known = (ids ?? []).length > 0; // of a job that has ended there are no metrics: nobody knows is not none
  const total = (name) => (known ? counted.filter((id) => id === name || id.endsWith(`.${name}`)).reduce((n, id) => n + (Number(values[id]?.sum) || 0), 0) : null);
  const records = detail.subtasks.map((one) => Number(one.metrics["read-records"]) || 0);
  const sent = detail.subtasks.map((one) => Number(one.metrics["write-records"]) || 0);
  return { vertex, records: records.some(Boolean) ? records : sent, late: total("numLateRecordsDropped"), dead: total("numDeadLetters") };
}

export function view({ vertices, destinations }) {
  const sum = (key) => (vertices.some((v) => v[key] !== null) ? vertices.reduce((n, v) => n + (v[key] ?? 0), 0) : null);
  const worst = vertices.filter((v) => v.records.length > 1).reduce((most, v) => Math.max(most, skew(v.records)), 0);
  const spreadOut = vertices.filter((v) => v.records.length > 1);
  return [
    h("div", { class: "cards" },
      card("Largest skew", spreadOut.length ? f.percent(worst / 100) : f.DASH, "0 %: every subtask has the same"),
      card("Late records dropped", h("span", { class: sum("late") ? "warn-text" : null }, f.count(sum("late"))), "after the watermark and allowed lateness"),
      card("Dead letters", h("span", { class: sum("dead") ? "bad-text" : null }, f.count(sum("dead"))), destinations.length ? "kept where the job says" : "no destination: a bad record fails the job")),
    section("How records are spread over subtasks", spreadOut.length
      ? spreadOut.map((v) => h("div", { class: "spread", "data-key": v.vertex.id },
          h("div", { class: "spread-head" }, h("strong", {}, plain(v.vertex.name)), h("span", { class: skew(v.records) > 50 ? "warn-text" : "quiet-text" }, `skew ${f.percent(skew(v.records) / 100)}`)),
          h("div", { class: "spread-bars" }, v.records.map((n, i) =>
            h("div", { class: "spread-row" }, h("span", {}, `subtask ${i}`), meterBar(n / Math.max(1, ...v.records), skew(v.records) > 50 ? "warm" : "accent"), h("span", { class: "num" }, f.count(n)))))))
      : empty("Every vertex has one subtask.", "Skew is about several.")),
    section("Late and dead, by vertex", table([
      ["Vertex", (v) => plain(v.vertex.name), { class: "wide" }],
      ["Late records dropped", (v) => f.count(v.late), { num: true }],
      ["Dead letters", (v) => f.count(v.dead), { num: true }],
    ], vertices, { key: (v) => v.vertex.id, caption: "Late records and dead letters" })),
    section("Where dead letters go", destinations.length
      ? facts(destinations.map(([key, value]) => [key, h("code", {}, String(value))]))
      : empty("Nowhere: the job fails on a record that it cannot process.", "Set penstock.dead-letter.path or penstock.dead-letter.topic.")),
  ];
}

/** Flink's measure: the mean distance from the mean, in percent of it, at most 100. */
function skew(values) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  if (!mean) return 0;
  const distance = values.reduce((total, v) => total + Math.abs(v - mean), 0) / values.length;
  return Math.min(100, (distance / mean) * 100);
}
