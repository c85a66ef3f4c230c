import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { Serving } from "./serving.ts";

/** No client stays longer than it may: not by many streams at once, and not by a connection that was refused. */

/** The promise is about a second, but a busy machine may take longer. Without the promise, no stream would ever end. */
const PATIENCE_MS = 30_000;

/** Follows the events of a workspace; resolves once they have begun. */
async function following(served: Serving, id: string, token: string): Promise<IncomingMessage> {
  const asked = request({
    ...{ host: "127.0.0.1", port: served.port, path: `/v1/workspaces/${id}/events`, agent: false },
    headers: { authorization: `Bearer ${token}` },
  });
  asked.on("error", () => undefined);
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  response.on("error", () => undefined).resume();
  expect(response.statusCode).toBe(200);
  return response;
}

test("every stream of a revoked token ends, however many there are", async () => {
  await using served = await Serving.start({ limits: { heartbeatMs: 100 } });
  const id = await served.create("w");
  const token = served.token("reader");
  const streams = await Promise.all(Array.from({ length: 40 }, () => following(served, id, token)));
  served.revoke("t1");
  await vi.waitFor(() => expect(streams.filter((one) => !one.destroyed).length).toBe(0), { timeout: PATIENCE_MS });
});

test("a client whose upgrade was refused holds no connection", async () => {
  await using served = await Serving.start({ limits: { connections: 8 } });
  const asking = ["GET /v1/gateway HTTP/1.1", `Host: 127.0.0.1:${served.port}`, "Connection: Upgrade"];
  const text = `${[...asking, "Upgrade: websocket", "Sec-WebSocket-Version: 13"].join("\r\n")}\r\n\r\n`;
  const guests: Socket[] = [];
  for (let i = 0; i < 8; i += 1) {
    const guest = connect({ host: "127.0.0.1", port: served.port, allowHalfOpen: true });
    guest.on("error", () => undefined).resume();
    guest.write(text);
    guests.push(guest);
    await once(guest, "end");
  }
  const answered = await served.ask("/healthz").catch((error: unknown) => ({ status: String(error) }));
  expect(answered.status).toBe(200);
  // A client that does not hang up is cut off, so what it sends afterwards reaches nobody.
  const last = guests.at(-1) as Socket;
  for (const end = Date.now() + PATIENCE_MS; !last.destroyed && Date.now() < end; await sleep(10))
    last.write("still here");
  expect(last.destroyed).toBe(true);
  for (const guest of guests) guest.destroy();
});
