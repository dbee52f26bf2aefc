// The frame around the pages: navigation, the link to the operator, the keyboard.
import { Component, html, render } from "./html.js";
import { hasToken } from "./api.js";
import { steady } from "./format.js";
import { currentLanguage, languages, setLanguage, t } from "./language.js";
import { listen, live, start } from "./live.js";
import { Empty } from "./parts.js";
import { Editor } from "./pages/editor.js";
import { KindsPage } from "./pages/kinds.js";
import { ObjectPage } from "./pages/object.js";
import { ObjectsPage } from "./pages/objects.js";
import { OverviewPage } from "./pages/overview.js";
import { PlanPage } from "./pages/plan.js";
import { QueuesPage } from "./pages/queues.js";
import { SettingsPage } from "./pages/settings.js";

const PAGES = [
  ["overview", "#/", "M4 13h6V4H4zm10 7h6V4h-6zM4 20h6v-4H4z"],
  ["objects", "#/objects", "M4 6h16M4 12h16M4 18h10"],
  ["queues", "#/queues", "M4 7c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zm0 0v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3"],
  ["api", "#/api", "M9 7l-5 5 5 5M15 7l5 5-5 5"],
  ["plan", "#/plan", "M5 4h14v16H5zM9 9h6M12 6v6M9 16h6"],
  ["settings", "#/settings", "M4 8h9m5 0h2M4 16h2m5 0h9M13 8a2.5 2.5 0 1 0 5 0 2.5 2.5 0 1 0-5 0zM6 16a2.5 2.5 0 1 0 5 0 2.5 2.5 0 1 0-5 0z"],
];

const KEYS = [
  ["j", "keys.next"],
  ["k", "keys.previous"],
  ["enter", "keys.open"],
  ["/", "keys.filter"],
  ["u", "keys.back"],
  ["1 – 9", "keys.pages"],
  ["esc", "keys.close"],
  ["?", "keys.help"],
];

/** Return the pages that this operator has. */
const pages = () => PAGES.filter(([name]) => name !== "plan" || live.plans);

/** Return the page that an address names. */
function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/").map(decodeURIComponent);
  if (page === "objects" && rest.length === 3) {
    const [kind, ...group] = rest[0].split(".");
    return { page: "object", object: [kind, rest[1] === "-" ? "" : rest[1], rest[2], group.join(".")] };
  }
  return { page: page || "overview", query: new URLSearchParams(query) };
}

const Wheel = () => html`
  <svg class="wheel" viewBox="0 0 32 32" aria-hidden="true">
    <circle cx="16" cy="16" r="9" /><circle cx="16" cy="16" r="3" /><path d="M19 16L29.6 16M18.12 18.12L25.62 25.62M16 19L16 29.6M13.88 18.12L6.383 25.62M13 16L2.4 16M13.88 13.88L6.383 6.383M16 13L16 2.4M18.12 13.88L25.62 6.383" />
  </svg>
`;

const Link = ({ status }) => {
  const texts = { live: t("link.live"), connecting: t("link.connecting"), refused: t("link.refused.title") };
  const text = texts[status] ?? t("link.lost");
  return html`<span class="link link-${status}" role="status">${text}</span>`;
};

class App extends Component {
  state = { route: route(), help: false };

