import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fastify, { type FastifyReply } from "fastify";
import { afterEach, expect, test } from "vitest";
import { makeProblem } from "./problem.ts";
import { replyProblem, sendProblem } from "./send.ts";

/** A problem that is larger than the kernel's buffers, so that a part of it is still unsent when `SECOND` follows. */
const FIRST = makeProblem(503, "UNAVAILABLE", "x".repeat(16 * 1024 * 1024));
const SECOND = makeProblem(500, "IO", "the work has failed after all");

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function received(url: string): Promise<unknown> {
  const response = await fetch(url);
  return [response.status, await response.json()];
}

async function listening(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  ends.push(() => server.close());
  await new Promise((done) => server.once("listening", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a problem after a whole answer does not disturb that answer", async () => {
  const url = await listening((response) => {
    sendProblem(response, FIRST);
    sendProblem(response, SECOND);
  });
  expect(await received(url)).toEqual([503, FIRST]);
});

test("a problem after a whole answer does not disturb that answer in Fastify, either", async () => {
  const app = fastify();
  ends.push(() => app.close());
  app.get("/", (_, reply: FastifyReply) => {
    sendProblem(reply.raw, FIRST);
    replyProblem(reply.hijack(), SECOND);
  });
  expect(await received(await app.listen({ port: 0, host: "127.0.0.1" }))).toEqual([503, FIRST]);
});

test("a problem in the middle of an answer ends the connection", async () => {
  const url = await listening((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("[1,");
    setImmediate(() => sendProblem(response, SECOND));
  });
  await expect(received(url)).rejects.toThrow(/terminated|fetch failed/);
});
