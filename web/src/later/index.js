// What is not waited for: time and cost of the run, memory through a step, other cards, what to buy or rent, facts,
// machines and prices, with their texts. It is loaded when the first answer stands, so that this does not wait for it.

import { html } from "lit";

import { addTexts } from "../i18n.js";
import { cost as costEn } from "../texts/en/cost.js";
import { extras as extrasEn } from "../texts/en/extras.js";
import { facts as factsEn } from "../texts/en/facts.js";
import { market as marketEn } from "../texts/en/market.js";
import { plan as planEn } from "../texts/en/plan.js";
import { step as stepEn } from "../texts/en/step.js";
import { time as timeEn } from "../texts/en/time.js";
import { wishes as wishesEn } from "../texts/en/wishes.js";
import { cost as costNl } from "../texts/nl/cost.js";
import { extras as extrasNl } from "../texts/nl/extras.js";
import { facts as factsNl } from "../texts/nl/facts.js";
import { market as marketNl } from "../texts/nl/market.js";
import { plan as planNl } from "../texts/nl/plan.js";
import { step as stepNl } from "../texts/nl/step.js";
import { time as timeNl } from "../texts/nl/time.js";
import { wishes as wishesNl } from "../texts/nl/wishes.js";
import { card } from "./card.js";
import { cost } from "./cost.js";
import { origin } from "./origin.js";
import { prices } from "./prices.js";
import { server, serverField } from "./server.js";
import { time } from "./time.js";

const en = { ...factsEn, ...marketEn, ...timeEn, ...costEn, ...wishesEn, ...extrasEn, ...stepEn, ...planEn };
/** @type {Record<keyof typeof en, string>} */
const nl = { ...factsNl, ...marketNl, ...timeNl, ...costNl, ...wishesNl, ...extrasNl, ...stepNl, ...planNl };
addTexts({ en, nl });

export { outcome, outcomeText } from "./outcome.js";
export { cards, limits } from "./extras.js";
export { plan } from "./plan.js";
export { Planner } from "./planner.js";
export { several } from "./several.js";
export { step } from "./step.js";
export { wishes } from "./wishes.js";
export { serverField };

/** @param {import("../views/view.js").View} view */
export const run = (view) => html`${time(view)} ${cost(view)}`;

/** @param {import("../views/view.js").View} view */
export const lookUps = (view) => html`${prices(view)} ${card(view)} ${server(view)} ${origin(view)}`;
