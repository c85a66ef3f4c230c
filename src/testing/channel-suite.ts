import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ChronicleError } from "../core/values/errors.ts";
import { sha256 } from "../core/values/hash.ts";
import type { Channel, Wire } from "../replication/channel.ts";
import { FramedChannel, type FramedChannelOptions } from "../replication/channels/framed-channel.ts";
import { encodeMessage } from "../replication/protocol/codec.ts";
import { encodeFrame } from "../replication/protocol/frame.ts";
import { INITIAL_CREDIT_BYTES, MAX_FRAME_BYTES, MAX_PIECE_BYTES } from "../replication/protocol/limits.ts";
import type { Message } from "../replication/protocol/messages.ts";
import { PROTOCOL_SAMPLES } from "./protocol-samples.ts";

/** Two connected wires. */
export interface WirePair {
  readonly a: Wire;
  readonly b: Wire;
  /** Breaks the connection, like an unplugged network or a killed process. */
  cut(): void;
  /** Releases the resources of the pair. */
  close?(): Promise<void> | void;
}

/** The time for which a test waits to see that nothing arrives, in milliseconds. */
const QUIET_MS = 30;

const WINDOW = 64 * 1024;

const HASH = sha256("content");

/** Makes a credited message of about this many bytes. */
function piece(bytes: number, offset = 0): Message {
  return { type: "ContentFetchResponse", content_hash: HASH, content: Buffer.alloc(bytes), size: 10 ** 9, offset };
}

const child = (name: string) =>
  ({ name, kind: "file", permissions: 0o644, size: 1, mtime_ms: 1, hash: HASH, sequence: 1, iteration: 1 }) as const;

const heartbeat = (agent_sequence: number): Message => ({ type: "Heartbeat", agent_sequence, agent_iteration: 0 });

