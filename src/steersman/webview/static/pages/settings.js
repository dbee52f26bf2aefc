// How this run was started, and, in development, what can be done to it.
import { html } from "../html.js";
import { act } from "../api.js";
import { bytes, duration, full, since } from "../format.js";
import { t, whole } from "../language.js";
import { live, offers } from "../live.js";
import { Page, Section } from "../parts.js";

const STEPS = [10, 60, 600, 3600];

export class SettingsPage extends Page {
  period = 5000;

  path() {
    return "settings";
  }

  isAffected() {
    return false;
  }

  async perform(action) {
    try {
      this.setState({ note: { text: await act(action) } });
    } catch (error) {
      this.setState({ note: { text: error.message, isFailure: true } });
    }
  }

  show({ settings, history_limits: limits, actions, faults }) {
    const overview = live.overview;
    const { note } = this.state;
    const rows = [
      [t("settings.operator"), overview.operators.join(", ")],
      [t("settings.version"), overview.version],
      [t("settings.cluster"), overview.cluster],
      [t("settings.namespaces"), overview.namespaces?.join(", ") || t("settings.all_namespaces")],
      [t("settings.started"), `${full(overview.started)} (${t("time.ago", { duration: since(overview.started) })})`],
      [t("settings.leadership"), leadershipText(overview.leadership)],
      [
        t("settings.history"),
        t("settings.history.text", {
          n: whole(overview.remembered ?? 0),
          bytes: bytes(overview.remembered_bytes ?? 0),
          most: whole(limits.records),
          most_bytes: bytes(limits.bytes),
          each: limits.per_object,
        }),
      ],
      [t("settings.access"), t(actions.length ? "settings.actions" : "settings.read_only")],
    ];
    const others = Object.entries(settings);
    return html`
      <header class="bar-top"><h1>${t("settings.title")}</h1></header>
      <${Facts} rows=${rows} />
      ${others.length > 0 && html`<${Section} title=${t("settings.other")}><${Facts} rows=${others} /><//>`}
      ${offers("clock") &&
      html`<${Section} title=${t("settings.clock")}>
        <div class="actions">
          ${STEPS.map((seconds) => html`<button class="button" onClick=${() => this.perform({ action: "clock", seconds })}>${t("action.clock", { duration: duration(seconds) })}</button>`)}
        </div>
      <//>`}
      ${offers("fault") &&
      faults.length > 0 &&
      html`<${Section} title=${t("settings.faults")}>
        <ul class="rows faults">
          ${faults.map(
            (one) => html`<li key=${one.name}><strong>${one.name}</strong><span class="message">${one.description}</span>
              <button class="button" onClick=${() => this.perform({ action: "fault", fault: one.name })}>${t("action.fault")}</button></li>`,
          )}
        </ul>
      <//>`}
      ${note && html`<p class=${note.isFailure ? "note note-bad" : "note"} role="status">${note.text}</p>`}
    `;
  }
}

const Facts = ({ rows }) => html`
  <dl class="settings">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
`;

function leadershipText(leadership) {
  if (!leadership) return t("settings.no_leadership");
  const { lease = "", identity = "" } = leadership;
  return t(leadership.is_leader ? "settings.leader" : "settings.follower", { lease, identity });
}
