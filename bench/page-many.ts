import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { amountFor, type Bench } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { makeLongHistory } from "./lib/long-history.ts";
import { PageReader } from "./lib/page-reader.ts";

const CHROMIUM = "/usr/bin/chromium";
const ACTIONS = 10_000;
const PAGES = 20;
const SECONDS = 10;
/** Linux counts a process's time in hundredths of a second. */
const TICK_MS = 10;

export const pageMany: Bench = {
  name: "page-many",
  isLong: true,
  promise: "20 pages that are open on one busy workspace cost its server at most 10 % of its writes",
  async run(context) {
    const folder = context.scratch.fresh("page-many");
    await using server = new BenchServer(folder, ["--ui"]);
    const places = { home: join(folder, "home"), configFolder: join(folder, "config", "chronicle") };
    await makeLongHistory(places, join(folder, "project"), amountFor(context, { what: "actions", all: ACTIONS }));
    await server.start();
    const id = await server.workspaceOfFolder();
    const seconds = amountFor(context, { what: "seconds of load", all: SECONDS, quick: 2 });
    await writing(server, id, 2);
    const [alone, beside, shares, asked]: [Round[], Round[], number[], number[]] = [[], [], [], []];
    const restMs = (await resting(server, seconds)) / seconds;
    for (let round = 0; round < context.options.rounds; round += 1) {
      context.say(`round ${round + 1}: without and with ${PAGES} pages`);
      const isFirst = round % 2 === 0;
      if (isFirst) alone.push(await writing(server, id, seconds));
      const { round: watched, requests } = await watchedWriting(server, id, seconds);
      if (!isFirst) alone.push(await writing(server, id, seconds));
      beside.push(watched);
      asked.push(requests / PAGES / seconds);
      const without = alone.at(-1) ?? watched;
      const ofWrites = (watched.writes * (without.cpuMs - restMs * seconds)) / without.writes;
      shares.push((100 * (watched.cpuMs - restMs * seconds - ofWrites)) / (seconds * 1_000));
    }
    const ratios = alone.map((one, n) => (100 * ((beside[n]?.writes ?? 0) - one.writes)) / one.writes);
    return {
      rows: [
        { what: "writes a second, without pages", unit: "/s", samples: alone.map(({ writes }) => writes / seconds) },
        {
          what: `writes a second, with ${PAGES} pages`,
          unit: "/s",
          samples: beside.map(({ writes }) => writes / seconds),
        },
        { what: "the difference", unit: "%", samples: ratios },
        {
          what: "processor time of a write, without pages",
          unit: "ms",
          samples: alone.map((one) => one.cpuMs / one.writes),
        },
        { what: "requests of a page in a second", unit: "/s", samples: asked },
      ],
      ratios: [
        {
          what: `of one processor, for ${PAGES} pages`,
          unit: "%",
          samples: shares,
          target: { kind: "at-most", value: 10 },
        },
      ],
      notes: [
        `${existsSync(CHROMIUM) ? "One page is a real one in Chromium; the others" : `${CHROMIUM} is missing: all pages`} ask what the page asks. ` +
          "The processor time for the pages is what the server needs beyond that at rest and that of as many writes without pages. A server that does nothing but " +
          "write has one processor for it, and loses this share of its writes. So other work on the machine changes the figure little",
      ],
    };
  },
};

interface Round {
  readonly writes: number;
  /** The processor time of the server in all its threads. */
  readonly cpuMs: number;
}

/** Writes small files into the folder, one after another, for some seconds. */
async function writing(server: BenchServer, id: string, seconds: number): Promise<Round> {
  const workspace = server.client.workspace(id);
  const [from, until] = [cpuOf(server.pid), performance.now() + seconds * 1_000];
  let writes = 0;
  while (performance.now() < until) {
    await workspace.putFile(`written-${writes % 50}.txt`, Buffer.from(`${writes} ${until}\n`));
    writes += 1;
  }
  return { writes, cpuMs: cpuOf(server.pid) - from };
}

/** Returns the processor time of a server that nobody asks, which it needs beside that of the writes. */
async function resting(server: BenchServer, seconds: number): Promise<number> {
  const from = cpuOf(server.pid);
  await sleep(seconds * 1_000);
  return cpuOf(server.pid) - from;
}

async function watchedWriting(server: BenchServer, id: string, seconds: number) {
  await using page = await realPage(server, id);
  await using readers = new AsyncDisposableStack();
  const all = Array.from({ length: page === undefined ? PAGES : PAGES - 1 }, () =>
    readers.use(new PageReader(server, id)),
  );
  // The first answers of all pages are not measured.
  await writing(server, id, 2);
  const before = all.reduce((sum, { requests }) => sum + requests, page?.requests() ?? 0);
  const round = await writing(server, id, seconds);
  const requests = all.reduce((sum, one) => sum + one.requests, page?.requests() ?? 0) - before;
  return { round, requests };
}

/** Opens the timeline in Chromium; `undefined` where there is none. */
async function realPage(server: BenchServer, id: string) {
  if (!existsSync(CHROMIUM)) return undefined;
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage();
  let requests = 0;
  page.on("request", (request) => (requests += request.url().includes("/v1/") ? 1 : 0));
  await page.addInitScript(`sessionStorage.setItem("chronicle.token", ${JSON.stringify(server.token)})`);
  await page.goto(`${server.url}/w/${id}`);
  await page.locator(".item").first().waitFor();
  return { requests: () => requests, [Symbol.asyncDispose]: () => browser.close() };
}

/** Returns the processor time of a process and all its threads, in ms. Linux only. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
