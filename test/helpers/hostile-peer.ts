import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { SocketWire } from "../../src/replication/channels/socket-wire.ts";
import type { Channel } from "../../src/replication/channel.ts";
import { decodeMessage } from "../../src/replication/protocol/codec.ts";
import { encodeFrame, FrameReader } from "../../src/replication/protocol/frame.ts";
import { PROTOCOL_VERSION } from "../../src/replication/protocol/limits.ts";
import { isCredited, type Message, type MessageOf, type MessageType } from "../../src/replication/protocol/messages.ts";

/** Makes a pair of connected Unix sockets. Disposal destroys both. */
export async function socketPair(): Promise<Disposable & { readonly ours: Socket; readonly theirs: Socket }> {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-hostile-"));
  const server = createServer().listen(join(folder, "s"));
  await once(server, "listening");
  const theirs = connect(join(folder, "s"));
  theirs.on("error", () => undefined);
  const [ours] = (await once(server, "connection")) as [Socket];
  server.close();
  return {
    ours,
    theirs,
    [Symbol.dispose]() {
      ours.destroy();
      theirs.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A peer that can break the protocol, because its messages are not checked before they are sent. */
export class HostilePeer implements Disposable {
  /** The honest side's end of the connection. */
  readonly channel: Channel;
  /** The messages from the honest side, in order. */
  readonly heard: Message[] = [];
  readonly #pair: Awaited<ReturnType<typeof socketPair>>;
  #sent = 0;
  #wake: (() => void) | undefined;
  #isEnded = false;

  static async connect(): Promise<HostilePeer> {
    return new HostilePeer(await socketPair());
  }

  private constructor(pair: Awaited<ReturnType<typeof socketPair>>) {
    this.#pair = pair;
    this.channel = new FramedChannel(new SocketWire(pair.ours));
    const reader = new FrameReader();
    pair.theirs.on("data", (piece: Buffer) => {
      for (const frame of reader.push(piece)) this.heard.push(decodeMessage(frame));
      this.#wake?.();
    });
    pair.theirs.on("close", () => {
      this.#isEnded = true;
      this.#wake?.();
    });
  }

  /** Sends bytes unchanged. */
  raw(bytes: Uint8Array): void {
    this.#pair.theirs.write(bytes);
  }

  /** Sends a valid frame. Its head need not be a valid message. */
  say(head: object | string, body?: Uint8Array): void {
    const text = Buffer.from(typeof head === "string" ? head : JSON.stringify(head));
    const type = typeof head === "string" ? undefined : (head as { readonly type?: MessageType }).type;
    const bytes = 28 + text.length + (body?.length ?? 0);
    if (type !== undefined && isCredited(type)) this.#sent += bytes;
    this.raw(encodeFrame({ head: text, body }, this.#sent));
  }

  /** Sends a frame whose header announces these lengths, whatever follows. The checksum of the header is right. */
  announce(headBytes: number, bodyBytes: number, rest: Uint8Array = Buffer.alloc(0)): void {
    const frame = Buffer.concat([Buffer.alloc(28), rest]);
    frame.write("CHR", 0);
    frame[3] = PROTOCOL_VERSION;
    frame[4] = bodyBytes > 0 ? 2 : 1;
    frame.writeUInt32BE(headBytes, 8);
    frame.writeUInt32BE(bodyBytes, 12);
    frame.writeUInt32BE(crc32(frame.subarray(28), crc32(frame.subarray(0, 24))), 24);
    this.raw(frame);
  }

  /** Claims to have sent this many bytes more than it has. */
  lose(bytes: number): void {
    this.#sent += bytes;
  }

  /** Stops reading. */
  deafen(): void {
    this.#pair.theirs.pause();
  }

  /** Breaks the connection by a reset, as when a machine dies. Data in transit is lost. */
  reset(): void {
    this.#pair.theirs.destroy();
  }

  /** Resolves to the next message of this type from the other side. Rejects if the connection ends before. */
  async next<Type extends MessageType>(type: Type): Promise<MessageOf<Type>> {
    for (;;) {
      const found = this.heard.find((message): message is MessageOf<Type> => message.type === type);
      if (found !== undefined) return found;
      if (this.#isEnded) throw new Error(`the connection ended without ${type}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Resolves once the other side has closed, to the fatal error that it sent. */
  async closed(): Promise<MessageOf<"Error"> | undefined> {
    while (!this.#isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.heard.find((message): message is MessageOf<"Error"> => message.type === "Error" && message.fatal);
  }

  [Symbol.dispose](): void {
    this.#pair[Symbol.dispose]();
  }
}
