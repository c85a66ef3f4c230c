import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "./limits.ts";
import { uploaded } from "./slow-peer.ts";

test("an upload is not cut off because it is stored slowly", async () => {
  const limits = { ...DEFAULT_LIMITS, slowMs: 40, slowBytes: 1_000 };
  const stored = Promise.withResolvers<number>();
  const server = createServer((asked, response) => {
    void (async () => {
      let size = 0;
      for await (const piece of uploaded(asked, limits, () => Promise.resolve())) {
        if (size === 0) await sleep(200);
        size += piece.length;
      }
      response.end();
      stored.resolve(size);
    })().catch(stored.reject);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sent = request({
    port: (server.address() as AddressInfo).port,
    host: "127.0.0.1",
    method: "PUT",
    agent: false,
  });
  sent.on("error", () => undefined).on("response", (response) => response.resume());
  sent.end(Buffer.alloc(8_000_000));
  expect(await stored.promise).toBe(8_000_000);
  server.closeAllConnections();
  server.close();
});
