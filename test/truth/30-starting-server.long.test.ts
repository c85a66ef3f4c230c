import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ChronicleError } from "../../src/core/values/errors.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { replicaHello } from "../../src/replication/replica/replica-hello.ts";
import { ServerProcess } from "../helpers/server-process.ts";

/**
 * Returns what an origin says first to a replica that names no workspace: the type of the message, or the code of the
 * error that ends the connection.
 */
async function firstWord(origin: ServerProcess, way: string): Promise<string> {
  const address = way === "socket" ? { url: origin.socketUrl } : { url: origin.url, token: origin.token };
  const sandboxId = `replica-by-${way}`;
  const ending = new AbortController();
  try {
    const channel = await dialOrigin(address, ending.signal);
    await channel.send(replicaHello({ sandboxId, upstream: { head: { seq: 0, hash: "" } } }));
    for await (const { type } of channel.receive()) return type;
    return "nothing";
  } catch (error) {
    return (error as ChronicleError).code;
  } finally {
    ending.abort();
  }
}

describe("Truth 30: a server that has just been started", () => {
  it.each(["socket", "port"])(
    "does not answer NOT_FOUND while it begins the history of its folder (%s)",
    async (way) => {
      await using origin = new ServerProcess(["--replication"]);
      for (let folder = 0; folder < 3; folder += 1) {
        const name = join(origin.project, `d${folder}`);
        mkdirSync(name);
        for (let file = 0; file < 100; file += 1) writeFileSync(join(name, `f${file}`), `${folder} ${file}\n`);
      }
      await origin.start();
      // A server that needs long to begin says that it is starting. It is asked again then, as replicas do.
      let word = await firstWord(origin, way);
      while (word === "UNAVAILABLE") {
        await delay(500);
        word = await firstWord(origin, way);
      }
      expect(word).toBe("HelloAck");
    },
  );
});
