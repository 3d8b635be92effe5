// A job of SQL: its statement, what becomes of it, and which changes its results are told with.
import { jobPath, optional } from "../api.js";
import { h } from "../dom.js";
import { empty, facts, section } from "../parts.js";

export const isSql = (job) => /^(insert-into|select|collect|execute-statement-set)/i.test(job.name) || job["job-kind"] === "sql";

export const load = async ({ jid }) => ({ answer: await optional(jobPath(jid, "sql")) });

export function view({ answer }) {
  if (!answer || !answer.statement) return empty("This job was not written in SQL, or the server does not keep statements.");
  return [
    section("Statement", h("pre", { class: "code", tabindex: "0" }, answer.statement)),
    answer["changelog-mode"] ? facts([["Changelog mode of the result", h("code", {}, String(answer["changelog-mode"]))]]) : null,
    answer.plan ? section("Plan", h("pre", { class: "code", tabindex: "0" }, answer.plan)) : null,
  ];
}
