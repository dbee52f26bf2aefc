// Create objects from YAML, in development. The API server's own objections are shown while a person types.
import { Component, html } from "../html.js";
import { act, check, get } from "../api.js";
import { t } from "../language.js";
import { TextPlan } from "./plan.js";

/** Milliseconds without a key after which a text is checked. */
const PAUSE = 300;

/** A text with its objections; `onDone` is called with the sentence about what was applied. */
export class YamlForm extends Component {
  state = { problems: null, failure: null, isChecking: false };

  componentDidMount() {
    if (this.props.text.trim()) this.checkSoon();
  }

  componentDidUpdate(previous) {
    if (previous.text !== this.props.text) this.checkSoon();
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  checkSoon() {
    clearTimeout(this.timer);
    this.setState({ isChecking: true, failure: null });
    this.timer = setTimeout(() => this.check(this.props.text), PAUSE);
  }

  async check(text) {
    const problems = await check(text).catch((error) => [error.message]);
    if (text === this.props.text) this.setState({ problems, isChecking: false });
  }

  async apply() {
    try {
      this.props.onDone(await act({ action: "apply", text: this.props.text }));
    } catch (error) {
      this.setState({ failure: error.message });
    }
  }

  render({ text, onText, cancel }, { problems, failure, isChecking }) {
    const isGood = problems?.length === 0 && !isChecking;
    return html`
      <div class="editor">
        <textarea aria-label=${t("object.yaml")} spellcheck="false" rows="18" value=${text}
          onInput=${(event) => onText(event.target.value)}></textarea>
        <${TextPlan} text=${text}>
          <button class="button primary" disabled=${!text.trim()} onClick=${() => this.apply()}>${t("action.apply")}</button>
          ${cancel}
        <//>
        <div role="status">
          ${failure && html`<p class="note note-bad">${failure}</p>`}
          ${isChecking && html`<p class="none">${t("check.checking")}</p>`}
          ${isGood && !failure && html`<p class="note">${t("check.good")}</p>`}
          ${!isChecking && problems?.length > 0 && html`<ul class="problems">${problems.map((one) => html`<li key=${one}>${one}</li>`)}</ul>`}
        </div>
      </div>
    `;
  }
}

export class Editor extends Component {
  state = { text: "", note: null };

  async componentDidMount() {
    const kinds = await get("kinds").catch(() => []);
    const [kind, version] = [this.props.query.get("kind"), this.props.query.get("version")];
    const chosen = kinds.find((one) => one.kind === kind && one.api_version === version) ?? kinds[0];
    if (chosen && !this.state.text) this.setState({ text: chosen.example });
  }

  render(_, { text, note }) {
    return html`
      <header class="bar-top"><h1>${t("objects.create")}</h1></header>
      <${YamlForm} text=${text} onText=${(changed) => this.setState({ text: changed, note: null })}
        onDone=${(done) => this.setState({ note: done })}
        cancel=${html`<a class="button" href="#/objects">${t("action.cancel")}</a>`} />
      ${note && html`<p class="note" role="status">${note}</p>`}
    `;
  }
}
