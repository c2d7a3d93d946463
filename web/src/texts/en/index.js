import { fieldTexts } from "./fields.js";
import { issues } from "./issues.js";
import { memory } from "./memory.js";
import { page } from "./page.js";

export const en = { ...page, ...fieldTexts, ...memory, ...issues };
