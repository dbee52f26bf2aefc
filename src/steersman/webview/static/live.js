// What the whole page shares: the link to the operator, the state of the whole, and who wants to know of changes.
import { follow, get } from "./api.js";
import { setNow } from "./format.js";

const listeners = new Set();

export const live = {
  /** `connecting`, `live`, `lost` or `refused`. */
  status: "connecting",
  /** Why there is no link. */
  error: null,
  /** When the operator last spoke, in the browser's time. */
  heard: 0,
  overview: null,
  actions: [],
  /** Whether plans can be made. */
  plans: false,
  faults: [],
};

/** Call back with every `(event, data)`: `link`, `overview`, `changed`. Return what ends that. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const offers = (action) => live.actions.includes(action);

/** Return whether the operator reconciles objects of a kind. */
export const isReconciled = (kind) => live.overview?.controllers?.some((one) => one.kind === kind) ?? false;

function notify(event, data) {
  for (const listener of [...listeners]) listener(event, data);
}

function setStatus(status, error = null) {
  live.status = status;
  live.error = error;
  notify("link");
}

export function start() {
  follow({
    connected() {
      const isFirst = live.status === "connecting";
      setStatus("live");
      loadActions();
      // What happened in between is not sent again.
      if (!isFirst) notify("changed", { reload: true });
    },
    disconnected(error) {
      setStatus(error.status === 401 || error.status === 403 ? "refused" : "lost", error);
    },
    event(name, data) {
      live.heard = Date.now();
      if (name === "overview") {
        live.overview = data;
        setNow(data.now);
      }
      notify(name, data);
    },
  });
}

async function loadActions() {
  try {
    const settings = await get("settings");
    live.actions = settings.actions;
    live.faults = settings.faults;
    live.plans = settings.plans;
    notify("link");
  } catch {
    // The link has its own state; without actions the page is read-only.
  }
}
