// One object: the sentence, what it owns, and everything that was done about it, newest first.
import { html } from "../html.js";
import { act, get, pathOf } from "../api.js";
import { ago, clock, duration, full } from "../format.js";
import { currentLanguage, t, whole } from "../language.js";
import { offers } from "../live.js";
import { Mark, ObjectLink, Page, Phase, Section, toneOf, toneOfReady } from "../parts.js";
import { YamlForm } from "./editor.js";
import { causesText, fullName, isSame, leadershipText, nameWithin, nextRun, placed, readText, readyOf, sentence } from "../sentences.js";

const RESULT_TONES = { failed: "bad", "gave up": "bad", conflict: "wait", retry: "wait", waiting: "wait", stopped: "none" };

export class ObjectPage extends Page {
  period = 700;

  path(props) {
    return pathOf(props.object);
  }

  absent() {
    return t("sentence.absent", { object: fullName(this.props.object) });
  }

  isAffected(event, data) {
    if (event !== "changed") return false;
    const names = [...(data.summaries ?? []).map((one) => one.object), ...(data.gone ?? [])];
    return Boolean(data.reload) || names.some((name) => isSame(name, this.props.object));
  }

  async perform(action) {
    this.setState({ note: null, isSure: false });
    try {
      this.setState({ note: { text: await act(action) } });
      this.load();
    } catch (error) {
      this.setState({ note: { text: error.message, isFailure: true } });
    }
  }

  async edit() {
    try {
      this.setState({ text: (await get(`${pathOf(this.props.object)}/yaml`)).yaml });
    } catch (error) {
      this.setState({ note: { text: error.message, isFailure: true } });
    }
  }

