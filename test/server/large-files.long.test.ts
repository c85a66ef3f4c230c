import { createHash } from "node:crypto";
import { request } from "node:http";
import { expect, it } from "vitest";
import { ServerProcess } from "../helpers/server-process.ts";

/** A file that is larger than the memory of the server. `LARGE_MIB=2048` for one of 2 GiB. */

const MIB = 1024 ** 2;
const SIZE = Number(process.env["LARGE_MIB"] ?? 512) * MIB;
/**
 * The most resident memory of the server, whatever the size: less than a server that holds the content would take. It
 * needs about 200 MiB. The rest is room for sent pieces that V8 has not collected yet (64 MiB of them and more).
 */
const MOST = 400 * MIB;

/** Bytes that do not compress, the same each time. */
function* content(): Generator<Buffer> {
  let block = createHash("sha512").update("seed").digest();
  for (let left = SIZE; left > 0; left -= MIB) {
    block = createHash("sha512").update(block).digest();
    const piece = Buffer.alloc(Math.min(MIB, left));
    for (let at = 0; at < piece.length; at += 64) {
      block.writeUInt32LE((block.readUInt32LE(0) + at) >>> 0, 0);
      block.copy(piece, at);
    }
    yield piece;
  }
}

class Client {
  readonly #server: ServerProcess;
  constructor(server: ServerProcess) {
    this.#server = server;
  }

  /** Returns the SHA-256 and the size of the body, and its text if it is short. */
  async ask(
    method: string,
    path: string,
    body?: Iterable<Buffer>,
  ): Promise<{ status: number; hash: string; size: number; text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Client["ask"]>>>();
    const headers = {
      authorization: `Bearer ${this.#server.token}`,
      ...(body === undefined ? {} : { "content-length": SIZE }),
    };
    const sent = request(`${this.#server.url}${path}`, { method, headers, agent: false }, (response) => {
      const hash = createHash("sha256");
      let [size, text] = [0, ""];
      response.on("data", (piece: Buffer) => {
        hash.update(piece);
        size += piece.length;
        if (size < 10_000) text += String(piece);
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, hash: hash.digest("hex"), size, text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    for (const piece of body ?? []) if (!sent.write(piece)) await new Promise((done) => sent.once("drain", done));
    sent.end();
    return promise;
  }
}

it(`${SIZE / MIB} MiB go in and out with ${MOST / MIB} MiB of memory`, { timeout: 1_200_000 }, async () => {
  await using server = new ServerProcess();
  await server.start();
  const client = new Client(server);
  const whole = createHash("sha256");
  for (const piece of content()) whole.update(piece);
  const hash = whole.digest("hex");
  const folder = (JSON.parse((await client.ask("GET", "/v1/me")).text) as { default_workspace: string })
    .default_workspace;
  const put = await client.ask("PUT", `/v1/workspaces/${folder}/files/large.bin`, content());
  expect([put.status, (JSON.parse(put.text) as { file: { hash: string } }).file.hash]).toEqual([200, hash]);
  const stored = server.memory();
  const read = await client.ask("GET", `/v1/workspaces/${folder}/files/large.bin`);
  expect([read.status, read.size, read.hash]).toEqual([200, SIZE, hash]);
  const { most } = server.memory();
  process.stdout.write(
    `${SIZE / MIB} MiB in: at most ${Math.round(stored.most / MIB)} MiB; and out: ${Math.round(most / MIB)} MiB\n`,
  );
  expect(most).toBeLessThan(MOST);
});
