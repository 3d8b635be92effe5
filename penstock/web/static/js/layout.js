// Where the vertices of a job go: layers from left to right, few crossings, short edges.
//
//   1. a layer is the longest way from a source            3. within a layer, order by the middle of the neighbours
//   2. an edge over several layers gets a bend in each      4. heights: near the neighbours, without overlap
//
// Plain data in and out, so that it can be tested without a page.

const SWEEPS = 8;

/** nodes: [{id, inputs: [id]}]; gives {nodes: {id: {x, y}}, edges: [{from, to, points}], width, height}. */
export function layered(nodes, { width = 236, height = 132, gapX = 74, gapY = 26 } = {}) {
  const layer = longestPaths(nodes);
  const { items, links, edges } = withBends(nodes, layer);
  const layers = [];
  for (const item of items) (layers[item.layer] ??= []).push(item);
  order(layers, links);
  const size = (item) => (item.bend ? 12 : height);
  place(layers, links, size, gapY);
  const top = Math.min(...items.map((item) => item.y - size(item) / 2), 0);
  const at = Object.fromEntries(items.filter((i) => !i.bend).map((i) => [i.id, { x: i.layer * (width + gapX), y: i.y - top - height / 2 }]));
  const lines = edges.map((edge) => ({
    from: edge.from, to: edge.to,
    points: edge.path.flatMap((item, n) => {
      const left = item.layer * (width + gapX);
      const y = item.y - top;
      if (n === 0) return [[left + width, y]];
      return n === edge.path.length - 1 ? [[left, y]] : [[left, y], [left + width, y]];
    }),
  }));
  return {
    nodes: at, edges: lines,
    width: layers.length * (width + gapX) - gapX,
    height: Math.max(...items.map((item) => item.y - top + size(item) / 2), 0),
  };
}

function longestPaths(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const layer = new Map();
  const visit = (id, trail) => {
    if (layer.has(id)) return layer.get(id);
    if (trail.has(id)) return 0; // an iteration's way back
    trail.add(id);
    const before = byId.get(id).inputs.filter((i) => byId.has(i)).map((i) => visit(i, trail) + 1);
    trail.delete(id);
    layer.set(id, Math.max(0, ...before));
    return layer.get(id);
  };
  for (const node of nodes) visit(node.id, new Set());
  return layer;
}

function withBends(nodes, layer) {
  const items = nodes.map((node) => ({ id: node.id, layer: layer.get(node.id) }));
  const byId = new Map(items.map((item) => [item.id, item]));
  const links = [];
  const edges = [];
  for (const node of nodes) {
    for (const input of node.inputs) {
      if (!byId.has(input)) continue;
      const path = [byId.get(input)];
      for (let at = layer.get(input) + 1; at < layer.get(node.id); at += 1) {
        const bend = { id: `${input}>${node.id}@${at}`, layer: at, bend: true };
        items.push(bend);
        path.push(bend);
      }
      path.push(byId.get(node.id));
      for (let n = 1; n < path.length; n += 1) links.push([path[n - 1], path[n]]);
      edges.push({ from: input, to: node.id, path });
    }
  }
  return { items, links, edges };
}

function neighbours(links) {
  const before = new Map();
  const after = new Map();
  for (const [a, b] of links) {
    (after.get(a) ?? after.set(a, []).get(a)).push(b);
    (before.get(b) ?? before.set(b, []).get(b)).push(a);
  }
  return { before, after };
}

function order(layers, links) {
  const { before, after } = neighbours(links);
  for (const items of layers) items.forEach((item, n) => { item.rank = n; });
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const items of forward ? layers : [...layers].reverse()) {
      const near = forward ? before : after;
      for (const item of items) item.wish = mean(near.get(item)?.map((n) => n.rank)) ?? item.rank;
      items.sort((a, b) => a.wish - b.wish || a.rank - b.rank);
      items.forEach((item, n) => { item.rank = n; });
    }
  }
}

function place(layers, links, size, gap) {
  const { before, after } = neighbours(links);
  for (const items of layers) stack(items, size, gap, () => null);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    const near = forward ? before : after;
    for (const items of forward ? layers : [...layers].reverse()) {
      stack(items, size, gap, (item) => mean(near.get(item)?.map((n) => n.y)));
    }
  }
}

/** Puts a layer's items near their wishes, in order and apart: down from the top, then back up from the bottom. */
function stack(items, size, gap, wish) {
  const wishes = items.map((item) => wish(item) ?? item.y ?? 0);
  const apart = (a, b) => (size(a) + size(b)) / 2 + gap;
  const down = [];
  items.forEach((item, n) => { down[n] = n ? Math.max(wishes[n], down[n - 1] + apart(items[n - 1], item)) : wishes[n]; });
  const up = [];
  for (let n = items.length - 1; n >= 0; n -= 1) {
    up[n] = n === items.length - 1 ? wishes[n] : Math.min(wishes[n], up[n + 1] - apart(items[n], items[n + 1]));
  }
  items.forEach((item, n) => { item.y = (down[n] + up[n]) / 2; });
}

const mean = (values) => (values?.length ? values.reduce((a, b) => a + b, 0) / values.length : undefined);
