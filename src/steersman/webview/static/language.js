// Words in the reader's language. A key that is missing shows itself; a test keeps the dictionaries equal.
import en from "./words/en.js";
import zh from "./words/zh.js";

const DICTIONARIES = { en, zh };
const KEY = "steersman.language";

let language = localStorage.getItem(KEY) ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
if (!(language in DICTIONARIES)) language = "en";
document.documentElement.lang = language;

export const languages = { en: "English", zh: "中文" };
export const currentLanguage = () => language;

export function setLanguage(chosen) {
  language = chosen;
  localStorage.setItem(KEY, chosen);
  document.documentElement.lang = chosen;
}

/** Return the text of a key, with its `{name}` places filled in. */
export function t(key, values = {}) {
  const text = DICTIONARIES[language][key] ?? key;
  return text.replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place));
}

/** Return the text of a key for a number: `key.one` or `key.other`. */
export const count = (key, number) => t(`${key}.${number === 1 ? "one" : "other"}`, { n: whole(number) });

/** Return a whole number with separators. */
export const whole = (number) => new Intl.NumberFormat(language).format(number);
