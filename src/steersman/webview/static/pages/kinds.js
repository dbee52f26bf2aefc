// Each kind's fields in words: what they hold, what limits them, and which rules the API server checks.
import { html } from "../html.js";
import { t, whole } from "../language.js";
import { offers } from "../live.js";
import { Empty, Page } from "../parts.js";

export class KindsPage extends Page {
  path() {
    return "kinds";
  }

  isAffected() {
    return false;
  }

  show(kinds) {
    return html`
      <header class="bar-top"><h1>${t("api.title")}</h1></header>
      ${kinds.length === 0 && html`<${Empty} title=${t("api.none")} />`}
      ${kinds.map((kind) => html`<${Kind} key=${`${kind.api_version} ${kind.kind}`} kind=${kind} />`)}
    `;
  }
}

function Kind({ kind }) {
  const facts = [kind.api_version, t(kind.is_namespaced ? "api.namespaced" : "api.cluster"), kind.is_stored && t("api.stored")];
  return html`
    <section class="kind-section">
      <header class="kind-head">
        <h2>${kind.kind}</h2>
        <span class="muted">${facts.filter(Boolean).join(" · ")}</span>
        ${offers("apply") &&
        html`<a class="button" href=${`#/new?kind=${encodeURIComponent(kind.kind)}&version=${encodeURIComponent(kind.api_version)}`}>${t("api.new", { kind: kind.kind })}</a>`}
      </header>
      ${kind.description && html`<p class="muted">${kind.description}</p>`}
      <table class="table fields-table">
        <thead><tr><th>${t("api.field")}</th><th>${t("api.type")}</th><th>${t("api.rules")}</th></tr></thead>
        <tbody>${(kind.fields ?? []).map((field) => html`<${Field} key=${field.path} field=${field} />`)}</tbody>
      </table>
      ${kind.more_fields > 0 && html`<p class="none">${t("api.more", { n: whole(kind.more_fields) })}</p>`}
    </section>
  `;
}

function Field({ field }) {
  const at = field.path.lastIndexOf(".") + 1;
  const limits = Object.entries(field.constraints ?? {})
    .filter(([, value]) => value !== false)
    .map(([name, value]) => t(`limit.${name}`, { value: valueText(value) }));
  if (field.default != null) limits.push(t("api.default", { value: JSON.stringify(field.default) }));
  return html`
    <tr>
      <td><code class="path"><span class="parent">${field.path.slice(0, at)}</span>${field.path.slice(at)}${field.is_required && html`<span class="needs">${t("api.required")}</span>`}</code></td>
      <td class="type">${typeText(field)}</td>
      <td>
        ${field.description && html`<p>${field.description}</p>`}
        ${limits.length > 0 && html`<p class="muted">${limits.join(" · ")}</p>`}
        ${(field.rules ?? []).map((rule) => html`<div class="rule" key=${rule.expression}>${rule.message}<code>${rule.expression}</code></div>`)}
      </td>
    </tr>
  `;
}

const typeText = ({ type, of }) => t(`type.${type}`, { of: of ? t(`types.${of}`) : "" });

const valueText = (value) => (Array.isArray(value) ? value.map((one) => JSON.stringify(one)).join(", ") : String(value));
