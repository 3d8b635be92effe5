// What went wrong, newest first, with the traceback of the user's function.
import { get, jobPath } from "../api.js";
import { h } from "../dom.js";
import * as f from "../format.js";
import { empty } from "../parts.js";

export const load = async ({ jid }) => ({ answer: await get(`${jobPath(jid, "exceptions")}?maxExceptions=50`) });

export function view({ answer }, { job }) {
  const entries = answer.exceptionHistory?.entries ?? [];
  if (!entries.length) return empty("Nothing has failed.", job.state === "RUNNING" ? "Failures will be listed here with their tracebacks." : null);
  return [
    entries.map((entry, n) => one(entry, n === 0)),
    answer.exceptionHistory.truncated ? h("p", { class: "quiet-text" }, "Older ones are not kept (web.exception-history-size).") : null,
  ];
}

const one = (entry, open) =>
  h("details", { class: "exception panel", "data-key": `${entry.timestamp}-${entry.exceptionName}`, open },
    h("summary", {},
      h("span", { class: "bad-text" }, shortName(entry.exceptionName)),
      h("span", { class: "exception-what" }, firstLine(entry)),
      h("time", {}, f.time(entry.timestamp))),
    h("p", { class: "quiet-text" },
      [entry.taskName, entry.endpoint, ...Object.entries(entry.failureLabels ?? {}).map(([k, v]) => `${k}: ${v}`)].filter(Boolean).join(" · ")),
    h("pre", { class: "trace", tabindex: "0" }, entry.stacktrace ?? ""),
    (entry.concurrentExceptions ?? []).map((other) => one(other, false)));

const shortName = (name) => String(name ?? "Error").split(".").pop();

/** What happened, in a line: of a traceback the line behind its frames. */
function firstLine({ stacktrace }) {
  const lines = String(stacktrace ?? "").split("\n");
  const line = lines.find((text) => /^\S/.test(text) && !text.includes("Traceback (most recent")) ?? "";
  return line.replace(/^[\w.$]*(Error|Exception): /, "");
}
