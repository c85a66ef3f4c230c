import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RecentItem } from "../../src/api/recent-api.ts";
import { graphText } from "../../src/cli/render/graph.ts";
import { openStore } from "../../src/open.ts";
import { ServedStore } from "../helpers/served-store.ts";
import { Sandbox } from "./sandbox.ts";

// Long output is read in pages: `log` 1,000 events at once, `list` 200 items.

const SNAPSHOTS = 230;
const FILES = 5;

describe("long output that is read page by page", () => {
  const box = new Sandbox();
  beforeAll(async () => {
    await box.must(["init"]);
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config/chronicle") });
    const workspace = await store.open({ folder: box.project });
    // This action goes on beside the snapshots, past the first page.
    const action = await workspace.snapshotAction({ type: "run_command", summary: "long", session: "s" });
    for (let at = 0; at < SNAPSHOTS; at += 1) {
      for (let file = 0; file < FILES; file += 1) box.write(`f${file}`, `${at}\n`);
      await workspace.snapshot({ message: `number ${at}` });
    }
    await workspace.finishAction(action?.id ?? "");
    await workspace.close();
    await store.close();
  });
  afterAll(() => box[Symbol.dispose]());

  const linesOf = async (...args: string[]): Promise<string[]> => (await box.must(args)).stdout.trimEnd().split("\n");

  it.each([[[]], [["--reverse"]], [["--from", "300"]], [["--to", "1300", "--reverse"]], [["--prefix", "file:"]]])(
    "log --limit 0 %j is the same as with one large limit",
    async (more) => {
      const events = await box.must(["log", "--json", "--limit", "0", ...more]);
      const seqs = (JSON.parse(events.stdout) as { seq: number }[]).map(({ seq }) => String(seq));
      const lines = await linesOf("log", "--limit", "0", ...more);
      expect(lines.map((line) => line.trim().split(" ")[0])).toEqual(seqs);
      expect(new Set(lines.map((line) => line.indexOf("Z  "))).size).toBe(1);
    },
  );

  it("list --graph has the same lanes as if it were read at once", async () => {
    const whole = await box.must(["list", "--graph", "--limit", "0", "--json"]);
    const { items } = JSON.parse(whole.stdout) as { items: RecentItem[] };
    const lanes = items.map((item) => graphText(item, (_format, text) => text, true));
    const lines = (await linesOf("list", "--graph", "--limit", "0")).filter((line) => /^[ │]*\*/.test(line));
    expect(lines.map((line) => /^[ │]*\*[ │]*/.exec(line)?.[0].trimEnd())).toEqual(lanes);
    expect(new Set(lanes).size).toBeGreaterThan(1);
  });

  it.each([["0"], ["215"]])("list --limit %s has each item once, newest first", async (limit) => {
    const lines = await linesOf("list", "--limit", limit);
    const numbers = lines.flatMap((line) => /number (\d+)/.exec(line)?.[1] ?? []).map(Number);
    // One line is that of the action.
    const most = limit === "0" ? SNAPSHOTS : 214;
    expect(numbers).toEqual(Array.from({ length: most }, (_, at) => SNAPSHOTS - 1 - at));
    expect(lines.at(-1)).toContain("chronicle restore");
  });
});

it("list --limit 0 of a server's workspace has more items than one answer of the server", async () => {
  using box = new Sandbox();
  await using server = await ServedStore.start();
  const { workspace } = await server.store.create({ name: "w" });
  // The pages have 200, 200, 400, 800 and then at most 1,000 items.
  for (let at = 0; at < 1_700; at += 1) await workspace.snapshot({ message: `number ${at}` });
  await workspace.close();
  const { stdout } = await box.must(["--remote", server.socketUrl, "-w", "w", "list", "--limit", "0"]);
  const numbers = stdout.split("\n").flatMap((line) => /number (\d+)/.exec(line)?.[1] ?? []);
  expect(numbers.map(Number)).toEqual(Array.from({ length: 1_700 }, (_, at) => 1_699 - at));
});
