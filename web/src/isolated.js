// A name in a sentence without markup. One that is written from right to left, or that turns the direction of what
// follows, keeps that to itself; where there is markup, <bdi> does it.

const turning = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** @param {string} name */
export const isolated = (name) => (turning.test(name) ? `\u2068${name}\u2069` : name);
