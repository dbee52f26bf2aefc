// Small pieces that every page uses.
import { Component, html } from "./html.js";
import { get } from "./api.js";
import { t } from "./language.js";
import { isReconciled, listen, live } from "./live.js";
import { placed } from "./sentences.js";

/** Return the address of an object's page. */
export const hrefOf = ([kind, namespace, name, group]) =>
  `#/objects/${[group ? `${kind}.${group}` : kind, namespace || "-", name].map(encodeURIComponent).join("/")}`;

/** Return the word that colours an object: `ok`, `bad`, `wait`, `off` or `none`. */
export function toneOf(one) {
  if (one.failures || one.result === "failed" || one.phase === "gave up") return "bad";
  if (one.phase === "paused") return "off";
  if (one.is_deleting) return "wait";
  return { True: "ok", False: "wait", Unknown: "wait" }[one.ready?.status] ?? "none";
}

export const toneOfReady = (ready) => ({ True: "ok", False: "wait", Unknown: "wait" })[ready] ?? "none";

export const readyText = (one) =>
  one.is_deleting ? t("ready.deleting") : t(`ready.${one.ready?.status ?? "none"}`);

/** A mark whose shape says the same as its colour. */
export const Mark = ({ tone, label }) =>
  html`<span class="mark mark-${tone}" role="img" aria-label=${label} title=${label}></span>`;

export const PHASE_TONES = {
  "backing off": "bad",
  "gave up": "bad",
  "slowed down": "wait",
  held: "wait",
  waiting: "wait",
  paused: "off",
  queued: "live",
  running: "live",
};

export const Phase = ({ phase = "idle" }) =>
  html`<span class="phase tone-${PHASE_TONES[phase] ?? "none"}">${t(`phase.${phase}`)}</span>`;

/** An object's name, as a link where it has a page. */
export function ObjectLink({ object, home, row }) {
  const [kind, namespace, name] = object;
  const text = html`<span class="kind">${kind}</span> <span class="name">${placed(namespace === home ? "" : namespace, name)}</span>`;
  return isReconciled(kind)
    ? html`<a class="object" href=${hrefOf(object)} data-row=${row}>${text}</a>`
    : html`<span class="object">${text}</span>`;
}

export const Section = ({ title, aside, class: name = "", children }) => html`
  <section class="section ${name}">
    <header><h2>${title}</h2>${aside && html`<span class="aside">${aside}</span>`}</header>
    ${children}
  </section>
`;

export const Empty = ({ title, text, children }) => html`
  <div class="empty"><p class="empty-title">${title}</p>${text && html`<p>${text}</p>`}${children}</div>
`;

/** Grey lines in the shape of what is coming; shown after a moment only, so that fast answers do not flicker. */
export const Loading = () => html`
  <div class="loading" role="status" aria-label=${t("state.loading")}>
    <i class="bone bone-title"></i><i class="bone"></i><i class="bone"></i><i class="bone bone-short"></i>
    <i class="bone bone-block"></i>
  </div>
`;

export const Failed = ({ error, absent, again }) => html`
  <div class="empty failed" role="alert">
    <p class="empty-title">${error.status === 404 ? absent : t("state.error")}</p>
    ${error.status !== 404 && html`<p>${error.status ? error.message : t("link.lost.title")}</p>`}
    ${error.status === 404
      ? html`<a class="button" href="#/objects">${t("object.back")}</a>`
      : html`<button class="button" onClick=${again}>${t("state.again")}</button>`}
  </div>
`;

/**
 * A page that shows the JSON of one path and loads it again when something changed, at most every `period`.
 * Subclasses have `path(props)`, `show(data)`, and may have `isAffected(event, data)`, `merge(data, changed)` and
 * `absent()`: what to say if there is no such thing.
 */
export class Page extends Component {
  period = 1000;
  state = { data: null, error: null };
  loads = 0;
  isDue = false;

  componentDidMount() {
    this.end = listen((event, data) => this.on(event, data));
    this.load();
  }

  componentWillUnmount() {
    this.end();
    clearTimeout(this.timer);
    this.loads = -1;
  }

  componentDidUpdate(previous) {
    if (this.path(previous) !== this.path(this.props)) {
      this.setState({ data: null, error: null });
      this.load();
    }
  }

  isAffected(event) {
    return event === "changed";
  }

  merge(data) {
    return data;
  }

  on(event, data) {
    if (event === "changed" && this.state.data) this.setState({ data: this.merge(this.state.data, data) });
    if (this.isAffected(event, data)) this.refresh();
    else this.setState({});
  }

  /** Load again now, or as soon as the period since the last time is over. */
  refresh() {
    if (this.timer) {
      this.isDue = true;
      return;
    }
    this.load();
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.isDue) {
        this.isDue = false;
        this.refresh();
      }
    }, this.period);
  }

  async load() {
    const number = ++this.loads;
    try {
      const data = await get(this.path(this.props));
      if (number === this.loads) this.setState({ data, error: null });
    } catch (error) {
      // What is shown stays: the banner tells that the operator does not answer.
      if (number === this.loads && (error.status || !this.state.data)) this.setState({ error });
    }
  }

  render() {
    const { data, error } = this.state;
    if (error) return html`<${Failed} error=${error} absent=${this.absent?.() ?? error.message} again=${() => this.load()} />`;
    if (!data || !live.overview) return html`<${Loading} />`;
    return this.show(data);
  }
}
