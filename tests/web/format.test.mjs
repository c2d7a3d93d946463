import assert from "node:assert/strict";
import { test } from "node:test";

import { createFormat } from "../../web/src/format.js";

const en = createFormat("en-GB");
const nl = createFormat("nl-NL");
const GiB = 2 ** 30;
const plain = (text) => text.replaceAll("\u00a0", " ");

test("sizes keep three figures and their unit", () => {
  const rows = [
    [0, "0 B"], [512, "512 B"], [1024, "1 KiB"], [49152, "48 KiB"], [33554432, "32 MiB"], [1.5 * 2 ** 20, "1.5 MiB"], [0.25 * GiB, "0.25 GiB"],
    [5.2051 * GiB, "5.21 GiB"], [9.949 * GiB, "9.95 GiB"], [9.951 * GiB, "10.0 GiB"], [23.988 * GiB, "24.0 GiB"], [139.84 * GiB, "139.8 GiB"],
    [1500 * GiB, "1,500 GiB"], [-3.4 * GiB, "−3.40 GiB"],
  ];
  for (const [bytes, text] of rows) assert.equal(plain(en.size(bytes)), text);
  assert.equal(plain(nl.size(17.6 * GiB)), "17,6 GiB");
  assert.equal(plain(nl.size(1500 * GiB)), "1.500 GiB");
});

test("a range has one unit, that of its upper end", () => {
  assert.equal(plain(en.range({ low: 9.4 * GiB, expected: 0, high: 12.1 * GiB }, "to")), "9.4 to 12.1 GiB");
  assert.equal(plain(nl.range({ low: 9.4 * GiB, expected: 0, high: 12.1 * GiB }, "tot")), "9,4 tot 12,1 GiB");
});

test("counts, shares and dates follow the language", () => {
  assert.equal(en.integer(8030261248), "8,030,261,248");
  assert.equal(nl.integer(8030261248), "8.030.261.248");
  assert.equal(en.compact(8030261248), "8.03B");
  assert.equal(plain(nl.compact(8030261248)), "8,03 mld.");
  assert.equal(en.percent(0.374), "37%");
  assert.equal(en.percent(0.034), "3.4%");
  assert.equal(en.percent(0.00001), "< 0.1%");
  assert.equal(en.percent(0), "0%");
  assert.equal(nl.date("2026-11-30"), "30 november 2026");
  assert.equal(en.date("soon"), "soon");
  assert.equal(en.date("2026-10"), "October 2026");
  assert.equal(nl.date("2026"), "2026");
  assert.equal(en.day("2026-08-22"), "22 Aug 2026");
  assert.equal(nl.day("2026-10"), "okt 2026");
  assert.equal(plain(nl.money(8450, "EUR", 0)), "€ 8.450");
  assert.equal(en.money(2.4, "USD", 2), "US$2.40");
  assert.equal(en.decimal(0.85482, 4), "0.8548");
  assert.equal(plain(en.marketed(24 * GiB)), "24 GB");
  assert.equal(plain(en.mebibytes(24564 * 2 ** 20)), "24,564 MiB");
});
