import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import type { ReplicaAcceptor } from "../../api/replication-api.ts";
import type { StoreApi } from "../../api/store-api.ts";
import { OWNER } from "../callers/caller.ts";
import { DEFAULT_LIMITS } from "../limits/limits.ts";
import { ReplicaListener } from "./replica-listener.ts";

const acceptor: ReplicaAcceptor = {
  load: () => Promise.resolve({ replicas: 0, lag: 0 }),
  accept: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/**
 * Sends an upgrade without a method, which is refused with 405. Resolves to the answer, which is empty if the socket is
 * closed.
 */
async function answerTo(listener: ReplicaListener, socket: PassThrough): Promise<string> {
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  const request = Object.assign(new IncomingMessage(new Socket()), { url: "/v1/replicate" });
  const isGone = socket.closed;
  listener.upgrade(request, socket, {
    ...{ caller: OWNER, listener: { kind: "socket" }, head: Buffer.alloc(0) },
    isStillAdmitted: () => Promise.resolve(true),
  });
  if (!isGone) await once(socket, "close");
  return Buffer.concat(pieces).toString();
}

it("counts no replica that left while it was admitted", async () => {
  const listener = new ReplicaListener({
    ...{ acceptor, limits: { ...DEFAULT_LIMITS, replicas: 1 }, stopping: new AbortController().signal },
    store: {} as StoreApi,
    report: () => undefined,
  } as never);
  const gone = new PassThrough();
  gone.destroy();
  await once(gone, "close");
  await answerTo(listener, gone);
  expect(await answerTo(listener, new PassThrough())).toContain(" 405 ");
});
