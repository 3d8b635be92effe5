// What was seen over time while the page is open: points of named series, and rates of counters.

const KEPT_MS = 15 * 60 * 1000;
const known = new Map();

/** Adds a point and gives the series; points older than a quarter of an hour go. */
export function remember(name, value, now = Date.now()) {
  const points = known.get(name) ?? known.set(name, []).get(name);
  const number = Number(value);
  if (value !== null && value !== undefined && value !== "" && Number.isFinite(number)) {
    if (!points.length || now - points[points.length - 1][0] >= 200) points.push([now, number]);
  }
  while (points.length && now - points[0][0] > KEPT_MS) points.shift();
  return points;
}

const totals = new Map();

/** How fast a counter grows, per second, between the last two looks at it; null at the first. */
export function rateOf(name, total, now = Date.now()) {
  const before = totals.get(name);
  if (before && now - before.at < 200) return before.rate;
  const grown = before ? ((total - before.total) * 1000) / (now - before.at) : null;
  const rate = grown === null ? null : Math.max(0, grown);
  totals.set(name, { at: now, total, rate });
  return rate;
}

export const seriesOf = (name) => known.get(name) ?? [];
