// Checkpoints: counts, sizes and durations, the history, and one of them down to its subtasks.
import { get, jobPath, optional } from "../api.js";
import { lineChart } from "../charts.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { badge, card, empty, facts, section, spread, table } from "../parts.js";
import { plain } from "../vertices.js";

export async function load({ jid, ui }) {
  const [all, config] = await Promise.all([get(jobPath(jid, "checkpoints")), optional(jobPath(jid, "checkpoints", "config"))]);
  const known = ui.picked && all.history.some((c) => c.id === ui.picked);
  const details = known ? await optional(jobPath(jid, "checkpoints", "details", String(ui.picked))) : null;
  const subtasks = details && ui.vertex
    ? await optional(jobPath(jid, "checkpoints", "details", String(ui.picked), "subtasks", ui.vertex)) : null;
  return { all, config, details, subtasks };
}

export function view({ all, config, details, subtasks }, context) {
  const { counts, latest, summary } = all;
  if (!counts.total && !counts.restored) return empty("There is no checkpoint yet.", "Every epoch is one, as soon as it has been committed.");
  const history = all.history ?? [];
  const series = (key) => [...history].reverse().filter((c) => c.status === "COMPLETED").map((c) => [c.trigger_timestamp, c[key]]);
  return [
    h("div", { class: "cards" },
      card("Completed", f.count(counts.completed), `${f.count(counts.in_progress)} in progress`),
      card("Failed", h("span", { class: counts.failed ? "bad-text" : null }, f.count(counts.failed)), `of ${f.count(counts.total)} triggered`),
      card("Last size", f.bytes(latest.completed?.checkpointed_size), `${f.bytes(latest.completed?.state_size)} of state in all`),
      card("Last duration", f.duration(latest.completed?.end_to_end_duration), f.time(latest.completed?.trigger_timestamp))),
    h("div", { class: "columns-2" },
      section("Duration", lineChart([{ points: series("end_to_end_duration") }], { format: f.duration, label: "Duration of checkpoints" })),
      section("Written", lineChart([{ points: series("checkpointed_size") }], { format: f.bytes, label: "Bytes written by checkpoints" }))),
    section("Latest", latestOf(latest)),
    section("History", historyOf(history, context)),
    details ? detailsOf(details, subtasks, context) : null,
    summary && counts.completed ? section("Summary", spread([
      ["End to end", summary.end_to_end_duration, f.duration], ["Written", summary.checkpointed_size, f.bytes], ["Whole state", summary.state_size, f.bytes],
    ])) : null,
    config ? section("Configuration", configOf(config)) : null,
  ];
}

function historyOf(history, context) {
  const { ui } = context;
  return table([
    ["Id", (c) => String(c.id)],
    ["Status", (c) => badge(c.status)],
    ["Kind", (c) => (c.is_savepoint ? "savepoint" : "checkpoint")],
    ["Triggered", (c) => f.time(c.trigger_timestamp, true)],
    ["Duration", (c) => f.duration(c.end_to_end_duration), { num: true }],
    ["Written", (c) => f.bytes(c.checkpointed_size), { num: true }],
    ["State", (c) => f.bytes(c.state_size), { num: true }],
    ["Acknowledged", (c) => `${c.num_acknowledged_subtasks} of ${c.num_subtasks}`, { num: true }],
  ], history, {
    key: (c) => `${c.id}-${c.is_savepoint}-${c.trigger_timestamp}`, rowClass: (c) => (c.id === ui.picked ? "picked" : null), caption: "History of checkpoints",
    onpick: (c) => {
      ui.picked = ui.picked === c.id ? null : c.id;
      ui.vertex = null;
      context.refresh();
    },
  });
}

function detailsOf(details, subtasks, context) {
  const { job, ui } = context;
  const name = (id) => plain(job.vertices.find((v) => v.id === id)?.name ?? id);
  const tasks = Object.entries(details.tasks ?? {}).map(([id, task]) => ({ ...task, id }));
  return section(`${details.is_savepoint ? "Savepoint" : "Checkpoint"} ${details.id}`,
    facts([["Path", h("code", {}, details.external_path ?? f.DASH)], ["Kind", (details.checkpoint_type ?? "").replaceAll("_", " ").toLowerCase()],
      details.failure_message ? ["Failed because", details.failure_message] : null]),
    tasks.length ? table([
      ["Vertex", (t) => name(t.id), { class: "wide" }],
      ["Acknowledged", (t) => `${t.num_acknowledged_subtasks} of ${t.num_subtasks}`, { num: true }],
      ["Duration", (t) => f.duration(t.end_to_end_duration), { num: true }],
      ["Written", (t) => f.bytes(t.checkpointed_size), { num: true }],
      ["State", (t) => f.bytes(t.state_size), { num: true }],
    ], tasks, {
      key: (t) => t.id, rowClass: (t) => (t.id === ui.vertex ? "picked" : null), caption: "Vertices of the checkpoint",
      onpick: (t) => {
        ui.vertex = ui.vertex === t.id ? null : t.id;
        context.refresh();
      },
    }) : empty("Nothing is known of its vertices."),
    subtasks ? [h("h3", {}, `Subtasks of ${name(ui.vertex)}`), table([
      ["Subtask", (one) => String(one.index)],
      ["Acknowledged", (one) => f.time(one.ack_timestamp, true)],
      ["Duration", (one) => f.duration(one.end_to_end_duration), { num: true }],
      ["Written", (one) => f.bytes(one.checkpointed_size), { num: true }],
      ["State", (one) => f.bytes(one.state_size), { num: true }],
    ], subtasks.subtasks ?? [], { key: (one) => one.index, caption: "Subtasks of the checkpoint" })] : null);
}

function latestOf(latest) {
  const rows = [["Completed", latest.completed], ["Savepoint", latest.savepoint], ["Failed", latest.failed], ["Restored", latest.restored]].filter(([, c]) => c);
  if (!rows.length) return empty("None yet.");
  return table([
    ["", (r) => r[0]],
    ["Id", (r) => String(r[1].id)],
    ["When", (r) => f.time(r[1].trigger_timestamp ?? r[1].restore_timestamp)],
    ["Duration", (r) => f.duration(r[1].end_to_end_duration), { num: true }],
    ["Written", (r) => f.bytes(r[1].checkpointed_size), { num: true }],
    ["Path", (r) => h("code", { class: "path" }, r[1].failure_message ?? r[1].external_path ?? f.DASH)],
  ], rows, { key: (r) => r[0], caption: "Latest checkpoints" });
}

const configOf = (config) =>
  facts([
    ["Mode", String(config.mode ?? "").replaceAll("_", " ").toLowerCase()],
    ["Interval", config.interval > 1e15 ? "every epoch" : f.duration(config.interval)],
    ["State backend", config.state_backend ?? f.DASH],
    ["Storage", config.checkpoint_storage ?? f.DASH],
    ["Kept when the job ends", config.externalization?.enabled ? (config.externalization.delete_on_cancellation ? "not when it is cancelled" : "yes") : "no"],
  ]);
