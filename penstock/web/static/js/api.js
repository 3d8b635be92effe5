// Talking to the REST interface: Flink's paths and shapes, and a few of our own that another server need not have.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// A server on another address than loopback wants a token; it is kept for this tab only.
const KEY = "penstock.token";
export const setToken = (token) => sessionStorage.setItem(KEY, token);
const identity = () => {
  const token = sessionStorage.getItem(KEY);
  return token ? { Authorization: `Bearer ${token}` } : {};
};

async function request(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...options, headers: { ...options.headers, ...identity() } });
  } catch {
    throw new ApiError(0, "the server does not answer");
  }
  const text = await answer.text();
  let body = null;
  try {
    body = text ? JSON.parse(exact(text)) : null;
  } catch {
    // not JSON: the status says enough
  }
  if (!answer.ok) throw new ApiError(answer.status, firstLine(body?.errors) ?? `${answer.status} ${answer.statusText}`);
  return body;
}

// Watermarks are 64-bit numbers; those that a double cannot hold are kept as texts.
const exact = (text) => text.replace(/([:[,]\s*)(-?\d{16,})(?=\s*[,}\]])/g, '$1"$2"');

const firstLine = (errors) => {
  const told = (errors ?? []).map((e) => String(e).trim()).filter((e) => e && !e.startsWith("Internal server error"));
  return told.length ? told[told.length - 1] : errors?.[0];
};

export const get = (path) => request(path);

export const send = (method, path, body) =>
  request(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

/** Like get, and null where the server has nothing of the kind. */
export async function optional(path) {
  try {
    return await get(path);
  } catch (error) {
    if ([400, 403, 404, 405].includes(error.status)) return null;
    throw error;
  }
}

/** Asks what became of an operation until it is done: savepoints, stops. */
export async function finished(path, everyMs = 500) {
  for (;;) {
    const answer = await get(path);
    if (answer.status?.id === "COMPLETED") {
      const failure = answer.operation?.["failure-cause"] ?? answer.operation?.failureCause;
      if (failure) throw new ApiError(200, cause(failure));
      return answer.operation ?? {};
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

const cause = (failure) => String(failure["stack-trace"] ?? failure.class ?? failure).split("\n")[0];

const q = encodeURIComponent;
export const jobPath = (jid, ...rest) => ["jobs", jid, ...rest].map(q).join("/");

/** Values of metrics by id. */
export async function metrics(path, ids) {
  if (!ids.length) return {};
  const found = await optional(`${path}?get=${ids.map(q).join(",")}`);
  return Object.fromEntries((found ?? []).map((m) => [m.id, m]));
}
