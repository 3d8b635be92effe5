// All jobs: how many, how busy the slots are, how much flows.
import { get, jobPath, optional } from "../api.js";
import { lineChart, meterBar } from "../charts.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { badge, card, empty, section, table } from "../parts.js";
import { rateOf, remember } from "../series.js";
import { throughput } from "../vertices.js";

const ENDED = ["FINISHED", "CANCELED", "FAILED"];
const LOOKED_AT = 20;

export async function load() {
  const [cluster, { jobs }] = await Promise.all([get("overview"), get("jobs/overview")]);
  const running = jobs.filter((job) => !ENDED.includes(job.state));
  const details = await Promise.all(running.slice(0, LOOKED_AT).map((job) => optional(jobPath(job.jid))));
  const now = Date.now();
  const rates = new Map(details.filter(Boolean).map((job) => [job.jid, rateOf(`job.${job.jid}`, throughput(job), now)]));
  const known = [...rates.values()].filter((rate) => rate !== null);
  if (known.length || !running.length) remember("throughput", known.reduce((a, b) => a + b, 0), now);
  return { cluster, jobs, running, rates, now };
}

export function view({ cluster, jobs, running, rates, now }, { features }) {
  const ended = jobs.filter((job) => ENDED.includes(job.state)).sort((a, b) => b["end-time"] - a["end-time"]);
  if (features["web-history"]) return history(cluster, ended, now);
  const used = cluster["slots-total"] - cluster["slots-available"];
  const flow = [...rates.values()].filter((r) => r !== null);
  return {
    title: "Jobs",
    content: [
      h("h1", {}, "Jobs"),
      h("div", { class: "cards" },
        card("Running", f.count(cluster["jobs-running"]), `${f.count(cluster["jobs-finished"])} finished · ${f.count(cluster["jobs-cancelled"])} cancelled`),
        card("Failed", h("span", { class: cluster["jobs-failed"] ? "bad-text" : null }, f.count(cluster["jobs-failed"])), "since the server started"),
        cluster["slots-total"]
          ? card("Task slots", [f.count(used), h("small", {}, ` of ${f.count(cluster["slots-total"])} in use`)], meterBar(used / cluster["slots-total"], "accent"))
          : card("Task slots", f.DASH, "Spark has no executor yet"),
        card("Throughput", flow.length ? f.rate(flow.reduce((a, b) => a + b, 0)) : f.DASH, "records read by sources, all jobs")),
      running.length ? section("Records read per second", lineChart([{ points: remember("throughput", null) }], { label: "Records per second of all jobs", format: f.short, height: 110 })) : null,
      section("Running", running.length ? jobTable(running, now, rates) : empty("No job is running.", "Start one with penstock run --web program.py, or submit one to this server.")),
      section("Ended", ended.length ? jobTable(ended, now) : empty("Nothing has ended yet.")),
      foot(cluster),
    ],
  };
}

/** A history server has archives and nothing that runs. */
const history = (cluster, ended, now) => ({
  title: "Job history",
  content: [
    h("h1", {}, "Job history"),
    h("div", { class: "cards" },
      card("Finished", f.count(cluster["jobs-finished"]), "ran to their end, or were stopped with a savepoint"),
      card("Cancelled", f.count(cluster["jobs-cancelled"]), "by somebody"),
      card("Failed", h("span", { class: cluster["jobs-failed"] ? "bad-text" : null }, f.count(cluster["jobs-failed"])), "see their exceptions")),
    section("Ended", ended.length ? jobTable(ended, now) : empty("There is no archive yet.", "Jobs are archived when they end, in jobmanager.archive.fs.dir.")),
    foot(cluster),
  ],
});

const foot = (cluster) => h("p", { class: "foot" }, `Flink ${cluster["flink-version"] ?? ""} interface · ${cluster["flink-commit"] ?? ""}`);

const jobTable = (jobs, now, rates) =>
  table([
    ["Name", (job) => h("a", { href: `#/job/${encodeURIComponent(job.jid)}` }, job.name), { class: "wide" }],
    ["Status", (job) => badge(job.state)],
    ["Started", (job) => f.time(job["start-time"])],
    ["Duration", (job) => f.duration(ENDED.includes(job.state) ? job.duration : now - job["start-time"]), { num: true }],
    ...(rates ? [["Records/s", (job) => f.rate(rates.get(job.jid)), { num: true }]] : [["Ended", (job) => f.time(job["end-time"])]]),
    ["Tasks", (job) => tasks(job.tasks)],
    ["Id", (job) => h("code", { title: job.jid }, f.id8(job.jid))],
  ], jobs, { key: (job) => job.jid, caption: "Jobs" });

function tasks(counts = {}) {
  const shown = Object.entries(counts).filter(([name, n]) => name !== "total" && n);
  return h("span", { class: "quiet-text" }, shown.map(([name, n]) => `${n} ${name.toLowerCase()}`).join(", ") || f.DASH);
}
