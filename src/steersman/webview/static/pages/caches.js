// The table of caches, on two pages.
import { html } from "../html.js";
import { bytes, duration } from "../format.js";
import { t, whole } from "../language.js";
import { Mark } from "../parts.js";

export const cachesTotal = (caches = []) =>
  t("caches.total", {
    objects: whole(caches.reduce((sum, one) => sum + (one.objects ?? 0), 0)),
    bytes: bytes(caches.reduce((sum, one) => sum + (one.bytes ?? 0), 0)),
  });

const scopeOf = (cache) =>
  [
    cache.namespaces?.length ? cache.namespaces.join(", ") : t("caches.all"),
    cache.selector,
    cache.is_metadata_only ? t("caches.metadata") : "",
  ]
    .filter(Boolean)
    .join(" · ");

export function Caches({ caches = [] }) {
  if (!caches.length) return html`<p class="none">${t("caches.none")}</p>`;
  return html`
    <table class="table caches">
      <thead>
        <tr>
          <th>${t("caches.kind")}</th>
          <th class="number">${t("caches.objects")}</th>
          <th class="number">${t("caches.bytes")}</th>
          <th class="number">${t("caches.age")}</th>
          <th class="wide">${t("caches.scope")}</th>
        </tr>
      </thead>
      <tbody>
        ${caches.map(
          (one) => html`
            <tr key=${`${one.api_version} ${one.kind}`}>
              <td>
                <${Mark} tone=${one.is_synced ? "ok" : "bad"} label=${t(one.is_synced ? "caches.synced" : "caches.not_synced")} />
                <span class="name">${one.kind}</span> <span class="muted wide">${one.api_version}</span>
              </td>
              ${one.is_synced
                ? html`
                    <td class="number">${whole(one.objects ?? 0)}</td>
                    <td class="number">${bytes(one.bytes ?? 0)}</td>
                    <td class="number">${one.age == null ? t("time.never") : t("time.ago", { duration: duration(one.age) })}</td>
                    <td class="muted wide">${scopeOf(one)}</td>
                  `
                : html`<td class="reason" colspan="4">${one.reason}</td>`}
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}
