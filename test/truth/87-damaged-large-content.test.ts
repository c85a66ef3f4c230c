import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createClient } from "../../src/client/create-node-client.ts";
import { filesBelow, flipByte, noise } from "../helpers/rot.ts";
import { Serving } from "../server/serving.ts";

const SIZE = 9 * 1024 * 1024;

it.each([
  ["that does not compress", noise("large", SIZE)],
  ["that compresses", Buffer.from(noise("large", SIZE).toString("hex"))],
])("Truth 87: a server sends no damaged large content %s as a whole, nor parts of it", async (_, content) => {
  await using serving = await Serving.start();
  const id = await serving.create("files");
  await serving.put(id, "big", content);
  const file = `/v1/workspaces/${id}/files/big`;
  const sound = await serving.ask(file, { headers: { range: "bytes=5-9" } });
  expect([sound.status, sound.bytes]).toEqual([206, content.subarray(5, 10)]);
  const whole = await serving.ask(file);
  const blob = `/v1/workspaces/${id}/blobs/${String(whole.headers.etag).replaceAll('"', "")}`;
  const [stored = ""] = filesBelow(join(serving.base, "store/blobs/large"));
  flipByte(stored, Math.floor(statSync(stored).size / 2));

  for (const path of [file, `${file}/at/1`, blob]) {
    await expect(serving.ask(path), path).rejects.toThrow();
    const size = content.length;
    for (const range of ["bytes=1-", `bytes=0-${size - 2}`, "bytes=0-9", `bytes=${size - 10}-`]) {
      const part = await serving.ask(path, { headers: { range } });
      expect([path, range, part.status, part.json()]).toMatchObject([path, range, 500, { code: "BLOB_CORRUPT" }]);
    }
  }

  const client = createClient({ url: `http://127.0.0.1:${serving.port}`, token: serving.token("operator") });
  const remote = client.workspace(id);
  await expect(Array.fromAsync((await remote.cat("big")).pieces())).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  await client.close();
});
