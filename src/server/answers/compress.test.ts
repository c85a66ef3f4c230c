import { gunzipSync } from "node:zlib";
import fastify from "fastify";
import { expect, it } from "vitest";
import { answerCompression } from "./compress.ts";

it("compresses two large answers at once, and sends further ones as they are", async () => {
  const text = "a line of a large answer\n".repeat(100_000);
  const app = fastify();
  app.addHook("onSend", answerCompression());
  app.get("/large", (_request, reply) => void reply.type("text/plain").send(text));
  app.get("/small", (_request, reply) => void reply.type("text/plain").send(text.slice(0, 5_000)));
  await app.ready();
  const ask = (url: string) => app.inject({ url, headers: { "accept-encoding": "gzip" } });
  const all = await Promise.all([ask("/large"), ask("/large"), ask("/large"), ask("/small")]);
  expect(all.map(({ headers }) => headers["content-encoding"])).toEqual(["gzip", "gzip", undefined, "gzip"]);
  expect(gunzipSync(all[0].rawPayload).toString() === text && all[2].body === text).toBe(true);
  expect((await ask("/large")).headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
});
