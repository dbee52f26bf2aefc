// Create objects from YAML, in development.
import { Component, html } from "../html.js";
import { act } from "../api.js";
import { t } from "../language.js";

export class Editor extends Component {
  state = { text: "", note: null };

  async apply() {
    try {
      this.setState({ note: { text: await act({ action: "apply", text: this.state.text }) } });
    } catch (error) {
      this.setState({ note: { text: error.message, isFailure: true } });
    }
  }

  render(_, { text, note }) {
    return html`
      <header class="bar-top"><h1>${t("objects.create")}</h1></header>
      <div class="editor">
        <textarea aria-label=${t("object.yaml")} spellcheck="false" rows="20" value=${text}
          onInput=${(event) => this.setState({ text: event.target.value })}></textarea>
        <div class="actions">
          <button class="button primary" disabled=${!text.trim()} onClick=${() => this.apply()}>${t("action.apply")}</button>
          <a class="button" href="#/objects">${t("action.cancel")}</a>
        </div>
        ${note && html`<p class=${note.isFailure ? "note note-bad" : "note"} role="status">${note.text}</p>`}
      </div>
    `;
  }
}
