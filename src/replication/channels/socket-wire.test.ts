import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { channelSuite } from "../../testing/channel-suite.ts";
import { SocketWire } from "./socket-wire.ts";

const folder = mkdtempSync(join(tmpdir(), "chronicle-socket-"));
const door = join(folder, "s");
let server: Server;

beforeAll(async () => {
  server = createServer().listen(door);
  await once(server, "listening");
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

channelSuite("channels over Unix sockets", async () => {
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = connect(door);
  const [socket] = await accepted;
  return {
    a: new SocketWire(client),
    b: new SocketWire(socket),
    cut() {
      client.destroy();
      socket.destroy();
    },
  };
});
