// What a job's vertices tell, put together from several answers.
import { jobPath, metrics, optional } from "./api.js";

const AGGREGATED = [
  "busyTimeMsPerSecond", "idleTimeMsPerSecond", "backPressuredTimeMsPerSecond", "numRecordsInPerSecond",
  "numRecordsOutPerSecond",
];

/** Records that a job's sources have read. */
export function throughput(job) {
  const fed = new Set((job.plan?.nodes ?? []).filter((node) => node.inputs?.length).map((node) => node.id));
  return job.vertices
    .filter((vertex) => !fed.has(vertex.id))
    .reduce((total, { metrics: m }) => total + Math.max(Number(m["write-records"]) || 0, Number(m["read-records"]) || 0), 0);
}

/** Rates, time shares and watermarks of every vertex, by id. */
export async function liveOf(job) {
  const found = await Promise.all(job.vertices.map(async (vertex) => {
    const path = jobPath(job.jid, "vertices", vertex.id);
    const [values, marks] = await Promise.all([
      metrics(`${path}/subtasks/metrics`, AGGREGATED).catch(() => ({})),
      optional(`${path}/watermarks`).catch(() => null),
    ]);
    return [vertex.id, { values, shares: sharesOf(values), watermark: lowest(marks) }];
  }));
  return Object.fromEntries(found);
}

/** Busy, back-pressured and idle as shares of one; of the busiest subtask, as that one sets the pace. */
function sharesOf(values) {
  const of = (name, part) => number(values[name]?.[part]) / 1000;
  const busy = of("busyTimeMsPerSecond", "max");
  if (Number.isNaN(busy)) return null;
  const held = clamp(of("backPressuredTimeMsPerSecond", "max"), 1 - clamp(busy));
  return { busy: clamp(busy), backpressured: held, idle: Math.max(0, 1 - clamp(busy) - held) };
}

const number = (value) => (value === undefined || value === null ? NaN : Number(value));
const clamp = (value, most = 1) => (Number.isFinite(value) ? Math.min(most, Math.max(0, value)) : 0);

/** The lowest watermark of the subtasks, as its text: numbers of 64 bits do not fit into a double. */
export function lowest(marks) {
  const values = (marks ?? []).map((mark) => mark.value).filter((value) => value !== undefined && value !== null && value !== "");
  return values.length ? values.reduce((a, b) => (Number(b) < Number(a) ? b : a)) : null;
}

/** Names without HTML: Flink's descriptions carry line breaks as tags. */
export const plain = (text) => String(text ?? "").replace(/<br\s*\/?>/g, "\n").replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&amp;", "&").trim();
