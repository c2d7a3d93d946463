// Contrast of two colours as WCAG 2.2 defines it, and the page's own colours to hold a vendor's against.

import { readFileSync } from "node:fs";

import { root } from "./tables.mjs";

/** Relative luminance of "#rrggbb". */
function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** 1 to 21. */
export function contrast(one, other) {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** `--paper` and its like in web/styles/tokens.css, light and dark, under their names without the dashes. */
export function pageThemes() {
  const css = readFileSync(new URL("web/styles/tokens.css", root), "utf8");
  const start = css.indexOf("@media screen and (prefers-color-scheme: dark)");
  if (start < 0) throw new Error("tokens.css has no dark theme");
  const colours = (text) =>
    Object.fromEntries([...text.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name.replaceAll("-", "_"), value]));
  const light = colours(css.slice(0, start));
  return { light, dark: { ...light, ...colours(css.slice(start)) } };
}
