// The first page: is all well, and if not, what needs a look.
import { html } from "../html.js";
import { ago, clock, duration, since } from "../format.js";
import { count, t, whole } from "../language.js";
import { live } from "../live.js";
import { Empty, Mark, ObjectLink, Page, PHASE_TONES, Section, toneOf } from "../parts.js";
import { causesText, leadershipText } from "../sentences.js";
import { Caches, cachesTotal } from "./caches.js";

/** Concerns that make the first sentence say that something is wrong. */
const GRAVE = ["stuck", "failing", "hot"];
/** Objects of one concern that are named. */
const MOST = 5;
const PHASES = ["running", "queued", "waiting", "held", "slowed down", "backing off", "gave up", "paused"];

export class OverviewPage extends Page {
  period = 2500;

  path() {
    return "overview";
  }

  merge(data, changed) {
    return { ...data, recent: [...(changed.runs ?? []), ...data.recent].slice(0, 40) };
  }

  show({ kinds, concerns, activity, recent, leadership }) {
    const overview = live.overview;
    return html`
      <header class="hero">
        <p class="eyebrow">${overview.operators.join(", ")}</p>
        <h1>${headline(kinds, concerns)}</h1>
        <p class="facts">${facts(overview).join(" · ")}</p>
      </header>
      <${Activity} slices=${activity} />
      <div class="columns">
        <div>
          <${Section} title=${t("overview.concerns")}><${Concerns} concerns=${concerns} /><//>
          <${Section} title=${t("overview.kinds")}><${Kinds} kinds=${kinds} controllers=${overview.controllers ?? []} /><//>
        </div>
        <${Section} title=${t("overview.recent")} class="recent"><${Recent} runs=${recent} changes=${leadership} /><//>
      </div>
      ${overview.webhooks?.length ? html`<${Section} title=${t("overview.webhooks")}><${Webhooks} webhooks=${overview.webhooks} /><//>` : ""}
      <${Section} title=${t("overview.caches")} aside=${cachesTotal(overview.caches)}><${Caches} caches=${overview.caches} /><//>
    `;
  }
}

function headline(kinds, concerns) {
  const sum = (field) => Object.values(kinds).reduce((all, one) => all + one[field], 0);
  const total = sum("total");
  if (!total) return t("overview.empty");
  const values = { ready: whole(sum("ready")), total: whole(total) };
  const grave = concerns.filter((one) => GRAVE.includes(one.name)).reduce((all, one) => all + one.count, 0);
  if (grave === 1) return t("overview.one", values);
  if (grave) return t("overview.some", { ...values, objects: count("objects", grave) });
  return sum("ready") === total ? t("overview.quiet") : t("overview.waiting", values);
}

function facts(overview) {
  const lead = overview.leadership;
  return [
    lead && t(lead.is_leader ? "overview.leads" : "overview.follows", { lease: lead.lease ?? "" }),
    t("overview.up", { duration: since(overview.started) }),
    overview.namespaces?.join(", "),
    overview.cluster,
  ].filter(Boolean);
}

/** Sixty bars of ten seconds each; failed runs in another colour at the foot. */
function Activity({ slices }) {
  const most = Math.max(...slices.map((one) => one.runs), 4);
  const total = slices.reduce((sum, one) => sum + one.runs, 0);
  const failures = slices.reduce((sum, one) => sum + one.failures, 0);
  const sums = t("overview.activity.sum", { runs: whole(total), failures: whole(failures) });
  const height = (number) => (number ? Math.max((number / most) * 52, 2) : 0);
  return html`
    <figure class="activity">
      <figcaption><span>${t("overview.activity")}</span><span class="aside">${sums}</span></figcaption>
      <svg viewBox="0 0 600 56" preserveAspectRatio="none" role="img" aria-label=${sums}>
        ${slices.map(({ start, runs, failures: failed }, index) => {
          const title = `${clock(start * 1000)}: ${t("overview.activity.sum", { runs, failures: failed })}`;
          return html`
            <g key=${start}>
              <title>${title}</title>
              <rect class="bar-rest" x=${index * 10} y="54" width="7" height="2" />
              <rect class="bar" x=${index * 10} y=${56 - height(runs)} width="7" height=${height(runs)} />
              <rect class="bar-bad" x=${index * 10} y=${56 - height(failed)} width="7" height=${height(failed)} />
            </g>
          `;
        })}
      </svg>
    </figure>
  `;
}

function Concerns({ concerns }) {
  if (!concerns.length) return html`<p class="none">${t("overview.concerns.none")}</p>`;
  return concerns.map(
    ({ name, count: number, objects }) => html`
      <div class="concern" key=${name}>
        <h3 title=${t(`concern.${name}.text`)}>${t(`concern.${name}`)}</h3>
        <div>
          <ul class="rows">
            ${objects.slice(0, MOST).map(
              (one) => html`
                <li key=${one.object.join("/")}>
                  <${Mark} tone=${toneOf(one)} label=${t(`concern.${name}`)} />
                  <${ObjectLink} object=${one.object} row />
                  <span class="message" title=${one.message}>${one.message || t(`concern.${name}.text`)}</span>
                  <time class="when">${one.last ? ago(one.last) : ""}</time>
                </li>
              `,
            )}
          </ul>
          ${number > MOST &&
          html`<a class="more" href=${`#/objects?only=${name}`}>${t("overview.more", { n: whole(number - MOST) })}</a>`}
        </div>
      </div>
    `,
  );
}

function Kinds({ kinds, controllers }) {
  if (!controllers.length) return html`<p class="none">${t("queues.none")}</p>`;
  return html`<div class="kinds">
    ${controllers.map((one) => {
      const counts = kinds[one.kind] ?? { total: 0, ready: 0, not_ready: 0, failing: 0 };
      const others = Math.max(counts.total - counts.ready - counts.not_ready, 0);
      return html`
        <a class="kind-row" key=${one.name} href=${`#/objects?filter=${encodeURIComponent(one.kind)}`} data-row>
          <span class="kind-name"><strong>${one.kind}</strong> <span class="muted">${one.api_version}</span></span>
          <span class="kind-total">${count("objects", counts.total)}</span>
          <${Share} parts=${[["ok", counts.ready], ["wait", counts.not_ready], ["none", others]]} />
          <span class="phases">
            ${PHASES.filter((phase) => one.keys?.[phase]).map(
              (phase) => html`<span key=${phase} class="tone-${PHASE_TONES[phase] ?? "none"}">${whole(one.keys[phase])} ${t(`phase.${phase}`)}</span>`,
            )}
          </span>
          <span class="kind-runs muted">${t("queues.runs", { runs: whole(one.runs ?? 0), failures: whole(one.failures ?? 0) })}</span>
        </a>
      `;
    })}
  </div>`;
}

/** One bar, divided by how many objects are in each state. */
function Share({ parts }) {
  const total = parts.reduce((sum, [, number]) => sum + number, 0) || 1;
  let start = 0;
  return html`
    <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      ${parts.map(([tone, number]) => {
        const x = start;
        const width = (number / total) * 100;
        start += width;
        return html`<rect key=${tone} class="share-${tone}" x=${x} y="0" width=${Math.max(width - (start < 99.9 ? 0.6 : 0), 0)} height="4" />`;
      })}
    </svg>
  `;
}

function Webhooks({ webhooks }) {
  return html`<ul class="rows webhooks">
    ${webhooks.map(
      (one) => html`
        <li key=${one.webhook}>
          <${Mark} tone=${one.failed ? "bad" : "ok"} label=${t(one.failed ? "webhooks.fails" : "webhooks.answers")} />
          <strong>${one.webhook}</strong>
          <span class="message">${t("webhooks.sum", { reviews: whole(one.reviews ?? 0), denied: whole(one.denied ?? 0), failed: whole(one.failed ?? 0), slowest: duration(one.slowest ?? 0) })}</span>
          <time class="when">${ago(one.last)}</time>
        </li>
      `,
    )}
  </ul>`;
}

/** Return the newest runs and changes of leadership, newest first. */
function newest(runs, changes) {
  const entries = [
    ...runs.map((run) => ({ at: run.started, run })),
    ...changes.map((change) => ({ at: change.at, change })),
  ];
  return entries.sort((one, other) => Date.parse(other.at) - Date.parse(one.at)).slice(0, 18);
}

function Recent({ runs, changes = [] }) {
  const entries = newest(runs, changes);
  if (!entries.length) return html`<${Empty} title=${t("overview.recent.none")} text=${t("overview.empty.text")} />`;
  return html`
    <ol class="feed">
      ${entries.map(({ run, change }) => {
        if (change) {
          return html`
            <li key=${`lead ${change.at}`} class="leadership">
              <time>${clock(change.at)}</time>
              <div>${leadershipText(change)}<span class="because">${change.reason}</span></div>
              <span class="took"></span>
            </li>
          `;
        }
        const result = run.result ?? "done";
        return html`
          <li key=${`${run.object.join("/")} ${run.number} ${run.started}`} class="result-${result.replace(" ", "-")}">
            <time>${clock(run.started)}</time>
            <div>
              <${ObjectLink} object=${run.object} />
              <span class="because">${result === "done" ? because(run) : run.message || run.reason || t(`result.${result}`)}</span>
            </div>
            <span class="took">${duration(run.seconds)}</span>
          </li>
        `;
      })}
    </ol>
  `;
}

function because(run) {
  const causes = causesText(run);
  return causes && t("run.because", { causes });
}