  componentDidMount() {
    addEventListener("hashchange", () => {
      this.setState({ route: route(), help: false });
      scrollTo(0, 0);
    });
    addEventListener("keydown", (event) => this.onKey(event));
    listen((event) => event !== "changed" && this.setState({}));
    // Lengths of time grow while nothing happens.
    setInterval(() => document.hidden || this.setState({}), 1000);
    start();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      this.setState({ help: false });
      document.activeElement?.blur();
      return;
    }
    if (event.target.matches("input, textarea, select")) return;
    const action = {
      "?": () => this.setState({ help: !this.state.help }),
      "/": () => this.filter(),
      j: () => moveFocus(1),
      k: () => moveFocus(-1),
      u: () => (location.hash = "#/objects"),
      ...Object.fromEntries(pages().map(([, href], index) => [index + 1, () => (location.hash = href)])),
    }[event.key];
    if (action && !event.defaultPrevented) {
      event.preventDefault();
      action();
    }
  }

  filter() {
    if (this.state.route.page !== "objects") location.hash = "#/objects";
    requestAnimationFrame(() => setTimeout(() => document.querySelector("#filter")?.focus(), 50));
  }

  render(_, { route: at, help }) {
    const operators = live.overview?.operators ?? [];
    document.title = [at.object?.[2] ?? t(`nav.${at.page in TITLES ? at.page : "overview"}`), ...operators, "Steersman"].join(" · ");
    return html`
      <div class="frame">
        <header class="side">
          <a class="brand" href="#/" aria-label="Steersman"><${Wheel} /><span>Steersman</span></a>
          <nav aria-label=${t("nav.label")}>
            ${pages().map(
              ([name, href, path]) => html`
                <a key=${name} href=${href} aria-current=${(at.page === "object" ? "objects" : at.page) === name ? "page" : undefined}>
                  <svg viewBox="0 0 24 24" aria-hidden="true"><path d=${path} /></svg>
                  <span class="long">${t(`nav.${name}`)}</span>
                  <span class="short">${name === "queues" ? t("nav.queues.short") : t(`nav.${name}`)}</span>
                </a>
              `,
            )}
          </nav>
          <footer>
            <${Link} status=${live.status} />
            <button class="quiet" onClick=${() => this.setState({ help: true })}>${t("nav.keys")} <kbd>?</kbd></button>
            <button class="quiet language" lang=${currentLanguage() === "en" ? "zh" : "en"} onClick=${() => this.switchLanguage()}>
              ${languages[currentLanguage() === "en" ? "zh" : "en"]}
            </button>
          </footer>
        </header>
        <main id="main" class="page-${at.page}">
          ${live.status === "lost" && live.overview && html`<${Lost} />`}
          ${live.status === "refused"
            ? html`<${Empty} title=${t("link.refused.title")} text=${refusal(live.error)} />`
            : live.status === "lost" && !live.overview
              ? html`<${Empty} title=${t("link.lost.title")} text=${live.error.status ? live.error.message : t("link.lost.first")} />`
              : this.page(at)}
        </main>
        ${help && html`<${Help} close=${() => this.setState({ help: false })} />`}
      </div>
    `;
  }

  page(at) {
    const language = currentLanguage();
    switch (at.page) {
      case "objects":
        return html`<${ObjectsPage} key=${at.query.toString()} query=${at.query} language=${language} />`;
      case "object":
        return html`<${ObjectPage} object=${at.object} language=${language} />`;
      case "queues":
        return html`<${QueuesPage} language=${language} />`;
      case "settings":
        return html`<${SettingsPage} language=${language} />`;
      case "api":
        return html`<${KindsPage} language=${language} />`;
      case "plan":
        return live.plans ? html`<${PlanPage} language=${language} />` : html`<${OverviewPage} language=${language} />`;
      case "new":
        return html`<${Editor} key=${at.query.toString()} query=${at.query} />`;
      default:
        return html`<${OverviewPage} language=${language} />`;
    }
  }

  switchLanguage() {
    setLanguage(currentLanguage() === "en" ? "zh" : "en");
    this.setState({});
  }
}

const TITLES = Object.fromEntries(PAGES.map(([name]) => [name, true]));

function refusal(error) {
  if (error.status !== 401) return error.message;
  return hasToken ? t("link.refused.wrong") : t("link.refused.missing");
}

const Lost = () => html`
  <div class="banner" role="alert">
    <strong>${t("link.lost.title")}</strong> ${t("link.lost.text", { duration: steady((Date.now() - live.heard) / 1000) })}
  </div>
`;

const Help = ({ close }) => html`
  <div class="veil" onClick=${close}>
    <div class="dialog" role="dialog" aria-modal="true" aria-label=${t("keys.title")}>
      <h2>${t("keys.title")}</h2>
      <dl>${KEYS.map(([key, text]) => html`<div key=${key}><dt><kbd>${key.replace("9", pages().length)}</kbd></dt><dd>${t(text)}</dd></div>`)}</dl>
    </div>
  </div>
`;

/** Focus the next or previous row of whatever list the page has. */
function moveFocus(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement);
  const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

render(html`<${App} />`, document.querySelector("#app"));
