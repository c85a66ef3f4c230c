import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";

const CHROMIUM = "/usr/bin/chromium";

/** True if tests must fail, and not be skipped, where there is no Chromium. */
const isRequired = (process.env["CHRONICLE_REQUIRE_BROWSER"] ?? "") !== "";

/** A folder for pictures of what each tab showed at its end, for whoever looks for the reason of a failure. */
const SHOTS = process.env["PAGE_SHOTS"];

/** The time in which the page must show what a test waits for, in milliseconds. The machine may be busy. */
const PATIENCE_MS = 30_000;

/**
 * Messages of Chromium that say nothing about the page. Its builds differ in the features that they know, and a build
 * warns of those that the page does without.
 */
const OF_THE_BUILD = /^Error with Permissions-Policy header: Unrecognized feature/;

/** How long `expect.poll` waits for the page. */
export const SOON = { timeout: PATIENCE_MS };

let browser: Browser | undefined;

/**
 * What the page did in the present test that it never should: errors, dialogs, requests to other hosts, violations of
 * its policy. Any of it fails the test.
 */
const faults: string[] = [];

/** Tests that use one Chromium. They are skipped where there is none, unless it is required. */
export function describeWithBrowser(name: string, tests: () => void): void {
  const isMissing = !existsSync(CHROMIUM) && !isRequired;
  describe.skipIf(isMissing)(isMissing ? `${name} (skipped: ${CHROMIUM} is not installed)` : name, () => {
    beforeAll(async () => {
      const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
      const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
      browser = await chromium.launch({ executablePath: CHROMIUM, args: [...args, ...quiet] });
    });
    afterAll(() => browser?.close());
    beforeEach(() => void faults.splice(0));
    afterEach(() => expect(faults).toEqual([]));
    tests();
  });
}

export interface LookOptions extends BrowserContextOptions {
  /** Messages of the console that the test causes on purpose. */
  readonly expected?: RegExp;
  /** Prepares the tab, before it opens the address. */
  readonly before?: (page: Page) => Promise<void>;
}

/** A tab of a browser profile, which is removed at the end. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;

  constructor(page: Page, context: BrowserContext) {
    this.page = page;
    this.context = context;
  }

  /** Goes to another view, as a link of the page does. */
  async go(path: string): Promise<void> {
    await this.page.evaluate((to) => {
      history.pushState({}, "", to);
      dispatchEvent(new PopStateEvent("popstate"));
    }, path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (SHOTS !== undefined) await this.page.screenshot({ path: join(SHOTS, `${Date.now()}.png`) });
    await this.context.close();
  }
}

/** Opens an address in a browser profile of its own. */
export async function openTab(url: string, options: LookOptions = {}): Promise<Tab> {
  if (browser === undefined) throw new Error("no browser was started");
  const { expected, before, ...others } = options;
  const context = await browser.newContext({
    viewport: { width: 1360, height: 850 },
    reducedMotion: "reduce",
    ...others,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const tab = await tabIn(context, expected);
  await before?.(tab.page);
  await tab.page.goto(url);
  return tab;
}

/** Opens a further tab in a browser profile. */
export async function tabIn(context: BrowserContext, expected?: RegExp): Promise<Tab> {
  const page = await context.newPage();
  page.on("console", (message) => {
    const text = message.text();
    const isFault = message.type() === "error" || message.type() === "warning";
    if (isFault && !OF_THE_BUILD.test(text) && expected?.test(text) !== true)
      faults.push(`console: ${text} ${message.location().url}`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== "blob:" && hostname !== "127.0.0.1") faults.push(`request: ${request.url()}`);
  });
  return new Tab(page, context);
}
