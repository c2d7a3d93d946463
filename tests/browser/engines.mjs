// The three browser engines behind one small interface, so that a check is written once. Debian's own browsers are used:
// nothing is downloaded. An engine opens a `Tab`:
//   goto(url)                   loads a page, in a fresh profile without state of earlier ones
//   evaluate(function, ...args) runs the function in the page and returns its JSON value
//   press(key), click(selector), type(text), resize(width, height)
//   requests()                  the URLs asked for
//   consoleErrors()             what the browser's console complained of (WebKit: only what `probe` catches)
//   close()
// and `probe` (below) runs before the page's own scripts.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";

/** Runs in the page before anything else; collects what a page can know of its own faults. */
export function probe() {
  const found = { violations: [], errors: [] };
  Object.defineProperty(globalThis, "tunefitProbe", { value: found });
  addEventListener("securitypolicyviolation", (event) => {
    found.violations.push(`${event.violatedDirective} blocked ${event.blockedURI || event.sample} (${event.sourceFile})`);
  });
  addEventListener("error", (event) => found.errors.push(String(event.message ?? `cannot load ${event.target.outerHTML}`)), true);
  addEventListener("unhandledrejection", (event) => found.errors.push(String(event.reason)));
  const report = console.error;
  console.error = (...values) => {
    found.errors.push(values.map(String).join(" "));
    report.apply(console, values);
  };
}

/** A function and its arguments as an expression: all three protocols evaluate text, outside the page's policy. */
const expression = (body, values) => `(${body})(${values.map((value) => JSON.stringify(value)).join(", ")})`;

/** Playwright's and Puppeteer's pages name their events alike. */
function listen(page) {
  const errors = [];
  const requests = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  return { errors, requests };
}

async function openChromium() {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    chromiumSandbox: process.getuid() !== 0, // it refuses to run as root
    args: [
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  return {
    runsProbe: true,
    async newTab() {
      const context = await browser.newContext();
      await context.addInitScript(probe);
      const page = await context.newPage();
      const { errors, requests } = listen(page);
      return {
        goto: (url) => page.goto(url),
        evaluate: (body, ...values) => page.evaluate(expression(body, values)),
        press: (key) => page.keyboard.press(key),
        click: (selector) => page.click(selector),
        type: (text) => page.keyboard.type(text),
        resize: (width, height) => page.setViewportSize({ width, height }),
        requests: async () => requests,
        consoleErrors: async () => errors,
        close: () => context.close(),
      };
    },
    close: () => browser.close(),
  };
}

async function openFirefox() {
  const { default: puppeteer } = await import("puppeteer-core");
  const browser = await puppeteer.launch({
    browser: "firefox",
    protocol: "webDriverBiDi",
    executablePath: "/usr/bin/firefox-esr",
    headless: true,
  });
  return {
    runsProbe: true,
    async newTab() {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.evaluateOnNewDocument(probe);
      const { errors, requests } = listen(page);
      return {
        goto: (url) => page.goto(url),
        evaluate: (body, ...values) => page.evaluate(expression(body, values)),
        press: (key) => page.keyboard.press(key),
        click: (selector) => page.click(selector),
        type: (text) => page.keyboard.type(text),
        async resize(width, height) {
          // Older releases of Firefox ESR set the size, but refuse the orientation that Puppeteer sends along with it.
          await page.setViewport({ width, height }).catch((error) => {
            if (!error.message.includes("unknown command")) throw error;
          });
          while ((await page.evaluate("innerWidth")) !== width) await setTimeout(20);
        },
        requests: async () => requests,
        consoleErrors: async () => errors,
        close: () => context.close(),
      };
    },
    close: () => browser.close(),
  };
}

const miniBrowser = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/webkit2gtk-4.1/MiniBrowser`;

/** A display for an engine without a headless mode: X picks a free number and writes it to descriptor 3. */
async function openDisplay() {
  const service = spawn("Xvfb", ["-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const [number] = await once(service.stdio[3], "data");
  return { name: `:${String(number).trim()}`, close: () => service.kill() };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

/** `promise`, or after `seconds` an error that says what was waited for. */
async function within(seconds, what, promise) {
  const over = new AbortController();
  const late = setTimeout(seconds * 1000, null, { signal: over.signal }).then(() => {
    throw new Error(`${what} took over ${seconds} s`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => {}); // the abort itself
    over.abort();
  }
}

/** WebKitGTK's driver on a free port, answering. */
async function startWebkitDriver(display) {
  const port = await freePort();
  const service = spawn("/usr/bin/WebKitWebDriver", [`--port=${port}`], {
    stdio: "ignore",
    detached: true, // its browsers are its group: killing that leaves none behind
    env: { ...process.env, DISPLAY: display.name },
  });
  const server = `http://127.0.0.1:${port}`;
  for (let tries = 0; !(await fetch(`${server}/status`).catch(() => null)); ++tries) {
    if (tries === 100) throw new Error("WebKitWebDriver does not answer");
    await setTimeout(100);
  }
  return { server, kill: () => process.kill(-service.pid, "SIGKILL") };
}

async function openWebkit() {
  const { Builder, By, Capabilities, Key } = await import("selenium-webdriver");
  const display = await openDisplay();
  let service = await startWebkitDriver(display);
  const capabilities = new Capabilities({
    browserName: "MiniBrowser",
    "webkitgtk:browserOptions": { binary: miniBrowser, args: ["--automation"] },
  });
  const keys = { ArrowDown: Key.ARROW_DOWN, ArrowUp: Key.ARROW_UP, Enter: Key.ENTER, Escape: Key.ESCAPE, Tab: Key.TAB, " ": " " };

  /** A browser with a fresh profile, which now and then never comes up: the driver is then started anew, twice at most. */
  async function startBrowser(tries = 3) {
    const build = async () => {
      const driver = await new Builder().usingServer(service.server).withCapabilities(capabilities).build();
      await driver.get("about:blank");
      return driver;
    };
    const starting = build();
    try {
      return await within(15, "starting MiniBrowser", starting);
    } catch (error) {
      starting.catch(() => {}); // of a driver that is gone
      if (tries === 1) throw error;
      service.kill();
      service = await startWebkitDriver(display);
      return startBrowser(tries - 1);
    }
  }

  return {
    runsProbe: false, // its driver has no start-up scripts: the page under test must bring the probe
    async newTab() {
      const driver = await startBrowser();
      const ask = (what, promise) => within(30, what, promise);
      return {
        goto: (url) => ask(`loading ${url}`, driver.get(url)),
        evaluate: (body, ...values) => ask(`${body}`, driver.executeScript(`return ${expression(body, values)}`)),
        press: (key) => ask(`pressing ${key}`, driver.actions().sendKeys(keys[key] ?? key).perform()),
        click: (selector) => ask(`clicking ${selector}`, driver.findElement(By.css(selector)).click()),
        type: (text) => ask(`typing ${text}`, driver.actions().sendKeys(text).perform()),
        resize: (width, height) => ask("resizing", driver.manage().window().setRect({ width, height })),
        requests: () => ask("performance", driver.executeScript("return performance.getEntries().map((entry) => entry.name)")),
        consoleErrors: async () => [],
        close: () => ask("closing", driver.quit()),
      };
    },
    async close() {
      service.kill();
      display.close();
    },
  };
}

export const engines = { Chromium: openChromium, Firefox: openFirefox, WebKitGTK: openWebkit };
