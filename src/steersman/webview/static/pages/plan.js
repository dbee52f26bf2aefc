// What the operator would do: for the cluster as it is, or as if a text were applied. Nothing is written.
import { Component, html } from "../html.js";
import { act, get, plan as makePlan } from "../api.js";
import { duration } from "../format.js";
import { count, t, whole } from "../language.js";
import { live, offers } from "../live.js";
import { ObjectLink, Section } from "../parts.js";
import { placed } from "../sentences.js";

/** Objects, and fields of one object, that are shown; `steer plan` shows all. */
const OBJECTS = 100;
const FIELDS = 12;
const SIGNS = { create: "+", change: "~", delete: "−", replace: "−/+" };
const COUNTS = ["create", "change", "delete", "replace"];
const TONES = { create: "ok", change: "live", delete: "bad", replace: "bad" };

const nameOf = (one) => [one.kind, one.namespace ?? "", one.name];
const isFailure = (one) => one.result === "failed" || !one.isAtRest;
const isShown = (one) => one.changes.length > 0 || one.notCalled.length > 0 || isFailure(one);

/** A request for a plan, and how long it takes. Subclasses call `make`. */
class Planner extends Component {
  state = { plan: null, failure: null, started: null, note: null };

  componentWillUnmount() {
    this.isGone = true;
    clearInterval(this.timer);
  }

  async make(request) {
    this.setState({ plan: null, failure: null, note: null, started: Date.now() });
    this.timer = setInterval(() => this.setState({}), 500);
    try {
      const plan = await makePlan(request);
      if (!this.isGone) this.setState({ plan });
    } catch (error) {
      if (!this.isGone) this.setState({ failure: error.message });
    } finally {
      clearInterval(this.timer);
      if (!this.isGone) this.setState({ started: null });
    }
  }

  progress() {
    const { started, failure } = this.state;
    return html`
      ${started && html`<p class="none" role="status">${t("plan.making", { duration: duration(Math.max((Date.now() - started) / 1000, 1)) })}</p>`}
      ${failure && html`<p class="note note-bad" role="alert">${failure}</p>`}
    `;
  }
}

export class PlanPage extends Planner {
  async perform(actions) {
    try {
      for (const action of actions) await act(action);
      return true;
    } catch (error) {
      this.setState({ failure: error.message });
      return false;
    }
  }

  async pauseAll() {
    const objects = (await get("objects")).filter((one) => one.phase !== "paused").map((one) => one.object);
    if (await this.perform(objects.map((object) => ({ action: "pause", object })))) {
      this.setState({ note: count("plan.paused", objects.length) });
    }
  }

  /** Let the operator do it: resume what is paused, and reconcile everything else that the plan is about. */
  async apply() {
    const { plan } = this.state;
    const resumed = plan.proposed.map(nameOf);
    const known = new Set(resumed.map((name) => name.join("/")));
    const others = plan.objects.filter((one) => one.changes.length).map(nameOf).filter((name) => !known.has(name.join("/")));
    const done = await this.perform([
      ...resumed.map((object) => ({ action: "resume", object })),
      ...others.map((object) => ({ action: "reconcile", object })),
    ]);
    if (done) this.setState({ plan: null, note: count("plan.applied", resumed.length + others.length) });
  }

  render(_, { plan, started, note }) {
    const isDev = offers("resume");
    const canApply = isDev && plan && !plan.summary.isEmpty && plan.objects.some((one) => one.changes.length);
    return html`
      <header class="bar-top"><h1>${t("nav.plan")}</h1></header>
      <p class="lead">${t(isDev ? "plan.about.dev" : "plan.about")}</p>
      <div class="actions">
        <button class="button primary" disabled=${Boolean(started)} onClick=${() => this.make({ resume: isDev })}>${t("plan.make")}</button>
        ${canApply && html`<button class="button" onClick=${() => this.apply()}>${t("plan.apply")}</button>`}
        ${isDev && html`<button class="button" disabled=${Boolean(started)} onClick=${() => this.pauseAll()}>${t("plan.pause_all")}</button>`}
      </div>
      ${note && html`<p class="note" role="status">${note}</p>`}
      ${this.progress()}
      ${plan && html`<${PlanResult} plan=${plan} proposed=${t("plan.resumed")} />`}
    `;
  }
}

/** The plan of a text in the form, beside its button. */
export class TextPlan extends Planner {
  componentDidUpdate(previous) {
    if (previous.text !== this.props.text && this.state.plan) this.setState({ plan: null });
  }

  render({ text, children }, { plan, started }) {
    return html`
      <div class="actions">
        ${children}
        ${live.plans && html`<button class="button" disabled=${!text.trim() || Boolean(started)} onClick=${() => this.make({ text })}>${t("plan.text")}</button>`}
      </div>
      ${this.progress()}
      ${plan && html`<${PlanResult} plan=${plan} proposed=${t("plan.proposed")} />`}
    `;
  }
}

