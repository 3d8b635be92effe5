// Where jobs run: task managers, and how the server is configured.
import { get, optional } from "../api.js";
import { meterBar } from "../charts.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { card, empty, section, table } from "../parts.js";

export async function load() {
  const [overview, managers, config] = await Promise.all([get("overview"), optional("taskmanagers"), optional("jobmanager/config")]);
  return { overview, managers: managers?.taskmanagers ?? [], config: config ?? [] };
}

export function view({ overview, managers, config }, context) {
  const { ui } = context;
  const wanted = (ui.filter ?? "").toLowerCase();
  const rows = config.filter(({ key, value }) => `${key} ${value}`.toLowerCase().includes(wanted));
  return {
    title: "Cluster",
    content: [
      h("h1", {}, "Cluster"),
      h("div", { class: "cards" },
        card("Task managers", f.count(overview.taskmanagers), "Spark executors"),
        card("Task slots", f.count(overview["slots-total"]), `${f.count(overview["slots-available"])} free`)),
      section("Task managers", managers.length ? table([
        ["Id", (m) => h("code", {}, m.id)],
        ["Address", (m) => m.path ?? f.DASH],
        ["Slots in use", (m) => [meterBar((m.slotsNumber - m.freeSlots) / Math.max(1, m.slotsNumber), "accent"), ` ${m.slotsNumber - m.freeSlots} of ${m.slotsNumber}`]],
        ["CPU cores", (m) => f.count(m.hardware?.cpuCores), { num: true }],
        ["Memory", (m) => f.bytes(m.hardware?.physicalMemory), { num: true }],
        ["Last heard of", (m) => f.ago(m.timeSinceLastHeartbeat, Date.now()), { num: true }],
      ], managers, { key: (m) => m.id, caption: "Task managers" }) : empty("There is none.", "Spark has not started an executor yet.")),
      config.length ? section("Configuration",
        h("label", { class: "field narrow" }, h("span", {}, "Filter"), h("input", { type: "search", oninput: (event) => { ui.filter = event.target.value; context.redraw(); } })),
        table([["Key", (one) => h("code", {}, one.key)], ["Value", (one) => h("code", { class: "path" }, one.value)]], rows, { key: (one) => one.key, caption: "Configuration" })) : null,
    ],
  };
}
