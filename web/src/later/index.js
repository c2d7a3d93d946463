// What is looked up rather than waited for: facts, machines and prices, with their texts. It is loaded when the first
// answer stands, so that this does not wait for it.

import { html } from "lit";

import { addTexts } from "../i18n.js";
import { facts as factsEn } from "../texts/en/facts.js";
import { market as marketEn } from "../texts/en/market.js";
import { facts as factsNl } from "../texts/nl/facts.js";
import { market as marketNl } from "../texts/nl/market.js";
import { card } from "./card.js";
import { origin } from "./origin.js";
import { prices } from "./prices.js";
import { server, serverField } from "./server.js";

/** @type {Record<keyof typeof factsEn | keyof typeof marketEn, string>} */
const nl = { ...factsNl, ...marketNl };
addTexts({ en: { ...factsEn, ...marketEn }, nl });

export { serverField };

/** @param {import("../views/view.js").View} view */
export const lookUps = (view) => html`${prices(view)} ${card(view)} ${server(view)} ${origin(view)}`;