function PlanResult({ plan, proposed }) {
  const { summary, notCalled, notes } = plan;
  const shown = plan.objects.filter(isShown);
  const facts = [
    count("plan.objects", summary.objects),
    duration(summary.seconds),
    summary.leftOut && count("plan.left_out", summary.leftOut),
    summary.writesWithoutEffect && count("plan.no_effect", summary.writesWithoutEffect),
  ];
  return html`
    <div class="plan">
      <ol class="tiles plan-tiles">
        ${COUNTS.map((action) => html`<${Tile} key=${action} number=${summary[`${action}s`]} tone=${TONES[action]} text=${t(`plan.${action}`)} />`)}
        <${Tile} number=${summary.failures} tone="bad" text=${t("plan.failures")} />
      </ol>
      <p class="facts">${facts.filter(Boolean).join(" · ")}</p>
      ${summary.isEmpty && html`<p class="note" role="status">${t("plan.empty")}</p>`}
      ${plan.proposed.length > 0 && html`<${Section} title=${proposed}><ul class="planned">${plan.proposed.map((one) => html`<${Change} key=${nameOf(one)} change=${one} />`)}</ul><//>`}
      ${plan.changes.length > 0 && html`<${Section} title=${plan.operators.join(", ")}><ul class="planned">${plan.changes.map((one) => html`<${Change} key=${nameOf(one)} change=${one} />`)}</ul><//>`}
      ${shown.slice(0, OBJECTS).map((one) => html`<${PlannedObject} key=${`${one.controller} ${nameOf(one)}`} one=${one} />`)}
      ${shown.length > OBJECTS && html`<p class="none">${count("plan.more", shown.length - OBJECTS)}</p>`}
      ${notCalled.length > 0 && html`<${Section} title=${t("plan.not_called")}><ul class="facts-list">${notCalled.map((one) => html`<li>${callText(one)}</li>`)}</ul><//>`}
      ${notes.length > 0 && html`<${Section} title=${t("plan.notes")}><ul class="facts-list">${notes.map((one) => html`<li>${one}</li>`)}</ul><//>`}
    </div>
  `;
}

const Tile = ({ number, tone, text }) => html`
  <li class=${number ? `tile tone-${tone}` : "tile tile-zero"}><strong>${whole(number)}</strong><span>${text}</span></li>
`;

const callText = (one) => `${one.system}: ${one.description}${one.count > 1 ? ` × ${whole(one.count)}` : ""}`;

function PlannedObject({ one }) {
  const end = !one.isAtRest ? t("plan.restless", { n: one.runs }) : one.result === "done" ? "" : `${t(`result.${one.result}`)}${one.message ? `: ${one.message}` : ""}`;
  return html`
    <section class="section planned-object">
      <header><h2><${ObjectLink} object=${nameOf(one)} row /></h2></header>
      <ul class="planned">${one.changes.map((change) => html`<${Change} key=${nameOf(change)} change=${change} home=${one.namespace} />`)}</ul>
      ${one.notCalled.map((call) => html`<p class="muted">${t("plan.not_called.one", { call: callText(call) })}</p>`)}
      ${end && html`<p class=${isFailure(one) ? "tone-bad" : "tone-wait"}>${end}</p>`}
    </section>
  `;
}

function Change({ change, home }) {
  const { action, kind, namespace, name, fields } = change;
  const rows = action === "delete" ? [] : fields;
  const why = change.isCascade ? t("plan.cascade") : action === "replace" ? t("plan.replaced") : "";
  return html`
    <li class="change">
      <span class="sign tone-${TONES[action]}" role="img" aria-label=${t(`plan.${action}`)}>${SIGNS[action]}</span>
      <div>
        <span class="target">${kind} ${placed(namespace === home ? "" : namespace, name)}</span>
        ${why && html` <span class="muted">${why}</span>`}
        ${change.judgedLocally && html` <span class="muted" title=${change.judgedLocally}>${t("plan.judged_locally")}</span>`}
        ${rows.length > 0 &&
        (action === "create"
          ? html`<details><summary class="muted">${count("plan.fields", rows.length)}</summary><${Fields} rows=${rows} /></details>`
          : html`<${Fields} rows=${rows} />`)}
      </div>
    </li>
  `;
}

const Fields = ({ rows }) => html`
  <ul class="diff">
    ${rows.slice(0, FIELDS).map(
      ({ path, before, after }) => html`
        <li key=${path}>
          <code class="path">${path}</code>
          <span class="values">${before && html`<del>${before}</del>`}${before && html`<span class="arrow">→</span>`}${after ? html`<ins>${after}</ins>` : html`<em>${t("run.removed")}</em>`}</span>
        </li>
      `,
    )}
    ${rows.length > FIELDS && html`<li class="muted">${t("run.more_fields", { n: rows.length - FIELDS })}</li>`}
  </ul>
`;
