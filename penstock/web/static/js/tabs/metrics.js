// Any metric of any vertex as a line; what is chosen here is remembered for the job while the page is open.
import { get, jobPath, metrics } from "../api.js";
import { lineChart } from "../charts.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { empty, section } from "../parts.js";
import { remember, seriesOf } from "../series.js";
import { plain } from "../vertices.js";

const DEFAULTS = ["numRecordsInPerSecond", "numRecordsOutPerSecond", "busyTimeMsPerSecond", "idleTimeMsPerSecond"];
const LISTED = 400;

export async function load({ job, jid, ui }) {
  ui.vertex ??= job.vertices[0]?.id;
  ui.chosen ??= {};
  ui.filter ??= "";
  if (!ui.vertex) return { ids: [] };
  const path = `${jobPath(jid, "vertices", ui.vertex)}/subtasks/metrics`;
  const ids = (await get(path)).map((m) => m.id).sort();
  const chosen = (ui.chosen[ui.vertex] ??= DEFAULTS.filter((id) => ids.includes(id)));
  const values = await metrics(path, chosen);
  for (const id of chosen) {
    for (const part of ["sum", "min", "max"]) remember(name(jid, ui.vertex, id, part), values[id]?.[part]);
  }
  return { ids, values };
}

const name = (jid, vertex, id, part) => `${jid}.${vertex}.${id}.${part}`;

export function view({ ids, values }, context) {
  const { job, jid, ui } = context;
  if (!ui.vertex) return empty("This job has no vertices.");
  const chosen = ui.chosen[ui.vertex] ?? [];
  const toggle = (id) => {
    ui.chosen[ui.vertex] = chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id];
    context.refresh();
  };
  const found = ids.filter((id) => id.toLowerCase().includes(ui.filter.toLowerCase()));
  return h("div", { class: "with-side" },
    h("aside", { class: "panel side" },
      h("label", { class: "field" }, h("span", {}, "Vertex"),
        h("select", { onchange: (event) => { ui.vertex = event.target.value; context.refresh(); } },
          job.vertices.map((v) => h("option", { value: v.id, selected: v.id === ui.vertex }, plain(v.name).slice(0, 60))))),
      h("label", { class: "field" }, h("span", {}, `Metrics (${f.count(found.length)})`),
        h("input", { type: "search", placeholder: "Filter, e.g. watermark", oninput: (event) => { ui.filter = event.target.value; context.redraw(); } })),
      h("div", { class: "choices", role: "group", "aria-label": "Metrics" },
        found.slice(0, LISTED).map((id) => h("button", { type: "button", class: "choice", "aria-pressed": String(chosen.includes(id)), "data-key": id, title: id, onclick: () => toggle(id) }, id)))),
    h("div", { class: "charts" },
      chosen.length ? chosen.map((id) => chartOf(id, values?.[id], (part) => seriesOf(name(jid, ui.vertex, id, part)), () => toggle(id))) : empty("Pick a metric on the left.")));
}

function chartOf(id, value, points, remove) {
  const lines = ["sum", "max", "min"].map((part) => ({ points: points(part) }));
  const format = /[bB]ytes|Size/.test(id) ? f.bytes : f.short;
  return h("section", { class: "panel", "data-key": id },
    h("div", { class: "drawer-head" }, h("h2", { class: "metric-name" }, id.split(".").pop(), id.includes(".") ? h("small", {}, ` ${id}`) : null),
      h("button", { type: "button", class: "quiet", "aria-label": `Remove ${id}`, onclick: remove }, "Remove")),
    h("p", { class: "legend" }, [["c0", "sum"], ["c1", "max"], ["c2", "min"]].map(([c, part]) =>
      h("span", {}, h("i", { class: `swatch ${c}` }), `${part} ${format(value?.[part])}`))),
    lineChart(lines, { label: id, format }));
}
