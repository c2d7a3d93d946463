import { fieldTexts } from "./fields.js";
import { issues } from "./issues.js";
import { memory } from "./memory.js";
import { page } from "./page.js";

/** @type {Record<keyof typeof import("../en/index.js").en, string>} */
export const nl = { ...page, ...fieldTexts, ...memory, ...issues };
