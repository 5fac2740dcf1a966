// The server's HTTP API, as this page uses it: the session's cookie says who asks, a header that it is this page.

export class Problem extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, { status, code: error.code, fields: error.fields ?? {}, what: error.what, hint: error.hint, table: error.table });
  }
}

/** Nothing was heard: the same request may be sent again. */
export class Offline extends Error {}

export async function call(method, path, body, options = {}) {
  const response = await raw(method, `/v1${path}`, body, options);
  return options.blob ? response.blob() : response.json();
}

async function raw(method, path, body, { signal, file } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      credentials: "same-origin",
      headers: { "x-dither": "page", ...(asker && { "x-dither-as": encodeURIComponent(asker) }), ...(file || body === undefined ? {} : { "content-type": "application/json" }), ...(file && { "content-type": file.type }) },
      body: file ?? (body === undefined ? undefined : JSON.stringify(body)),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Offline("the server cannot be reached.");
  }
  if (response.ok) return response;
  const found = await response.json().catch(() => ({}));
  const error = new Problem(response.status, found.error ?? { code: "internal", message: "something went wrong." });
  if (response.status === 401 && !path.startsWith("/session")) document.dispatchEvent(new Event("signed-out"));
  throw error;
}

export const signIn = (token) => raw("POST", "/session", { token });
/** Who is signed in, if anybody is. */
export const session = async () => (await raw("GET", "/session")).json();
export const signOut = () => raw("DELETE", "/session");

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
let who = null; // signed in now: what one has asked is never sent again in the name of another
let asker = null; // told with every request: in another tab somebody else may have signed in since

/** Somebody has signed in, or nobody is any more. */
export function becomes(session) {
  who = session && `dither.pending ${session.role} ${session.name ?? ""}`;
  asker = session && (session.name === null ? session.role : `${session.role} ${session.name}`);
}

/** The question whose answer was not heard yet, if its asker has left the page meanwhile. */
export function pending() {
  const kept = sessionStorage.getItem(who);
  return kept && JSON.parse(kept);
}

/** Ask as a job. Its request id is kept until the answer is here: sent again, it is charged once and gets that answer. */
export async function ask(question, onState, stopped) {
  const body = { ...question, request: question.request ?? `page ${identifier()}` };
  const own = who;
  sessionStorage.setItem(own, JSON.stringify(body));
  let job = null;
  for (let wait = 100; ; wait = Math.min(1000, wait * 1.5)) {
    if (who !== own) throw new Problem(401, { code: "stranger", message: "Somebody else is signed in." });
    try {
      job ??= (await call("POST", "/jobs", body)).id;
      if (stopped()) await call("DELETE", `/jobs/${job}`);
      const state = await call("GET", `/jobs/${job}`);
      if (state.state === "done") {
        const answer = await call("GET", `/answers/${state.answer}`);
        sessionStorage.removeItem(own);
        return { ...answer, asked: body };
      }
      if (state.state === "failed") throw new Problem(400, state.error);
      if (state.state === "cancelled") throw new Problem(400, { code: "cancelled", message: "Taken back: nothing was charged." });
      onState(stopped() ? "it has begun and cannot be taken back" : state.state);
    } catch (error) {
      if (!(error instanceof Offline)) {
        sessionStorage.removeItem(own);
        throw error;
      }
      if (stopped() && job === null) throw error;
      onState("the connection is lost; trying again, charged once at most");
    }
    await pause(wait);
  }
}

function identifier() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
