// What the job was started with. Secrets are masked by the server.
import { get, jobPath } from "../api.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { empty, facts, section, table } from "../parts.js";

export const load = async ({ jid }) => ({ config: await get(jobPath(jid, "config")) });

export function view({ config }, context) {
  const { ui } = context;
  const execution = config["execution-config"] ?? {};
  const own = Object.entries(execution["user-config"] ?? {}).sort(([a], [b]) => a.localeCompare(b));
  const wanted = (ui.filter ?? "").toLowerCase();
  const shown = own.filter(([key, value]) => key.toLowerCase().includes(wanted) || String(value).toLowerCase().includes(wanted));
  return [
    section("Execution", facts([
      ["Parallelism", f.count(execution["job-parallelism"])],
      ["Restart strategy", execution["restart-strategy"] ?? f.DASH],
      ["Object reuse", execution["object-reuse-mode"] ? "on" : "off"],
    ])),
    section("Options and parameters",
      own.length > 8 ? h("label", { class: "field narrow" }, h("span", {}, "Filter"), h("input", { type: "search", oninput: (event) => { ui.filter = event.target.value; context.redraw(); } })) : null,
      own.length ? table([["Key", ([key]) => h("code", {}, key)], ["Value", ([, value]) => h("code", { class: "path" }, String(value))]], shown, { key: ([key]) => key, caption: "Options" })
        : empty("The job was started with defaults.")),
  ];
}
