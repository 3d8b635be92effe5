// Epochs over time: what each spent on planning, launching, working and committing.
import { jobPath, optional } from "../api.js";
import { stackedColumns } from "../charts.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { card, empty, section, table } from "../parts.js";

const PARTS = [["planning", "planning"], ["launching", "launching"], ["working", "working"], ["committing", "committing"]];
const SHOWN = 60;

export const load = async ({ jid }) => ({ answer: await optional(jobPath(jid, "epochs")) });

export function view({ answer }, context) {
  if (!answer) return empty("This server does not tell about epochs.", "Penstock's own does; Flink has none.");
  const epochs = answer.epochs ?? [];
  if (!epochs.length) return empty("No epoch has been committed yet.", "The first one takes longest: Spark starts its workers.");
  const last = epochs.slice(-SHOWN);
  const { ui } = context;
  const picked = last.find((e) => e.epoch === ui.picked) ?? last[last.length - 1];
  const pick = (key) => {
    ui.picked = key;
    context.redraw();
  };
  const mean = (name) => last.reduce((total, e) => total + e[name], 0) / last.length;
  return [
    h("div", { class: "cards" },
      card("Epochs", f.count(last[last.length - 1].epoch), `the last ${last.length} are shown`),
      card("Median length", f.duration(median(last.map((e) => e.duration))), "plan to publish"),
      card("Working", f.percent(mean("working") / Math.max(1, mean("duration"))), "of an epoch's time; the rest is overhead"),
      card("State in memory", f.percent(ratio(last)), "subtasks that found their state warm")),
    section("What epochs spend their time on",
      h("div", { class: "legend" }, PARTS.map(([name, text], n) => h("span", {}, h("i", { class: `swatch p${n}` }), text))),
      stackedColumns(last.map((e) => ({
        key: e.epoch, label: `epoch ${e.epoch}`, title: `epoch ${e.epoch}: ${f.duration(e.duration)}, ${f.count(e.records)} records`,
        parts: PARTS.map(([name]) => ({ name, value: e[name] })),
      })), { onpick: pick, picked: picked.epoch, label: "Time of epochs by what it was spent on" })),
    section("Epochs", table([
      ["Epoch", (e) => String(e.epoch)],
      ["Started", (e) => f.time(e["start-time"], true)],
      ["Length", (e) => f.duration(e.duration), { num: true }],
      ...PARTS.map(([name, text]) => [text[0].toUpperCase() + text.slice(1), (e) => f.duration(e[name]), { num: true }]),
      ["Records read", (e) => f.count(e.records), { num: true }],
      ["Records/s", (e) => f.rate(e.duration ? (e.records * 1000) / e.duration : 0), { num: true }],
    ], [...last].reverse().slice(0, 25), { key: (e) => e.epoch, rowClass: (e) => (e.epoch === picked.epoch ? "picked" : null), onpick: (e) => pick(e.epoch), caption: "Epochs" })),
  ];
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function ratio(epochs) {
  const subtasks = epochs.reduce((n, e) => n + (e.subtasks ?? 0), 0);
  return subtasks ? epochs.reduce((n, e) => n + (e.warm ?? 0), 0) / subtasks : null;
}