/** The contract of `Channel`, over a backend's wires. `connect` makes a fresh pair. */
export function channelSuite(name: string, connect: () => WirePair | Promise<WirePair>): void {
  describe(name, () => {
    const opened: { pair: WirePair; channels: Channel[] }[] = [];

    async function wires(): Promise<WirePair & { channels: Channel[] }> {
      const pair = await connect();
      const channels: Channel[] = [];
      opened.push({ pair, channels });
      return { a: pair.a, b: pair.b, cut: () => pair.cut(), channels };
    }

    async function channels(options: FramedChannelOptions = {}): Promise<{ a: Channel; b: Channel; cut: () => void }> {
      const pair = await wires();
      const [a, b] = [new FramedChannel(pair.a, options), new FramedChannel(pair.b, options)];
      pair.channels.push(a, b);
      return { a, b, cut: () => pair.cut() };
    }

    /** Makes one channel and, at the other end, a bare wire that ignores the protocol. */
    async function rawAgainst(options: FramedChannelOptions = {}): Promise<{ channel: Channel; raw: Wire }> {
      const pair = await wires();
      const channel = new FramedChannel(pair.a, options);
      pair.channels.push(channel);
      return { channel, raw: pair.b };
    }

    afterEach(async () => {
      for (const { pair, channels: open } of opened.splice(0)) {
        for (const channel of open) channel.close();
        pair.cut();
        await pair.close?.();
      }
    });

    test("arrived grows when a message arrives, and not when it is consumed", async () => {
      const { a, b } = await channels();
      const before = b.arrived;
      await a.send(heartbeat(1));
      while (b.arrived === before) await sleep(1);
      const first = b.arrived;
      await a.send(heartbeat(2));
      while (b.arrived === first) await sleep(1);
      const both = b.arrived;
      expect(both - first).toBe(first - before);
      const received = b.receive()[Symbol.asyncIterator]();
      await received.next();
      expect(b.arrived).toBe(both);
    });

    test("every message arrives as it was sent, both ways", async () => {
      const { a, b } = await channels();
      for (const [from, to] of [
        [a, b],
        [b, a],
      ] as const) {
        const messages = PROTOCOL_SAMPLES.filter(({ type }) => type !== "Credit" && type !== "Error");
        const arrived = take(to, messages.length);
        for (const message of messages) await from.send(message);
        expect(await arrived).toEqual(messages);
      }
    });

    test("messages keep their order, and the largest pieces arrive", async () => {
      const { a, b } = await channels();
      const sizes = Array.from({ length: 60 }, (_, i) => (i % 20 === 7 ? MAX_PIECE_BYTES : i * 37));
      const sent = Promise.all(sizes.map((size, i) => a.send(piece(Math.max(1, size), i))));
      const arrived = await take(b, sizes.length);
      expect(arrived.map((message) => (message.type === "ContentFetchResponse" ? message.offset : -1))).toEqual(
        sizes.map((_, i) => i),
      );
      await sent;
      expect(a.pendingBytes).toBe(0);
    });

    test("without a consumer, the sender uses up its credit; it continues once there is a consumer", async () => {
      const { a, b } = await channels({ windowBytes: WINDOW });
      const bytes = 32 * 1024;
      let sent = 0;
      const count = 200;
      const all = Promise.all(Array.from({ length: count }, (_, i) => a.send(piece(bytes, i)).then(() => (sent += 1))));
      await vi.waitFor(() => expect(sent).toBeGreaterThan(10), { timeout: 30_000 });
      await sleep(QUIET_MS);
      expect(sent * bytes).toBeLessThanOrEqual(INITIAL_CREDIT_BYTES + bytes);
      expect(a.pendingBytes).toBeGreaterThan((count - sent - 1) * bytes);
      await take(b, count);
      await all;
      expect(a.pendingBytes).toBe(0);
    });

    test("a message that needs no credit overtakes messages that wait for credit", async () => {
      const { a, b } = await channels({ windowBytes: WINDOW });
      const all = Array.from({ length: 5 }, (_, i) => a.send(piece(INITIAL_CREDIT_BYTES / 2, i)));
      await a.send(heartbeat(7));
      const types = (await take(b, 6)).map(({ type }) => type);
      expect(types.indexOf("Heartbeat")).toBeLessThan(5);
      await Promise.all(all);
    });

    test("two peers that flood each other still get all messages", async () => {
      const { a, b } = await channels({ windowBytes: WINDOW });
      const count = 40;
      const flood = (channel: Channel) => Array.from({ length: count }, (_, i) => channel.send(piece(100_000, i)));
      const sending = [...flood(a), ...flood(b)];
      expect((await Promise.all([take(a, count), take(b, count)])).map(({ length }) => length)).toEqual([count, count]);
      await Promise.all(sending);
    });

    test("after a normal close, earlier messages arrive, and the other side's loop ends", async () => {
      const { a, b } = await channels();
      await a.send(heartbeat(1));
      await a.send(piece(100_000));
      a.close();
      a.close();
      expect((await all(b)).map(({ type }) => type)).toEqual(["Heartbeat", "ContentFetchResponse"]);
      expect(await b.ended).toEqual({ by: "peer", error: undefined });
      expect(await a.ended).toEqual({ by: "us", error: undefined });
      expect(await all(a)).toEqual([]);
    });

    test("after a close with an error, the other side gets the earlier messages, and then the code of the error", async () => {
      const { a, b } = await channels();
      await a.send(heartbeat(1));
      a.close(new ChronicleError("UNAUTHENTICATED", "no token", { hint: "give one", data: { secret: 1 } }));
      const got: Message[] = [];
      await expect(all(b, got)).rejects.toMatchObject({
        code: "UNAUTHENTICATED",
        message: "the other side says: no token",
        hint: "give one",
        data: { peer: true, code: "UNAUTHENTICATED" },
      });
      expect(got).toEqual([heartbeat(1)]);
      expect(await b.ended).toMatchObject({ by: "peer", error: { code: "UNAUTHENTICATED" } });
    });

    test("after the end, waiting messages and new messages are rejected", async () => {
      const { a, b } = await channels({ windowBytes: WINDOW });
      const waiting = Array.from({ length: 4 }, () => a.send(piece(INITIAL_CREDIT_BYTES)));
      const settled = Promise.allSettled(waiting);
      await sleep(QUIET_MS);
      a.close();
      expect((await settled).at(-1)).toMatchObject({ status: "rejected", reason: { code: "UNAVAILABLE" } });
      expect(a.pendingBytes).toBe(0);
      await expect(a.send(heartbeat(1))).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await all(b);
      await expect(b.send(heartbeat(1))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });

    test("a message that the peer would refuse is refused by the sender, and the channel stays open", async () => {
      const { a, b } = await channels();
      await expect(a.send({ type: "Ack", up_to_sequence: -1 })).rejects.toMatchObject({ code: "USAGE" });
      const folders = Array.from({ length: 256 }, (_, i) => ({ filepath: `${i}`.padEnd(5_000, "x") }));
      const long: Message = { type: "TreeRequest", sequence: 1, since: 0, folders };
      await expect(a.send(long)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
      const children = Array.from({ length: 3_000 }, (_, i) => child(`${i}`.padEnd(1_000, "x")));
      const listing = { filepath: "", hash: HASH, touched: false, children, more: false };
      const credited: Message = { type: "TreeResponse", sequence: 1, folders: [listing] };
      await expect(a.send(credited)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
      expect(a.pendingBytes).toBe(0);
      await a.send(heartbeat(2));
      expect(await take(b, 1)).toEqual([heartbeat(2)]);
    });

    test("an error that is not fatal arrives like other messages", async () => {
      const { a, b } = await channels();
      const error: Message = { type: "Error", code: "RATE_LIMITED", message: "slower", fatal: false };
      await a.send(error);
      await a.send(heartbeat(1));
      expect(await take(b, 2)).toEqual([error, heartbeat(1)]);
    });

    test("both sides notice a cut connection", async () => {
      const { a, b, cut } = await channels();
      await a.send(heartbeat(1));
      await take(b, 1);
      cut();
      for (const channel of [a, b]) {
        const end = await channel.ended;
        // A socket that is cut while nothing is in transit may look like one that was closed.
        if (end.error !== undefined) expect(end).toMatchObject({ by: "transport", error: { code: "UNAVAILABLE" } });
        await expect(channel.send(heartbeat(2))).rejects.toMatchObject({ code: "UNAVAILABLE" });
      }
    });

    test("messages that the transport no longer takes are rejected", async () => {
      const pair = await wires();
      const gone = (): Promise<void> => Promise.reject(new Error("it is gone"));
      const channel = new FramedChannel({ read: () => pair.a.read(), write: gone, close: (how) => pair.a.close(how) });
      pair.channels.push(channel);
      const sent = [channel.send(heartbeat(1)), channel.send(heartbeat(2)), channel.send(piece(1))];
      for (const one of await Promise.allSettled(sent)) {
        expect(one).toMatchObject({ status: "rejected", reason: { code: "UNAVAILABLE" } });
      }
      expect(await channel.ended).toMatchObject({ by: "transport" });
    });

    test("a cut in the middle of a frame is not a normal end", async () => {
      const { channel, raw } = await rawAgainst();
      await raw.write(encodeFrame(encodeMessage(heartbeat(1)), 0).subarray(0, 40));
      raw.close("gently");
      await expect(all(channel)).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(await channel.ended).toMatchObject({ by: "transport" });
    });

    test("there is one consumer at a time; after it has stopped, another one can continue", async () => {
      const { a, b } = await channels();
      const first = b.receive()[Symbol.asyncIterator]();
      const pending = first.next();
      await expect(b.receive()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "USAGE" });
      await a.send(heartbeat(1));
      await a.send(heartbeat(2));
      expect((await pending).value).toEqual(heartbeat(1));
      await first.return?.();
      expect(await take(b, 1)).toEqual([heartbeat(2)]);
    });

    test.each<[string, string, () => Uint8Array]>([
      ["garbage", "INTEGRITY_VIOLATION", () => Buffer.from("GET / HTTP/1.1\r\n\r\n")],
      ["a frame of 4 GiB", "LIMIT_EXCEEDED", () => Buffer.from(`43485202010000000fffffff${"00".repeat(16)}`, "hex")],
      ["a frame without a message", "USAGE", () => encodeFrame({ head: Buffer.from("{}"), body: undefined }, 0)],
      [
        "a path outside of the workspace",
        "PATH_INVALID",
        () => {
          const head = Buffer.from('{"type":"TreeRequest","sequence":1,"folders":[{"filepath":"../x"}]}');
          return encodeFrame({ head, body: undefined }, 0);
        },
      ],
      ["a wrong count of bytes", "INTEGRITY_VIOLATION", () => encodeFrame(encodeMessage(heartbeat(1)), 5)],
    ])("%s: the peer gets the code of the error, and later messages are ignored", async (_, code, bytes) => {
      const { channel, raw } = await rawAgainst();
      const said = new FramedChannel(raw, { isReliable: false });
      await raw.write(Buffer.concat([bytes(), encodeFrame(encodeMessage(heartbeat(2)), 0)]));
      // The peer continues to send as if it had not received the error.
      const more = raw.write(Buffer.alloc(200_000)).catch(() => undefined);
      await expect(all(channel)).rejects.toMatchObject({ code });
      await expect(all(said)).rejects.toMatchObject({ code });
      await expect(channel.send(heartbeat(3))).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await more;
    });

    test("a peer that sends without credit, or floods, is cut off", async () => {
      const credited = await rawAgainst({ windowBytes: WINDOW });
      const large = encodeMessage(piece(MAX_PIECE_BYTES));
      let sent = 0;
      const flood = async (raw: Wire, frame: (n: number) => Uint8Array, most: number): Promise<void> => {
        for (let n = 1; n <= most; n += 1) await raw.write(frame(n));
      };
      const bytes = encodeFrame(large, 0).length;
      const over = flood(credited.raw, () => encodeFrame(large, (sent += bytes)), 8).catch(() => undefined);
      expect(await credited.channel.ended).toMatchObject({ by: "peer", error: { code: "LIMIT_EXCEEDED" } });
      credited.raw.close("at once");
      await over;
      const uncredited = await rawAgainst();
      const frame = Buffer.concat(Array.from({ length: 1000 }, () => encodeFrame(encodeMessage(heartbeat(1)), 0)));
      const many = flood(uncredited.raw, () => frame, (2 * MAX_FRAME_BYTES) / frame.length).catch(() => undefined);
      expect(await uncredited.channel.ended).toMatchObject({ error: { code: "LIMIT_EXCEEDED" } });
      uncredited.raw.close("at once");
      await many;
    });
  });
}

async function take(channel: Channel, count: number): Promise<Message[]> {
  const taken: Message[] = [];
  for await (const message of channel.receive()) {
    taken.push(message);
    if (taken.length === count) break;
  }
  return taken;
}

async function all(channel: Channel, into: Message[] = []): Promise<Message[]> {
  for await (const message of channel.receive()) into.push(message);
  return into;
}
