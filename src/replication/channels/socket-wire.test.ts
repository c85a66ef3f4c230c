import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type ListenOptions, type NetConnectOpts, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { channelSuite } from "../../testing/channel-suite.ts";
import { SocketWire } from "./socket-wire.ts";

const folder = mkdtempSync(join(tmpdir(), "chronicle-socket-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each<[string, ListenOptions]>([
  ["Unix sockets", { path: join(folder, "s") }],
  ["TCP", { host: "127.0.0.1", port: 0 }],
])("%s", (name, where) => {
  let server: Server;
  let address: NetConnectOpts;
  beforeAll(async () => {
    server = createServer().listen(where);
    await once(server, "listening");
    const at = server.address();
    address = typeof at === "string" ? { path: at } : { host: "127.0.0.1", port: at?.port ?? 0 };
  });
  afterAll(() => void server.close());

  channelSuite(`channels over ${name}`, async () => {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const client = connect(address);
    const [socket] = await accepted;
    return {
      a: new SocketWire(client),
      b: new SocketWire(socket),
      cut() {
        if (name === "TCP") client.resetAndDestroy();
        else client.destroy();
        socket.destroy();
      },
    };
  });
});
