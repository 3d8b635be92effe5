// Numbers, times and sizes as people read them.

const MIN_LONG = -9223372036854775808;
const MAX_LONG = 9223372036854775807;

export const DASH = "–";

export function count(value) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return DASH;
  return Math.round(Number(value)).toLocaleString("en-US");
}

/** 1234567 → 1.23 M; for where there is little room. */
export function short(value) {
  const n = Number(value);
  if (value === null || value === undefined || Number.isNaN(n)) return DASH;
  for (const [limit, unit] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(n) >= limit) return `${trim(n / (unit === "k" ? 1e3 : limit))} ${unit}`;
  }
  return Math.abs(n) < 10 && !Number.isInteger(n) ? trim(n) : count(n);
}

export function bytes(value) {
  const n = Number(value);
  if (value === null || value === undefined || Number.isNaN(n)) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = n;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(size) : trim(size)} ${units[unit]}`;
}

export const rate = (value) => (value === null || value === undefined ? DASH : `${short(value)}/s`);

export const percent = (share) => (share === null || share === undefined ? DASH : `${Math.round(share * 100)} %`);

/** Milliseconds as 12 ms, 3.4 s, 5 m 10 s, 2 h 5 m, 3 d 4 h. */
export function duration(ms) {
  const n = Number(ms);
  if (ms === null || ms === undefined || Number.isNaN(n) || n < 0) return DASH;
  if (n < 1000) return `${Math.round(n)} ms`;
  const seconds = n / 1000;
  if (seconds < 60) return `${seconds < 10 ? trim(seconds) : Math.floor(seconds)} s`;
  const steps = [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]];
  const [large, a, small, b] = steps.find(([size]) => seconds >= size);
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${a}${rest ? ` ${rest} ${b}` : ""}`;
}

const pad = (n, width = 2) => String(n).padStart(width, "0");

export function time(ms, withMillis = false) {
  if (!ms || ms < 0) return DASH;
  const d = new Date(ms);
  const day = `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
  const clock = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return `${day} ${clock}${withMillis ? `.${pad(d.getMilliseconds(), 3)}` : ""}`;
}

export const clock = (ms) => (ms && ms > 0 ? time(ms).slice(11) : DASH);

/** A watermark: a moment, or what its two ends mean. */
export function watermark(value) {
  const n = Number(value);
  if (value === null || value === undefined || value === "" || Number.isNaN(n) || n <= MIN_LONG) return "none yet";
  return n >= MAX_LONG ? "end of input" : time(n);
}

/** How far a watermark is behind now, in milliseconds; null where that means nothing. */
export function lag(value, now) {
  const n = Number(value);
  if (value === null || value === undefined || value === "" || Number.isNaN(n) || n <= MIN_LONG || n >= MAX_LONG) return null;
  return Math.max(0, now - n);
}

export const ago = (ms, now) => (ms && ms > 0 ? `${duration(Math.max(0, now - ms))} ago` : DASH);

export const id8 = (id) => (id ? id.slice(0, 8) : DASH);

function trim(n) {
  const digits = Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2;
  return n.toFixed(digits).replace(/\.?0+$/, (zeros) => (zeros.includes(".") ? "" : zeros));
}
