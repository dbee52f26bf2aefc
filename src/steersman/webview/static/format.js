// Lengths of time, moments and sizes, as people read them. `now` is the operator's time, not the browser's.
import { currentLanguage, t } from "./language.js";

let offset = 0;

/** Take over the operator's time. */
export function setNow(text) {
  offset = Date.parse(text) - Date.now();
}

/** Return the operator's time in milliseconds. */
export const now = () => Date.now() + offset;

/** Return a length of time with two or three digits and a unit, as `steer why` does. */
export function duration(seconds) {
  if (seconds < 1) {
    const milliseconds = seconds * 1000;
    return `${milliseconds < 10 ? milliseconds.toFixed(1) : milliseconds.toFixed(0)} ${t("unit.ms")}`;
  }
  if (seconds < 9.95) return `${seconds.toFixed(1)} ${t("unit.s")}`;
  const amounts = [
    [Math.floor(Math.round(seconds) / 86400), t("unit.d")],
    [Math.floor(Math.round(seconds) / 3600) % 24, t("unit.h")],
    [Math.floor(Math.round(seconds) / 60) % 60, t("unit.min")],
    [Math.round(seconds) % 60, t("unit.s")],
  ];
  const first = amounts.findIndex(([amount]) => amount);
  return amounts
    .slice(first, first + 2)
    .filter(([amount]) => amount)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}

/** Return whole seconds and larger units only: for texts that change every second. */
export const steady = (seconds) => duration(Math.max(Math.round(seconds), 1)).replace(/\.0 /, " ");

/** Return how long ago a moment was, in its largest unit only: a list is read at a glance. */
export function ago(text) {
  const seconds = (now() - Date.parse(text)) / 1000;
  if (seconds < 1) return t("time.now");
  const unit = [86400, 3600, 60, 1].find((one) => seconds >= one);
  return t("time.ago", { duration: steady(Math.floor(seconds / unit) * unit) });
}

/** Return how far away a moment is. */
export function until(text) {
  const seconds = (Date.parse(text) - now()) / 1000;
  return seconds < 1 ? t("time.now") : t("time.in", { duration: steady(seconds) });
}

/** Return the length of time since a moment. */
export const since = (text) => steady((now() - Date.parse(text)) / 1000);

/** Return the time of day; with the date if it is not today. */
export function clock(text, { millis = false } = {}) {
  const moment = new Date(text);
  const time = moment.toLocaleTimeString("en-GB") + (millis ? `.${String(moment.getMilliseconds()).padStart(3, "0")}` : "");
  if (moment.toDateString() === new Date(now()).toDateString()) return time;
  return `${moment.toLocaleDateString(currentLanguage() === "en" ? "en-GB" : "zh-CN", { month: "short", day: "numeric" })} ${time}`;
}

/** Return a moment in full. */
export const full = (text) => new Date(text).toLocaleString(currentLanguage() === "en" ? "en-GB" : "zh-CN", { dateStyle: "medium", timeStyle: "medium" });

/** Return a number of bytes. */
export function bytes(number) {
  if (number < 1000) return `${number} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let value = number / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${units[unit]}`;
}
