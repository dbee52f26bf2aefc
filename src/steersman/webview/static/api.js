// Requests to the operator, all of them to this very server, with the token of its address.
import { t } from "./language.js";

const KEY = "steersman.token";
/** Milliseconds without a word after which the operator is taken to be gone; it speaks every two seconds. */
const SILENCE = 7000;

/** Take the token out of the address, so that neither a screenshot nor a copied link shows it. */
function readToken() {
  const places = [location.hash.replace(/^#(.*\?)?/, ""), location.search];
  const token = places.map((place) => new URLSearchParams(place).get("token")).find(Boolean);
  if (token) {
    localStorage.setItem(KEY, token);
    const page = location.hash.replace(/\??&?token=[^&]*/, "");
    history.replaceState(null, "", `/${page.startsWith("#/") ? page : "#/"}`);
  }
  return token ?? localStorage.getItem(KEY) ?? "";
}

const token = readToken();
export const hasToken = token !== "";
const headers = { authorization: `Bearer ${token}` };

/** A request that was answered with a failure; the message is the operator's own sentence. */
export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function failureOf(response) {
  const body = await response.json().catch(() => ({}));
  return new Failure(response.status, body.error ?? t("state.failed", { status: response.status }));
}

/** Return the JSON of a path below /api/. */
export async function get(path) {
  const response = await fetch(`/api/${path}`, { headers });
  if (!response.ok) throw await failureOf(response);
  return response.json();
}

async function post(path, value) {
  const response = await fetch(`/api/${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(value),
  });
  if (!response.ok) throw await failureOf(response);
  return response.json();
}

/** Carry out an action; return the operator's sentence about it. */
export const act = async (action) => (await post("actions", action)).done;

/** Return what the operator would do, as if a text were applied, or paused objects were resumed; nothing is written. */
export const plan = (request) => post("plan", request);

/** Return what the API server objects to in a YAML text; nothing is written. */
export const check = async (text) => (await post("check", { text })).problems;

/** Return the path of an object's data. */
export const pathOf = ([kind, namespace, name, group]) =>
  ["objects", group ? `${kind}.${group}` : kind, namespace || "-", name].map(encodeURIComponent).join("/");

/**
 * Receive live updates for as long as the page is open; connect again after every failure.
 * `on` has `connected()`, `event(name, data)` and `disconnected(error)`.
 */
export async function follow(on) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
    const abort = new AbortController();
    try {
      const response = await fetch("/api/stream", { headers, signal: abort.signal });
      if (!response.ok) throw await failureOf(response);
      on.connected();
      wait = 500;
      await receive(response.body.getReader(), on, abort);
    } catch (error) {
      on.disconnected(error);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function receive(reader, on, abort) {
  const decoder = new TextDecoder();
  let text = "";
  let alarm;
  const listen = () => {
    clearTimeout(alarm);
    alarm = setTimeout(() => abort.abort(), SILENCE);
  };
  try {
    for (;;) {
      listen();
      const { done, value } = await reader.read();
      if (done) throw new Error("the stream ended");
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const [event, data] = block.split("\n");
        on.event(event.slice("event: ".length), JSON.parse(data.slice("data: ".length)));
      }
    }
  } finally {
    clearTimeout(alarm);
  }
}
