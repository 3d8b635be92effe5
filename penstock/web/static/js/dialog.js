// Questions before something happens that cannot be taken back, and short messages afterwards.
import { h } from "./dom.js";

/** Asks; resolves to the values of the fields, or null if the answer is no. */
export function confirm({ title, text, action, danger = false, fields = [] }) {
  return new Promise((resolve) => {
    const inputs = fields.map((f) =>
      f.kind === "checkbox"
        ? h("label", { class: "check" }, h("input", { type: "checkbox", name: f.name }), h("span", {}, f.label))
        : h("label", { class: "field" }, h("span", {}, f.label),
            h("input", { type: "text", name: f.name, placeholder: f.placeholder, spellcheck: "false", autocomplete: "off" })));
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" });
    const form = h("form", { method: "dialog" },
      h("h2", { id: "dialog-title" }, title),
      text ? h("p", {}, text) : null,
      inputs,
      h("div", { class: "actions" },
        h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Go back"),
        h("button", { type: "submit", value: "yes", class: danger ? "danger" : "primary", id: "confirm" }, action)));
    form.onsubmit = () => {
      dialog.answer = Object.fromEntries(
        [...form.elements].filter((e) => e.name).map((e) => [e.name, e.type === "checkbox" ? e.checked : e.value.trim()]));
    };
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.answer ?? null);
    });
    dialog.append(form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A message that goes by itself; errors stay until they are closed. */
export function toast(text, kind = "info") {
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close" }, "×");
  const box = h("div", { class: `toast ${kind}` }, h("span", {}, text), close);
  close.onclick = () => box.remove();
  document.getElementById("toasts").append(box);
  if (kind !== "error") setTimeout(() => box.remove(), 6000);
}
