// One job: its name, state and buttons, and tabs for the rest.
import { get, jobPath } from "../api.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { badge } from "../parts.js";
import { cancelJob, savepointOf, stopJob } from "../actions.js";
import * as checkpoints from "../tabs/checkpoints.js";
import * as configuration from "../tabs/configuration.js";
import * as epochs from "../tabs/epochs.js";
import * as exceptions from "../tabs/exceptions.js";
import * as graph from "../tabs/graph.js";
import * as metrics from "../tabs/metrics.js";
import * as records from "../tabs/records.js";
import * as sql from "../tabs/sql.js";

const TABS = [
  ["graph", "Graph", graph], ["epochs", "Epochs", epochs], ["checkpoints", "Checkpoints", checkpoints],
  ["exceptions", "Exceptions", exceptions], ["metrics", "Metrics", metrics], ["records", "Skew, late & dead letters", records],
  ["sql", "SQL", sql], ["configuration", "Configuration", configuration],
];
const ENDED = ["FINISHED", "CANCELED", "FAILED"];

const chosen = (context) => TABS.find(([name]) => name === context.route.parts[1]) ?? TABS[0];

export async function load(context) {
  const jid = context.route.parts[0] ?? "";
  const job = await get(jobPath(jid));
  const [name, , tab] = chosen(context);
  context.ui[name] ??= {};
  const own = { ...context, jid, job, ui: context.ui[name] };
  if (context.ui.hasSql === undefined) context.ui.hasSql = sql.isSql(job);
  return { job, own, tab, data: await tab.load(own) };
}

export function view({ job, own, tab, data }, context) {
  own.redraw = context.redraw;
  const [name] = chosen(context);
  return {
    title: job.name,
    content: [
      h("nav", { class: "crumbs", "aria-label": "Breadcrumb" }, h("a", { href: "#/" }, "Jobs"), h("span", {}, "/"), h("span", {}, job.name)),
      h("div", { class: "job-head" },
        h("div", {},
          h("h1", {}, job.name, " ", badge(job.state)),
          h("p", { class: "quiet-text" },
            h("code", { title: "Job id" }, job.jid), ` · ${(job["job-type"] ?? "STREAMING").toLowerCase()} · started ${f.time(job["start-time"])} · `,
            h("span", {}, ENDED.includes(job.state) ? `ran ${f.duration(job.duration)}` : `running for ${f.duration(job.now - job["start-time"])}`))),
        ENDED.includes(job.state) ? null : buttons(job, own)),
      h("nav", { class: "tabs", "aria-label": "Job" },
        TABS.filter(([n]) => n === name || isThere(n, context)).map(([n, title]) =>
          h("a", { href: `#/job/${encodeURIComponent(job.jid)}/${n}`, "aria-current": n === name ? "page" : null, "data-key": n }, title))),
      h("div", { class: "tab", "data-key": name }, tab.view(data, own)),
    ],
  };
}

/** SQL is for jobs of SQL; values of metrics are not archived. */
const isThere = (tab, { ui, features }) => (tab === "sql" ? ui.hasSql : tab === "metrics" ? !features["web-history"] : true);

const buttons = (job, own) =>
  h("div", { class: "actions" },
    h("button", { type: "button", onclick: () => savepointOf(job, own.refresh) }, "Savepoint…"),
    h("button", { type: "button", onclick: () => stopJob(job, own.refresh) }, "Stop…"),
    own.features["web-cancel"] === false ? null : h("button", { type: "button", class: "danger", onclick: () => cancelJob(job, own.refresh) }, "Cancel…"));
