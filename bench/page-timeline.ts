import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { amountFor, type Bench } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { makeLongHistory } from "./lib/long-history.ts";

const ACTIONS = 100_000;
const CHROMIUM = "/usr/bin/chromium";
/** The number of frames that are measured while the lanes zoom, and while the list scrolls. */
const FRAMES = 120;
const WRITES = 20;

export const pageTimeline: Bench = {
  name: "page-timeline",
  promise:
    "on a history of 100,000 actions, the page shows the newest work within 1 s and takes keys within 1.5 s, draws all actions, zooms and scrolls with 55 frames a second (p5) in at most 250 MiB, and shows an event within 300 ms (p95); the first view loads at most 180 KB",
  async run(context) {
    if (!existsSync(CHROMIUM)) return { rows: [], ratios: [], notes: [`not measured: ${CHROMIUM} is missing`] };
    const folder = context.scratch.fresh("page-timeline");
    await using server = new BenchServer(folder, ["--ui"]);
    const places = { home: join(folder, "home"), configFolder: join(folder, "config", "chronicle") };
    const actions = amountFor(context, { what: "actions", all: ACTIONS });
    context.say(`writing ${actions} actions`);
    await makeLongHistory(places, join(folder, "project"), actions);
    context.say("starting the server, which brings the index up to the log");
    await server.start();
    const id = await server.workspaceOfFolder();
    await server.client.workspace(id).log({ limit: 1, reverse: true });
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-precise-memory-info"],
    });
    try {
      const writes = amountFor(context, { what: "writes", all: WRITES, quick: 10 });
      return await measured({ browser, server, id, rounds: context.options.rounds, writes });
    } finally {
      await browser.close();
    }
  },
};

interface Place {
  readonly browser: Browser;
  readonly server: BenchServer;
  readonly id: string;
  readonly rounds: number;
  readonly writes: number;
}

async function measured({ browser, server, id, rounds, writes }: Place) {
  const [paints, keys]: [number[], number[]] = [[], []];
  // The first page is not measured: it is that of a server whose code is still cold.
  for (let round = -1; round < rounds; round += 1) {
    const page = await openPage(browser, server);
    const started = performance.now();
    await page.goto(`${server.url}/w/${id}`);
    await page.locator(".item").first().waitFor();
    const painted = performance.now() - started;
    await page.keyboard.press("j");
    await page.locator('.item[aria-current="true"]').waitFor();
    if (round >= 0) {
      paints.push(painted);
      keys.push(performance.now() - started);
    }
    await page.context().close();
  }
  const page = await openPage(browser, server);
  await page.goto(`${server.url}/w/${id}`);
  await page.locator(".item").first().waitFor();
  await page.waitForLoadState("load");
  // The lanes then show the whole history.
  const whole = await allTicks(page);
  await page.keyboard.press("0");
  const zoom = await framesOf(page, ZOOM);
  const scroll = await framesOf(page, SCROLL);
  const memory = await page.evaluate("performance.memory.usedJSHeapSize / 2 ** 20");
  const shown = await timesToScreen(page, { server, id, writes });
  return {
    rows: [{ what: "all ticks are there", unit: "ms", samples: [whole] }],
    ratios: [
      { what: "the newest work on screen", unit: "ms", samples: paints, target: atMost(1_000) },
      { what: "a key has an effect", unit: "ms", samples: keys, target: atMost(1_500) },
      { what: "zoom, the frame at p95", unit: "ms", samples: [slow(zoom)], target: atMost(18.2) },
      { what: "scroll, the frame at p95", unit: "ms", samples: [slow(scroll)], target: atMost(18.2) },
      { what: "a write on screen, p95", unit: "ms", samples: [slow(shown)], target: atMost(300) },
      { what: "memory of the page", unit: "MiB", samples: [Number(memory)], target: atMost(250) },
      { what: "code of the first view, compressed", unit: "KB", samples: [firstCode()], target: atMost(180) },
    ],
    notes: ["Chromium without a GPU, on the same two cores as the server"],
  };
}

const atMost = (value: number) => ({ kind: "at-most", value }) as const;

/** The value at p95. */
function slow(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN;
}

async function openPage(browser: Browser, server: BenchServer): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 } });
  await context.addInitScript(`sessionStorage.setItem("chronicle.token", ${JSON.stringify(server.token)})`);
  return context.newPage();
}

/** Waits until the page has all ticks. Returns the time since it was opened, in ms. */
async function allTicks(page: Page): Promise<number> {
  // The last piece is followed by no other one.
  for (let before = -1; ;) {
    const pieces = await page.evaluate<number>(
      'performance.getEntriesByType("resource").filter(({ name }) => name.includes("/ticks?")).length',
    );
    if (pieces === before) break;
    before = pieces;
    await page.waitForTimeout(1_000);
  }
  return page.evaluate<number>(
    'Math.max(...performance.getEntriesByType("resource").filter(({ name }) => name.includes("/ticks?")).map((one) => one.responseEnd))',
  );
}

const ZOOM = `const canvas = document.querySelector(".lanes canvas");
  const step = (i) => canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i < ${FRAMES / 2} ? -30 : 30, cancelable: true, bubbles: true }));`;
const SCROLL = `const list = document.querySelector(".item-list");
  const step = (i) => { list.scrollTop += i < ${FRAMES / 2} ? 90 : -90; };`;

/** Returns the times between frames, in ms, while `step` is called before each. */
async function framesOf(page: Page, work: string): Promise<number[]> {
  const script = `(async () => { ${work}
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const times = [];
    let last = await frame();
    for (let i = 0; i < ${FRAMES}; i += 1) { step(i); const now = await frame(); times.push(now - last); last = now; }
    return times; })()`;
  return page.evaluate<number[]>(script);
}

/**
 * Writes files through the API. Returns the times from the answer of each write until the browser has drawn it, in ms.
 * The page itself notes when that is, because a question from here would cost it more than the row.
 */
async function timesToScreen(page: Page, { server, id, writes }: Omit<Place, "browser" | "rounds">): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < writes; n += 1) {
    const name = `shown-${n}.txt`;
    await page.evaluate(`(() => { ${SHOWN} globalThis.shown = shown(${JSON.stringify(name)}); })()`);
    await server.client.workspace(id).putFile(name, Buffer.from(`${n}\n`));
    const recorded = performance.timeOrigin + performance.now();
    times.push((await page.evaluate<number>("globalThis.shown")) - recorded);
  }
  return times;
}

/** A promise for the time of the first frame that has a line with a text, in epoch milliseconds. */
const SHOWN = `function shown(text) {
  return new Promise((done) => {
    const list = document.querySelector(".item-list");
    const look = () => {
      if (!list.querySelector(".item")?.textContent.includes(text)) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => done(performance.timeOrigin + performance.now())));
    };
    const observer = new MutationObserver(look);
    observer.observe(list, { subtree: true, childList: true, characterData: true });
  });
}`;

/** The size of the scripts that `index.html` names, as they are sent, in KB. */
function firstCode(): number {
  const assets = join(dirname(import.meta.dirname), "dist", "ui", "assets");
  const names = readdirSync(assets).filter((name) => /^index-.*\.js\.br$/.test(name));
  return names.reduce((sum, name) => sum + statSync(join(assets, name)).size, 0) / 1_000;
}
