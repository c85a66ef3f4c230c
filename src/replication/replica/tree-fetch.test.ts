import { expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { memoryChannels } from "../channels/memory-wire.ts";
import { TreeFetch, type WantedFolder } from "./tree-fetch.ts";

const HASH = sha256("a folder");

function folders(count: number, bytes: number, filler: string): WantedFolder[] {
  return Array.from({ length: count }, (_, i) => {
    const prefix = `${i}/`;
    const name = filler.repeat(100);
    const names = Math.floor((bytes - prefix.length) / (Buffer.byteLength(name) + 1));
    return { path: parsePath(`${prefix}${Array.from({ length: names }, () => name).join("/")}`), hash: HASH };
  });
}

it.each([
  ["few short paths", folders(10, 300, "x")],
  ["many short paths", folders(600, 300, "x")],
  ["as many folders as fit in one request, with the longest paths of Linux", folders(256, 4_096, "x")],
  ["four times as many", folders(1_024, 4_096, "x")],
  ["the longest paths of all", folders(40, 65_000, "x")],
  ["paths that are longer in bytes than in characters", folders(256, 16_000, "ü")],
  ["paths that are longer in JSON", folders(256, 2_000, "\u{1}")],
])("asks for %s in requests that fit in frames, and the connection stays", async (_, wanted) => {
  const { a, b } = memoryChannels();
  const fetch = new TreeFetch(a, { sequence: 9, since: 3 });
  const got = fetch.get(wanted);
  const answers: Promise<void>[] = [];
  const answering = (async () => {
    for await (const message of b.receive()) {
      if (message.type !== "TreeRequest") continue;
      for (const { filepath } of message.folders) {
        const none = { hash: HASH, touched: false, children: [], more: false };
        answers.push(b.send({ type: "TreeResponse", sequence: 9, folders: [{ filepath, ...none }] }));
      }
    }
  })();
  const hearing = (async () => {
    for await (const message of a.receive()) if (message.type === "TreeResponse") fetch.took(message);
  })();
  expect((await got).map(({ path }) => path)).toEqual(wanted.map(({ path }) => path));
  a.close();
  await Promise.all([answering, hearing, ...answers]);
});
