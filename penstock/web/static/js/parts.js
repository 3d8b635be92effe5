// Pieces that several pages show.
import { setToken } from "./api.js";
import { h } from "./dom.js";
import * as f from "./format.js";

const GOOD = ["RUNNING", "FINISHED", "COMPLETED"];
const BAD = ["FAILED", "FAILING"];
const ON_THE_WAY = ["CREATED", "INITIALIZING", "SCHEDULED", "DEPLOYING", "RESTARTING", "RECONCILING", "CANCELLING", "CANCELING", "IN_PROGRESS"];

const tone = (status) =>
  status === "FINISHED" ? "done" : GOOD.includes(status) ? "good" : BAD.includes(status) ? "bad" : ON_THE_WAY.includes(status) ? "wait" : "off";

export const badge = (status) => h("span", { class: `badge ${tone(status)}` }, status.replaceAll("_", " ").toLowerCase());

export const card = (title, value, note) =>
  h("div", { class: "card" }, h("div", { class: "card-title" }, title), h("div", { class: "card-value" }, value), note ? h("div", { class: "card-note" }, note) : null);

export const section = (title, ...children) => h("section", { class: "panel" }, title ? h("h2", {}, title) : null, children);

export const empty = (text, hint) => h("div", { class: "empty" }, h("p", {}, text), hint ? h("p", { class: "hint" }, hint) : null);

export const loading = () => h("div", { class: "loading", role: "status" }, h("span", { class: "spinner" }), "Loading…");

/** Asks for the token that a server on another address than loopback wants. */
const tokenForm = (again) =>
  h("form", {
    class: "empty token",
    onsubmit: (event) => {
      event.preventDefault();
      setToken(event.target.elements.token.value.trim());
      again();
    },
  },
  h("p", {}, "This server wants a token."),
  h("p", { class: "hint" }, "It is in the file that penstock.rest.token-file names, and is kept for this tab only."),
  h("input", { type: "password", name: "token", "aria-label": "Token", autocomplete: "off" }), " ",
  h("button", { type: "submit", class: "primary" }, "Continue"));

export const failure = (error, again) =>
  error.status === 401 ? tokenForm(again) : h("div", { class: "empty failure", role: "alert" },
    h("p", {}, error.status === 404 ? "There is no such thing here." : "That could not be loaded."),
    h("p", { class: "hint" }, error.message),
    h("p", {}, h("button", { type: "button", onclick: again }, "Try again"), " ", h("a", { href: "#/" }, "All jobs")));

/** columns: [title, cell(row), {num, key}]; rows have a key so that a refresh finds them again. */
export function table(columns, rows, { key = (row, n) => n, rowClass, onpick, caption } = {}) {
  const cells = (row) => columns.map(([, cell, how]) => h("td", { class: how?.num ? "num" : how?.class }, cell(row)));
  const row = (r, n) =>
    h("tr", {
      "data-key": key(r, n), class: [rowClass?.(r), onpick && "pickable"],
      tabindex: onpick ? "0" : null, onclick: onpick && (() => onpick(r)),
      onkeydown: onpick && ((event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          onpick(r);
        }
      }),
    }, cells(r));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption ?? "Table" },
    h("table", {}, h("thead", {}, h("tr", {}, columns.map(([title, , how]) => h("th", { class: how?.num ? "num" : null, scope: "col" }, title)))),
      h("tbody", {}, rows.map(row))));
}

export const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.filter((p) => p).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

export const mono = (text) => h("code", {}, text ?? f.DASH);

/** Numbers of a distribution as Flink's REST gives them. */
export const spread = (rows) =>
  table(
    [["", (r) => r[0]], ...[["Minimum", "min"], ["Average", "avg"], ["Median", "p50"], ["90 %", "p90"], ["99 %", "p99"], ["Maximum", "max"]]
      .map(([title, key]) => [title, (r) => r[2](r[1]?.[key]), { num: true }])],
    rows.filter((r) => r[1]), { key: (r) => r[0] });
