// Objects, causes and runs in words. In English these are the sentences of `steer why`; a test compares them.
import { clock, duration, until } from "./format.js";
import { t } from "./language.js";

/** Return an object as people call it. */
export const fullName = ([kind, namespace, name]) => `${kind} ${placed(namespace, name)}`;

export const placed = (namespace, name) => (namespace ? `${namespace}/${name}` : name);

/** Return kind and name, with the namespace only if it is another one. */
export const nameWithin = ([kind, namespace, name], home) =>
  `${kind} ${namespace && namespace !== home ? `${namespace}/` : ""}${name}`;

export const isSame = (one, other) =>
  Boolean(one && other) &&
  one.slice(0, 3).join("\n") === other.slice(0, 3).join("\n") &&
  // An address without a group means any.
  (!one[3] || !other[3] || one[3] === other[3]);

export const readyOf = (view) => view.conditions?.find((one) => one.type === "Ready");

const isFailure = (run) => run.result === "failed" || run.result === "gave up";

const colon = (text) => (text ? `${t("sentence.colon")}${text.replace(/\.+$/, "")}` : "");

/** Return in one sentence whether an object is ready, and why not. */
export function sentence(view) {
  const last = view.reconciles?.at(-1);
  const say = (key, why = "") => t(`sentence.${key}`, { object: fullName(view.object), why: colon(why) });
  if (view.exists === false) return say(last ? "gone" : "absent");
  if (view.is_deleting) return say("deleting", failureText(last) || waitingText(view));
  if (view.state?.phase === "paused") return say("paused", view.state.detail);
  const ready = readyOf(view);
  const isOutdated = view.observed_generation != null && view.observed_generation < (view.generation ?? 0);
  if (ready && !isOutdated) {
    const key = ready.status === "True" || ready.status === "False" ? ready.status : "Unknown";
    return say(key, ready.message || ready.reason);
  }
  if (!last) return say("new");
  if (failureText(last)) return say("fails", failureText(last));
  if (isOutdated) return say("outdated", waitingText(view));
  return say("reconciled", waitingText(view) || t("sentence.nothing_left"));
}

function failureText(last) {
  if (!last || !isFailure(last)) return "";
  const why = last.message || last.reason || "";
  const times = (last.failures_before ?? 0) + 1;
  return times > 1 ? t("sentence.times", { why, n: times }) : why;
}

const waitingText = (view) =>
  view.state?.waits_for
    ? t("sentence.waiting", { object: nameWithin(view.state.waits_for, view.object[1]) })
    : (view.state?.detail ?? "");

/** Return when an object is reconciled next. */
export function nextRun(view) {
  const state = view.state ?? {};
  const or = state.until ? t("next.or", { moment: until(state.until) }) : "";
  switch (state.phase ?? "idle") {
    case "running":
      return t("next.running");
    case "queued":
      return t("next.queued");
    case "held":
      return t("next.held", { or });
    case "paused":
      return t("next.paused", { or });
    case "gave up":
      return t("next.gave_up");
    default: {
      const [first, ...others] = nextMoments(view, state);
      return t("next.when", { moments: first + others.map((moment) => t("next.or", { moment })).join("") });
    }
  }
}

function nextMoments(view, state) {
  const moments = [];
  const named = (object) => nameWithin(object, view.object[1]);
  const absent = absentObjects(view, state);
  if (absent.length) moments.push(t("next.appears", { objects: oneOf(absent.map(named)) }));
  if (state.waits_for && !absent.some((one) => isSame(one, state.waits_for))) {
    moments.push(t("next.changes", { object: named(state.waits_for) }));
  }
  if (state.until) moments.push(t("next.at", { time: clock(state.until), until: until(state.until) }));
  else if (!state.waits_for) moments.push(t("next.any"));
  return moments;
}

/** Return the objects that do not exist and whose creation leads to the next run. */
function absentObjects(view, state) {
  const missing = state.missing ?? [];
  const awaited = state.waits_for;
  if (!awaited || missing.some((one) => isSame(one, awaited))) return missing;
  const isAbsent = view.reconciles?.at(-1)?.reads?.some((read) => isSame(read.object, awaited) && !read.count);
  return isAbsent ? [awaited, ...missing] : missing;
}

/** Return names as a list in a sentence, at most a few. */
function oneOf(names) {
  const shown = names.length > 3 ? [...names.slice(0, 2), t("next.more", { count: names.length - 2 })] : names;
  const before = shown.slice(0, -1).join(t("next.comma"));
  return [before, shown.at(-1)].filter(Boolean).join(t("next.one_of"));
}

/** Return that the operator began or ceased to lead. */
export const leadershipText = (change) => t(change.is_leader ? "lead.began" : "lead.ceased", { lease: change.lease });

/** Return one cause of a run, as part of a sentence. */
export function causeText(cause, run) {
  const itself = isSame(cause.object, run.object);
  const name = itself ? t("cause.it") : cause.object ? nameWithin(cause.object, run.object[1]) : "";
  if (cause.type === "changed" && cause.changes?.length) {
    const changes = cause.changes.map(changeText).join(", ");
    return itself ? changes : t("cause.changed.fields", { name, changes });
  }
  return t(`cause.${cause.type}`, { name, detail: cause.detail ? ` (${cause.detail})` : "" });
}

function changeText([path, before, after]) {
  if (!before) return t("cause.set", { path, after });
  return after ? t("cause.moved", { path, before, after }) : t("cause.removed", { path });
}

/** Return why a run happened; empty if that is not known. */
export function causesText(run) {
  const texts = [...new Set((run.causes ?? []).map((cause) => causeText(cause, run)))];
  const more = Math.max(texts.length - 2, 0) + (run.more_causes ?? 0);
  const shown = texts.slice(0, 2);
  if (more) shown.push(t("run.more", { n: more }));
  return shown.join(t("run.and"));
}

/** Return what a run read, one text. */
export function readText(read, run) {
  const age = read.age == null ? t("run.direct") : t("run.old", { duration: duration(read.age) });
  if (read.object) return `${nameWithin(read.object, run.object[1])} (${read.count ? age : t("run.absent")})`;
  return `${t(`run.list.${read.count === 1 ? "one" : "other"}`, { n: read.count, kind: read.kind })} (${age})`;
}
