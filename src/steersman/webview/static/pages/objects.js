// All objects. Only the rows in sight are in the document, so 10,000 of them cost as much as twenty.
import { html, createRef } from "../html.js";
import { ago, until } from "../format.js";
import { count, t, whole } from "../language.js";
import { offers } from "../live.js";
import { Empty, hrefOf, Mark, Page, Phase, readyText, toneOf } from "../parts.js";
import { placed } from "../sentences.js";

/** Rows above and below those in sight. */
const SPARE = 8;
/** Milliseconds after which everything is loaded again: a phase changes without a run, too. */
const RELOAD = 15000;

const key = (object) => object.join("\n");
const moment = (text, absent) => (text ? Date.parse(text) : absent);
const TONES = { bad: 0, wait: 1, none: 2, off: 3, ok: 4 };
const ORDERS = {
  object: (one) => key(one.object),
  ready: (one) => TONES[toneOf(one)],
  phase: (one) => t(`phase.${one.phase ?? "idle"}`),
  last: (one) => -moment(one.last, 0),
  next: (one) => moment(one.until, Infinity),
};
const ONLY = {
  not_ready: (one) => one.ready?.status !== "True",
  failing: (one) => Boolean(one.failures) || one.result === "failed" || one.phase === "gave up",
  stuck: (one) => one.phase === "gave up",
  hot: (one) => one.phase === "slowed down",
  deleting: (one) => Boolean(one.is_deleting),
  held: (one) => one.phase === "held",
  paused: (one) => one.phase === "paused",
};

export class ObjectsPage extends Page {
  period = 2000;
  list = createRef();

  constructor(props) {
    super(props);
    const only = props.query.get("only") ?? "";
    Object.assign(this.state, {
      filter: props.query.get("filter") ?? "",
      only: only in ONLY ? only : "",
      order: "object",
      isReversed: false,
      top: 0,
      height: 800,
      selected: -1,
    });
  }

  path() {
    return "objects";
  }

  componentDidMount() {
    super.componentDidMount();
    this.measure = () => this.list.current && this.setState({ height: this.list.current.clientHeight });
    this.keys = (event) => this.onKey(event);
    addEventListener("resize", this.measure);
    document.addEventListener("keydown", this.keys);
    this.reloads = setInterval(() => document.hidden || this.load(), RELOAD);
  }

  componentWillUnmount() {
    super.componentWillUnmount();
    removeEventListener("resize", this.measure);
    document.removeEventListener("keydown", this.keys);
    clearInterval(this.reloads);
  }

  componentDidUpdate(previous) {
    super.componentDidUpdate(previous);
    if (this.list.current && this.list.current.clientHeight !== this.state.height) this.measure();
  }

  isAffected(event, data) {
    return event === "changed" && Boolean(data.reload);
  }

  merge(data, changed) {
    const fresh = new Map((changed.summaries ?? []).map((one) => [key(one.object), one]));
    const gone = new Set((changed.gone ?? []).map(key));
    if (!fresh.size && !gone.size) return data;
    const kept = data.filter((one) => !gone.has(key(one.object))).map((one) => {
      const name = key(one.object);
      const other = fresh.get(name);
      fresh.delete(name);
      return other ?? one;
    });
    return [...kept, ...fresh.values()];
  }

