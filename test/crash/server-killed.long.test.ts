import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { text } from "../helpers/content-text.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { WriteClient } from "./write-client.ts";

/** A server that is killed while many clients write. `CRASH_RUNS`: the number of kills. */

const RUNS = Number(process.env["CRASH_RUNS"] ?? 10);
const CLIENTS = 20;
/** A client repeats a request until it has an answer. */
const retry = { tries: 10_000, firstWait: 20, longestWait: 300, longestInAll: 600_000 };

test(
  `every answered write is recorded exactly once, over ${RUNS} kills under load`,
  { timeout: 60_000 + RUNS * 10_000 },
  async () => {
    await using server = new ServerProcess();
    await server.start();
    const owner = createClient({ url: server.socketUrl, retry });
    const byPort = createClient({ url: server.url, token: server.token, retry });
    await owner.store.create({ name: "hosted" });
    const places = ["hosted", await folderOf(owner)];
    const ending = new AbortController();
    const clients = Array.from({ length: CLIENTS }, (_, n) => {
      const connection = n % 4 < 2 ? owner : byPort;
      return new WriteClient(connection.workspace(places[n % 2] ?? ""), `c${n}`, random(n));
    });
    await owner.workspace("hosted").putFile("count", Buffer.from("0"));
    const counters = [0, 1].map(() => countUp(byPort.workspace("hosted"), ending.signal));
    const running = Promise.all([...clients.map((client) => client.run(ending.signal)), ...counters]);
    running.catch(() => undefined);
    const chance = random(4711);
    for (let kill = 1; kill <= RUNS; kill += 1) {
      await Promise.race([delay(50 + chance() * 600), running]);
      await server.kill();
      await server.start();
      const verified = await Promise.all(places.map((id) => owner.workspace(id).verify({ quick: kill % 10 !== 0 })));
      expect(verified.flatMap(({ problems }) => problems)).toEqual([]);
    }
    ending.abort();
    const counts = (await running).slice(CLIENTS);
    const complaints = await Promise.all(
      clients.map((client, n) => client.complaints(owner.workspace(places[n % 2] ?? ""))),
    );
    expect(complaints.flat()).toEqual([]);
    const count = Number(await text(await owner.workspace("hosted").file("count")));
    expect(count).toBe(counts.reduce<number>((sum, one) => sum + (one ?? 0), 0));
    for (const id of places) {
      const { problems, missing } = (await owner.workspace(id).verify()) as {
        problems: unknown[];
        missing?: unknown[];
      };
      expect([problems, missing ?? []]).toEqual([[], []]);
    }
    const answered = clients.reduce((sum, one) => sum + one.answered, 0);
    const unknown = clients.reduce((sum, one) => sum + one.unknown, 0);
    expect(answered).toBeGreaterThan(RUNS * 5);
    process.stdout.write(`${RUNS} kills, ${answered} rounds answered, ${unknown} looked up, counted to ${count}\n`);
    await Promise.all([owner.close(), byPort.close()]);
    expect(await server.kill("SIGTERM")).toBe(0);
  },
);

/** The workspace of the folder that the server was started in. */
async function folderOf(client: ReturnType<typeof createClient>): Promise<string> {
  await expect.poll(async () => (await client.me()).default_workspace, { timeout: 20_000 }).not.toBeNull();
  return (await client.me()).default_workspace ?? "";
}

/** Increments the number in a file with `ifMatch` until `ending`. Resolves to the number of increments. */
async function countUp(workspace: WorkspaceApi, ending: AbortSignal): Promise<number> {
  let done = 0;
  while (!ending.aborted) {
    const file = await workspace.file("count");
    const before = Number(await text(file));
    try {
      await workspace.putFile("count", Buffer.from(String(before + 1)), { ifMatch: file.hash });
      done += 1;
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "PRECONDITION_FAILED") throw error;
    }
  }
  return done;
}

/** The random generator Mulberry32. The same seed gives the same numbers. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