  /** Download a run as a test. */
  async saveTest(number) {
    try {
      const { file, source } = await get(`${pathOf(this.props.object)}/test?number=${number}`);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([source], { type: "text/x-python" }));
      link.download = file;
      link.click();
      URL.revokeObjectURL(link.href);
      this.setState({ note: { text: t("object.saved", { file }) } });
    } catch (error) {
      this.setState({ note: { text: error.message, isFailure: true } });
    }
  }

  show({ view, sentence: english, tree, recorded = [] }) {
    const runs = [...(view.reconciles ?? [])].reverse();
    const entries = timelineOf(view);
    const [kind, namespace, name] = view.object;
    const last = runs[0];
    // The tree may begin at an owner of the object; without one, the object itself need not be named again.
    const isRoot = isSame(tree?.object, view.object);
    const nodes = !tree ? [] : isRoot ? (tree.children ?? []) : [tree];
    const words = currentLanguage() === "en" ? english : sentence(view);
    const tone = toneOf({
      ready: readyOf(view),
      is_deleting: view.is_deleting,
      phase: view.state?.phase,
      result: last?.result,
    });
    return html`
      <nav class="crumbs"><a href="#/objects">${t("nav.objects")}</a> <span>/</span> <a href=${`#/objects?filter=${encodeURIComponent(kind)}`}>${kind}</a> <span>/</span> ${placed(namespace, name)}</nav>
      <header class="hero object-hero tone-border-${tone}">
        <p class="eyebrow"><${Phase} phase=${view.state?.phase} />${view.generation ? html` <span>${t("object.generation", { generation: view.generation })}</span>` : ""}</p>
        <h1 class=${words.length > 160 ? "long" : ""}>${words}</h1>
        <p class="next">${nextRun(view)}</p>
        ${this.actions(view)}
      </header>
      ${this.state.text != null && this.editor()}
      <div class="columns">
        <${Section} title=${t("object.timeline")} aside=${runs.length || ""} class="timeline-section">
          ${entries.length
            ? html`<ol class="timeline">${entries.map(({ run, review, change }) =>
                run
                  ? html`<${Run} key=${`${run.number} ${run.started}`} run=${run} save=${recorded.includes(run.number) ? () => this.saveTest(run.number) : null} />`
                  : review
                    ? html`<${Review} key=${`review ${review.started} ${review.webhook}`} review=${review} />`
                    : html`<${Leadership} key=${`lead ${change.at}`} change=${change} />`,
              )}</ol>`
            : html`<p class="none">${t("object.timeline.none")}</p>`}
        <//>
        <div class="beside">
          <${Section} title=${t("object.tree")}>
            ${nodes.length
              ? html`<ul class="tree">${nodes.map((node) => html`<${Node} key=${node.object.join("/")} node=${node} of=${view.object} />`)}${isRoot && tree.more_children ? html`<li class="none">${t("overview.more", { n: whole(tree.more_children) })}</li>` : ""}</ul>`
              : html`<p class="none">${t("object.tree.none")}</p>`}
          <//>
          <${Section} title=${t("object.conditions")}><${Conditions} conditions=${view.conditions ?? []} /><//>
          <${Section} title=${t("object.events")}><${Events} runs=${runs} /><//>
        </div>
      </div>
    `;
  }

  actions(view) {
    const { note, isSure } = this.state;
    const object = view.object;
    const isPaused = view.state?.phase === "paused";
    const button = (action, text, run) => offers(action) && html`<button class="button" onClick=${run ?? (() => this.perform({ action, object }))}>${text}</button>`;
    const buttons = [
      button("reconcile", t("action.reconcile")),
      isPaused ? button("resume", t("action.resume")) : button("pause", t("action.pause")),
      button("apply", t("action.edit"), () => this.edit()),
      isSure
        ? html`<button class="button danger" onClick=${() => this.perform({ action: "delete", object })}>${t("action.sure")}</button>`
        : button("delete", t("action.delete"), () => this.setState({ isSure: true })),
    ].filter(Boolean);
    return html`
      ${buttons.length > 0 && html`<div class="actions">${buttons}</div>`}
      ${note && html`<p class=${note.isFailure ? "note note-bad" : "note"} role="status">${note.text}</p>`}
    `;
  }

  editor() {
    return html`
      <${YamlForm} text=${this.state.text} onText=${(text) => this.setState({ text })}
        onDone=${(done) => this.setState({ text: null, note: { text: done } })}
        cancel=${html`<button class="button" onClick=${() => this.setState({ text: null })}>${t("action.cancel")}</button>`} />
    `;
  }
}

/** Return the runs, reviews and changes of leadership around an object, newest first. */
function timelineOf(view) {
  const entries = [
    ...(view.reconciles ?? []).map((run) => ({ at: run.started, run })),
    ...(view.reviews ?? []).map((review) => ({ at: review.started, review })),
    ...(view.leadership ?? []).map((change) => ({ at: change.at, change })),
  ];
  return entries.sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
}

function Review({ review }) {
  const { operation = "", webhook, status, is_allowed: isAllowed = null, message = "" } = review;
  const answer = isAllowed === null ? t("review.none", { status }) : t(isAllowed ? "review.allowed" : "review.denied");
  return html`
    <li class="run run-${isAllowed ? "none" : "bad"} review">
      <div class="run-head">
        <time title=${full(review.started)}>${clock(review.started, { millis: true })}</time>
        <span class="run-title">
          <strong>${t(operation ? "review.of" : "review.any", { operation })}</strong>
          <span class="muted">${webhook} ${duration(review.seconds)}</span>
        </span>
      </div>
      <p class="because">${answer}${message ? `${t("sentence.colon")}${message}` : ""}</p>
    </li>
  `;
}

function Leadership({ change }) {
  return html`
    <li class="run run-${change.is_leader ? "none" : "wait"} leadership">
      <div class="run-head">
        <time title=${full(change.at)}>${clock(change.at, { millis: true })}</time>
        <span class="run-title"><strong>${leadershipText(change)}</strong></span>
      </div>
      <p class="because">${change.reason}</p>
    </li>
  `;
}

function Run({ run, save }) {
  const result = run.result ?? "done";
  const causes = causesText(run);
  const home = run.object[1];
  const statusWrites = (run.writes ?? []).filter((write) => write.verb === "status");
  const writes = (run.writes ?? []).filter((write) => write.verb !== "status");
  const statusChanges = statusWrites.flatMap((write) => write.changes ?? []).filter(([path]) => !path.startsWith("conditions["));
  const isQuiet = !(run.writes?.length || run.external_writes?.length) && (result === "done" || result === "waiting");
  return html`
    <li class="run run-${RESULT_TONES[result] ?? "ok"}">
      <div class="run-head">
        <time title=${full(run.started)}>${clock(run.started, { millis: true })}</time>
        <span class="run-title">
          <strong>${t(run.is_cleanup ? "run.cleanup" : "run.reconcile", { number: whole(run.number) })}</strong>
          <span class="muted">${duration(run.seconds)}${run.queued > 0.001 ? ` ${t("run.queued", { duration: duration(run.queued) })}` : ""}</span>
        </span>
        ${save && html`<button class="quiet save" title=${t("action.save_test.text")} onClick=${save}>${t("action.save_test")}</button>`}
      </div>
      ${causes && html`<p class="because">${t("run.because", { causes })}</p>`}
      <dl class="details">
        ${run.reads?.length ? html`<div><dt>${t("run.read")}</dt><dd class="muted">${run.reads.map((read) => readText(read, run)).join(", ")}</dd></div>` : ""}
        ${writes.map((write) => html`<div class="verb-${write.verb}"><dt>${t(`verb.${write.verb}`)}</dt><dd><${Write} write=${write} home=${home} /></dd></div>`)}
        ${(run.external_writes ?? []).map(
          (one) => html`<div><dt>${t("run.outside")}</dt><dd>${one.system}: ${one.description}${one.result === "succeeded" ? "" : ` (${one.result})`} <span class="muted">${duration(one.seconds)}</span></dd></div>`,
        )}
        ${statusChanges.length || run.conditions?.length
          ? html`<div><dt>${t("run.status")}</dt><dd>
              ${statusChanges.map(([path, , after]) => html`<span class="fact">${path} ${after || t("run.removed")}</span>`)}
              ${(run.conditions ?? []).map((one) => html`<span class="fact"><${Mark} tone=${toneOfReady(one.status)} label=${one.status} />${one.type}=${one.status}${one.reason ? html` <span class="muted">${one.reason}</span>` : ""}</span>`)}
            </dd></div>`
          : ""}
        ${(run.events ?? []).map((event) => html`<div><dt>${t("run.event")}</dt><dd class=${event.type === "Warning" ? "warning" : ""}>${event.reason} <span class="muted">${event.message}</span></dd></div>`)}
        ${isQuiet ? html`<div><dt></dt><dd class="muted">${t("run.nothing")}</dd></div>` : ""}
        ${result !== "done" && (run.message || run.reason) ? html`<div class="outcome tone-${RESULT_TONES[result]}"><dt>${t(`result.${result}`)}</dt><dd>${run.message || run.reason}</dd></div>` : ""}
      </dl>
    </li>
  `;
}

function Write({ write, home }) {
  const changes = write.verb === "changed" ? (write.changes ?? []) : [];
  return html`
    <span class="target">${nameWithin(write.object, home)}</span>
    ${write.error && html`<span class="reason">${write.error}</span>`}
    ${changes.length > 0 &&
    html`<ul class="diff">
      ${changes.map(
        ([path, before, after]) => html`
          <li key=${path}>
            <code class="path">${path}</code>
            <span class="values">${before && html`<del>${before}</del>`}${before && after && html`<span class="arrow">→</span>`}${after ? html`<ins>${after}</ins>` : html`<em>${t("run.removed")}</em>`}</span>
          </li>
        `,
      )}
      ${write.more_changes ? html`<li class="muted">${t("run.more_fields", { n: write.more_changes })}</li>` : ""}
    </ul>`}
  `;
}

function Node({ node, of }) {
  return html`
    <li>
      <div class="node" aria-current=${isSame(node.object, of) ? "true" : undefined}>
        <${Mark} tone=${toneOfReady(node.ready)} label=${t(`ready.${node.ready || "none"}`)} />
        <div><${ObjectLink} object=${node.object} home=${of[1]} />${node.detail && html`<p class="muted">${node.detail}</p>`}</div>
      </div>
      ${node.children?.length ? html`<ul>${node.children.map((child) => html`<${Node} key=${child.object.join("/")} node=${child} of=${of} />`)}${node.more_children ? html`<li class="none">${t("overview.more", { n: whole(node.more_children) })}</li>` : ""}</ul>` : ""}
    </li>
  `;
}

function Conditions({ conditions }) {
  if (!conditions.length) return html`<p class="none">${t("object.conditions.none")}</p>`;
  return html`<ul class="facts-list">
    ${conditions.map(
      (one) => html`
        <li key=${one.type}>
          <${Mark} tone=${one.type === "Ready" || one.type === "Available" ? toneOfReady(one.status) : "none"} label=${one.status} />
          <div><strong>${one.type}</strong> <span>${one.status}</span> <span class="muted">${one.reason}</span>${one.message && html`<p class="muted">${one.message}</p>`}</div>
        </li>
      `,
    )}
  </ul>`;
}

function Events({ runs }) {
  const events = runs.flatMap((run) => (run.events ?? []).map((event) => [event, run]));
  if (!events.length) return html`<p class="none">${t("object.events.none")}</p>`;
  return html`<ul class="facts-list">
    ${events.map(
      ([event, run], index) => html`
        <li key=${index}>
          <${Mark} tone=${event.type === "Warning" ? "wait" : "none"} label=${event.type} />
          <div><strong>${event.reason}</strong> <span class="muted">${ago(run.started)}</span><p class="muted">${event.message}</p></div>
        </li>
      `,
    )}
  </ul>`;
}
