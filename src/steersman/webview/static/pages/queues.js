// What waits for what: the keys of every controller by phase, and the caches that they read.
import { html } from "../html.js";
import { until } from "../format.js";
import { count, t, whole } from "../language.js";
import { live } from "../live.js";
import { Mark, ObjectLink, Page, Phase, PHASE_TONES, Section, toneOf, readyText } from "../parts.js";
import { Caches, cachesTotal } from "./caches.js";

const PHASES = ["idle", "queued", "running", "waiting", "held", "backing off", "slowed down", "gave up", "paused"];

export class QueuesPage extends Page {
  period = 2000;

  path() {
    return "queues";
  }

  isAffected(event) {
    return event === "changed" || event === "overview";
  }

  show({ keys, more_keys: more }) {
    const { controllers = [], caches = [] } = live.overview;
    return html`
      <header class="bar-top"><h1>${t("queues.title")}</h1></header>
      ${controllers.length === 0 && html`<p class="none">${t("queues.none")}</p>`}
      ${controllers.map((one) => html`<${Controller} key=${one.name} controller=${one} />`)}
      <${Section} title=${t("queues.keys")} aside=${keys.length + more || ""}><${Keys} keys=${keys} more=${more} /><//>
      <${Section} title=${t("overview.caches")} aside=${cachesTotal(caches)}><${Caches} caches=${caches} /><//>
    `;
  }
}

function Controller({ controller }) {
  const keys = controller.keys ?? {};
  return html`
    <section class="controller">
      <header>
        <h2>${controller.kind} <span class="muted">${controller.api_version}</span></h2>
        <span class="aside">${count("queues.workers", controller.workers)} · ${t("queues.runs", { runs: whole(controller.runs ?? 0), failures: whole(controller.failures ?? 0) })}</span>
      </header>
      <ol class="tiles">
        ${PHASES.map(
          (phase) => html`
            <li key=${phase} class=${keys[phase] ? `tile tone-${PHASE_TONES[phase] ?? "none"}` : "tile tile-zero"}>
              <strong>${whole(keys[phase] ?? 0)}</strong><span>${t(`phase.${phase}`)}</span>
            </li>
          `,
        )}
      </ol>
    </section>
  `;
}

function Keys({ keys, more }) {
  if (!keys.length) return html`<p class="none">${t("queues.keys.none")}</p>`;
  return html`
    <ul class="rows keys">
      ${keys.map(
        (one) => html`
          <li key=${one.object.join("/")}>
            <${Mark} tone=${toneOf(one)} label=${readyText(one)} />
            <${ObjectLink} object=${one.object} row />
            <${Phase} phase=${one.phase} />
            <span class="message" title=${one.message}>${one.message ?? ""}</span>
            <time class="when">${one.until ? until(one.until) : ""}</time>
          </li>
        `,
      )}
    </ul>
    ${more > 0 && html`<p class="none">${t("overview.more", { n: whole(more) })}</p>`}
  `;
}
