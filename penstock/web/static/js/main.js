// The frame around all pages: routes, the header, and the refresh that keeps a page live.
import { get } from "./api.js";
import { h, render } from "./dom.js";
import { failure, loading } from "./parts.js";
import * as cluster from "./pages/cluster.js";
import * as job from "./pages/job.js";
import * as overview from "./pages/overview.js";

const PAGES = { "": overview, job, cluster };
const LINKS = [["", "Jobs"], ["cluster", "Cluster"]];
const LINKS_OF_HISTORY = [["", "Job history"]];
const app = { config: null, refreshMs: 3000, route: null, ui: {}, turn: 0, timer: null, failed: false };

function parse() {
  const [name = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const page = PAGES[name] ? name : "";
  return { name: page, parts: PAGES[name] ? rest : [], key: location.hash };
}

async function show(fresh) {
  clearTimeout(app.timer);
  const turn = ++app.turn;
  const route = app.route;
  const page = PAGES[route.name];
  const context = { route, ui: app.ui, features: app.config?.features ?? {}, refresh: () => show(false), config: app.config };
  const main = document.getElementById("main");
  if (fresh) {
    header();
    render(main, loading());
  }
  try {
    app.config ??= await get("config");
    context.config = app.config;
    context.features = app.config.features ?? {};
    header();
    app.refreshMs = Math.max(500, Number(app.config["refresh-interval"]) || 3000);
    const data = await page.load(context);
    if (turn !== app.turn) return;
    const draw = () => {
      const { title, content } = page.view(data, context);
      document.title = title ? `${title} · Penstock` : "Penstock";
      render(main, content);
    };
    context.redraw = draw;
    draw();
    connected(true);
  } catch (error) {
    if (turn !== app.turn) return;
    connected(error.status !== 0, error);
    if (fresh || error.status === 404 || error.status === 401) render(main, failure(error, () => show(true)));
  }
  if (!document.hidden && !document.querySelector("form.token")) app.timer = setTimeout(() => show(false), app.refreshMs);
}

function connected(ok, error) {
  if (!ok === app.failed) return;
  app.failed = !ok;
  document.body.classList.toggle("stale", !ok);
  render(document.getElementById("connection"), ok ? null : h("span", { class: "lost" }, `Connection lost: ${error.message}. Trying again…`));
}

function header() {
  const here = app.route.name === "job" ? "" : app.route.name;
  const links = app.config?.features?.["web-history"] ? LINKS_OF_HISTORY : LINKS;
  render(document.getElementById("nav"),
    links.map(([name, text]) => h("a", { href: `#/${name}`, "aria-current": name === here ? "page" : null }, text)));
}

function themeButton() {
  const button = document.getElementById("theme");
  const label = () => {
    const theme = window.penstockTheme.current;
    button.textContent = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[theme];
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  button.onclick = () => {
    window.penstockTheme.next();
    label();
  };
  label();
}

function go() {
  const before = app.route;
  app.route = parse();
  const same = before && before.name === app.route.name && before.parts[0] === app.route.parts[0];
  if (!same) app.ui = {};
  show(!same || before.parts[1] !== app.route.parts[1]);
}

window.addEventListener("hashchange", go);
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(app.timer) : show(false)));
themeButton();
go();