  /** Return the objects to show, made again only when something changed. */
  shown(data) {
    const { filter, only, order, isReversed } = this.state;
    const inputs = [data, filter, only, order, isReversed, this.props.language];
    if (this.inputs?.every((one, index) => one === inputs[index])) return this.result;
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (one) => {
      if (only && !ONLY[only](one)) return false;
      const [kind, namespace, name] = one.object;
      const text = `${kind} ${placed(namespace, name)} ${one.phase ?? "idle"} ${readyText(one)} ${t(`phase.${one.phase ?? "idle"}`)} ${one.message ?? ""} ${one.ready?.message ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const rank = ORDERS[order];
    const rows = data.filter(matches).map((one) => [rank(one), key(one.object), one]);
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    rows.sort((a, b) => (isReversed ? -1 : 1) * compare(a[0], b[0]) || compare(a[1], b[1]));
    this.inputs = inputs;
    this.result = rows.map(([, , one]) => one);
    return this.result;
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.state.data) return;
    const isTyping = event.target.matches("input, textarea, select");
    const rows = this.shown(this.state.data);
    const last = rows.length - 1;
    const at = this.state.selected;
    const page = Math.max(Math.floor(this.state.height / this.rowHeight()) - 1, 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, ...(isTyping ? {} : { j: 1, k: -1 }) }[event.key];
    if (step) this.select(Math.min(Math.max(at + step, 0), last));
    else if (!isTyping && event.key === "Home") this.select(0);
    else if (!isTyping && (event.key === "End" || event.key === "G")) this.select(last);
    else if (event.key === "Enter" && rows[at] && !event.target.matches("button, a")) location.hash = hrefOf(rows[at].object);
    else return;
    event.preventDefault();
  }

  rowHeight() {
    return matchMedia("(max-width: 720px)").matches ? 60 : 40;
  }

  select(index) {
    this.setState({ selected: index });
    const box = this.list.current;
    const row = this.rowHeight();
    if (!box) return;
    if (index * row < box.scrollTop) box.scrollTop = index * row;
    if ((index + 1) * row > box.scrollTop + box.clientHeight) box.scrollTop = (index + 1) * row - box.clientHeight;
  }

  orderBy(order) {
    this.setState({ order, isReversed: this.state.order === order && !this.state.isReversed, selected: -1 });
  }

  show(data) {
    const rows = this.shown(data);
    const { filter, only } = this.state;
    const set = (change) => {
      if (this.list.current) this.list.current.scrollTop = 0;
      this.setState({ ...change, top: 0, selected: -1 });
    };
    const chips = ["", "not_ready", "failing", ...(only && !["not_ready", "failing"].includes(only) ? [only] : [])];
    return html`
      <header class="bar-top">
        <h1>${t("nav.objects")} <span class="muted">${rows.length === data.length ? whole(data.length) : t("objects.shown", { shown: whole(rows.length), total: whole(data.length) })}</span></h1>
        <div class="tools">
          <label class="search">
            <input id="filter" type="search" placeholder=${t("objects.filter")} aria-label=${t("objects.filter")} value=${filter}
              spellcheck="false" autocomplete="off" onInput=${(event) => set({ filter: event.target.value })} />
            <kbd>/</kbd>
          </label>
          <div class="chips">
            ${chips.map(
              (name) => html`<button key=${name} class="chip" aria-pressed=${only === name} onClick=${() => set({ only: name })}>
                ${chipText(name)}
              </button>`,
            )}
          </div>
          ${offers("apply") && html`<a class="button" href="#/new">${t("objects.create")}</a>`}
        </div>
      </header>
      ${data.length === 0
        ? html`<${Empty} title=${t("overview.empty")} text=${t("overview.empty.text")} />`
        : rows.length === 0
          ? html`<${Empty} title=${t("objects.none")}>
              <button class="button" onClick=${() => set({ filter: "", only: "" })}>${t("objects.clear")}</button>
            <//>`
          : this.table(rows)}
    `;
  }

  table(rows) {
    const { top, height, order, isReversed, selected } = this.state;
    const row = this.rowHeight();
    const first = Math.max(Math.floor(top / row) - SPARE, 0);
    const visible = rows.slice(first, Math.ceil((top + height) / row) + SPARE);
    const Head = ({ name }) => html`
      <button role="columnheader" class="col-${name}" onClick=${() => this.orderBy(name)}
        aria-sort=${order === name ? (isReversed ? "descending" : "ascending") : "none"}>${t(`objects.${name}`)}</button>
    `;
    return html`
      <div class="list" role="grid" aria-rowcount=${rows.length} aria-label=${t("nav.objects")}>
        <div class="list-head" role="row">
          ${Head({ name: "ready" })}${Head({ name: "object" })}${Head({ name: "phase" })}${Head({ name: "last" })}${Head({ name: "next" })}
          <span role="columnheader" class="col-message">${t("objects.message")}</span>
        </div>
        <div class="list-body" ref=${this.list} tabindex="0" role="rowgroup"
          onScroll=${(event) => this.setState({ top: event.currentTarget.scrollTop })}>
          <div class="list-space" role="presentation" style=${{ height: `${rows.length * row}px` }}>
            ${visible.map((one, index) => this.line(one, first + index, row, first + index === selected))}
          </div>
        </div>
      </div>
    `;
  }

  line(one, index, row, isSelected) {
    const [kind, namespace, name] = one.object;
    const message = one.message || one.ready?.message || one.ready?.reason || "";
    return html`
      <div class="line" role="row" key=${key(one.object)} aria-rowindex=${index + 1} aria-selected=${isSelected}
        style=${{ transform: `translateY(${index * row}px)`, height: `${row}px` }}>
        <span role="gridcell" class="col-ready"><${Mark} tone=${toneOf(one)} label=${readyText(one)} /></span>
        <span role="gridcell" class="col-object">
          <a href=${hrefOf(one.object)} title=${message} tabindex="-1"><span class="kind">${kind}</span> <span class="name">${placed(namespace, name)}</span></a>
        </span>
        <span role="gridcell" class="col-phase"><${Phase} phase=${one.phase} /></span>
        <span role="gridcell" class="col-last">${one.last ? ago(one.last) : t("time.never")}</span>
        <span role="gridcell" class="col-next">${one.until ? until(one.until) : ""}</span>
        <span role="gridcell" class="col-message">${message}</span>
      </div>
    `;
  }
}

const chipText = (name) => {
  if (!name) return t("objects.all");
  return name === "not_ready" || name === "failing" ? t(`objects.${name}`) : t(`concern.${name}`);
};
