import { expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { memoryChannels } from "../channels/memory-wire.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { ContentFetch } from "./content-fetch.ts";

const CONTENT = Buffer.from("0123456789");
const HASH = sha256(CONTENT);

/** Makes a fetch, and collects the requests that reach the other side. The test gives the answers. */
function fetching() {
  const clock = new VirtualClock();
  const { a: here, b: there } = memoryChannels({ timers: clock });
  const requests: MessageOf<"ContentFetchRequest">[] = [];
  void (async () => {
    for await (const message of there.receive()) if (message.type === "ContentFetchRequest") requests.push(message);
  })();
  return { clock, fetch: new ContentFetch(here), requests };
}

function piece(offset: number, length: number): MessageOf<"ContentFetchResponse"> {
  const content = CONTENT.subarray(offset, offset + length);
  return { type: "ContentFetchResponse", content_hash: HASH, content, size: CONTENT.length, offset };
}

it("equal requests at the same time are sent once, and all of them get the answer", async () => {
  const { clock, fetch, requests } = fetching();
  const asked = [fetch.get(HASH), fetch.get(HASH)];
  const pieces = [fetch.get(HASH, { offset: 2, length: 3 }), fetch.get(HASH, { offset: 2, length: 3 })];
  await clock.run(10);
  expect(requests).toHaveLength(2);
  fetch.took(piece(2, 3));
  for (const one of await Promise.all(pieces)) expect(one?.content).toEqual(CONTENT.subarray(2, 5));
  fetch.took(piece(0, 10));
  for (const one of await Promise.all(asked)) expect(one?.content).toEqual(CONTENT);
});

it("pieces of different lengths at one offset are asked for one after the other", async () => {
  const { clock, fetch, requests } = fetching();
  const [short, long] = [fetch.get(HASH, { offset: 2, length: 3 }), fetch.get(HASH, { offset: 2, length: 5 })];
  await clock.run(10);
  fetch.took(piece(2, 3));
  await clock.run(20);
  expect(requests.map(({ length }) => length)).toEqual([3, 5]);
  fetch.took(piece(2, 5));
  expect([(await short)?.content.length, (await long)?.content.length]).toEqual([3, 5]);
});

it("all callers are told if there is no such content, or if the fetch ends", async () => {
  const { fetch } = fetching();
  const asked = [fetch.get(HASH), fetch.get(HASH), fetch.get(HASH, { offset: 0, length: 2 })];
  fetch.took({ type: "ContentNotFound", content_hash: HASH });
  expect(await Promise.all(asked)).toEqual([undefined, undefined, undefined]);
  const again = [fetch.get(HASH), fetch.get(HASH)];
  fetch.end();
  for (const one of again) await expect(one).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
