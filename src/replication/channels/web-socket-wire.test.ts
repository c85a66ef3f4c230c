import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { channelSuite } from "../../testing/channel-suite.ts";
import { MAX_FRAME_BYTES } from "../protocol/limits.ts";
import { FramedChannel } from "./framed-channel.ts";
import { WebSocketWire } from "./web-socket-wire.ts";

const options = { perMessageDeflate: false, maxPayload: MAX_FRAME_BYTES };
let server: WebSocketServer;

beforeAll(async () => {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0, ...options });
  await once(server, "listening");
});
afterAll(() => server.close());

async function connect() {
  const { port } = server.address() as AddressInfo;
  const accepted = new Promise<WebSocketWire>((resolve) => {
    server.once("connection", (socket) => resolve(new WebSocketWire(socket)));
  });
  const client = new WebSocket(`ws://127.0.0.1:${port}`, options);
  const a = new WebSocketWire(client);
  await once(client, "open");
  const b = await accepted;
  return { a, b, client, cut: () => client.terminate() };
}

channelSuite("channels over WebSockets", connect);

it("bytes that came before the peer closed gently are read, even after a write that is too late", async () => {
  const { a, b, client } = await connect();
  await a.write(Buffer.from("the last word"));
  a.close("gently");
  await once(client, "close");
  // As on a socket, bytes that are written after the close are dropped without an error.
  await b.write(Buffer.from("too late"));
  const read: string[] = [];
  for await (const piece of b.read()) read.push(Buffer.from(piece).toString());
  expect(read).toEqual(["the last word"]);
});

it("reads and writes on a connection that was cut fail with the close code 1006", async () => {
  const { b, cut } = await connect();
  cut();
  await expect(Array.fromAsync(b.read())).rejects.toThrow("1006");
  await expect(b.write(Buffer.from("too late"))).rejects.toThrow("1006");
});

it("a peer that is refused gets the close code of the error", async () => {
  const { b, client } = await connect();
  const channel = new FramedChannel(b);
  client.send(Buffer.from("GET / HTTP/1.1"));
  expect(await once(client, "close")).toMatchObject([1007, expect.anything()]);
  expect(await channel.ended).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
});

it("a text message breaks the connection", async () => {
  const { b, client } = await connect();
  const channel = new FramedChannel(b);
  client.send("hello");
  expect(await channel.ended).toMatchObject({ by: "transport", error: { code: "UNAVAILABLE" } });
});

it("a message that is larger than any frame breaks the connection", async () => {
  const { b, client } = await connect();
  const channel = new FramedChannel(b);
  client.send(Buffer.alloc(MAX_FRAME_BYTES + 1));
  expect(await channel.ended).toMatchObject({ by: "transport", error: { code: "UNAVAILABLE" } });
});
